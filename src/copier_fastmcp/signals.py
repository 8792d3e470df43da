"""Signals: what each source in a tool's definition says about its hints, and with how many votes."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from .lock import HINTS
from .reading import WRITES, Says, base, of_name, of_sentence, prefixes, sentences, tokens, words
from .rules import Tool
from .vocabulary import vocabulary

READ_ONLY, DESTRUCTIVE, IDEMPOTENT, OPEN_WORLD = HINTS
CERTAIN = 9


@dataclass(frozen=True)
class Signal:
    """What one source says about a hint, with how many votes, in words."""

    source: str
    hint: str
    value: bool
    votes: int
    text: str


@dataclass
class Subject:
    """A tool with what is read of it."""

    tool: Tool
    named: list[Says]
    described: list[Says]
    titled: list[Says]
    text: str
    twins: set[str] = field(default_factory=set)


def _destroys(said: Sequence[Says]) -> bool | None:
    kinds = {one.kind for one in said} - {"read"}
    if kinds & {"change", "remove", "run"}:
        return True
    return False if kinds and kinds <= {"add", "ensure"} else None


def _repeats(said: Sequence[Says]) -> bool | None:
    verbs = {one.word for one in said if one.kind in WRITES}
    if any(one.kind == "change" for one in said):
        verbs -= {"create", "add"}  # what creates or updates ends in one state
    if verbs and verbs <= words("repeats_the_same"):
        return True
    return False if verbs & words("repeats_more") else None


def _by_words(source: str, said: Sequence[Says], quoted: str) -> Iterator[Signal]:
    """The votes of a name, a title or a description."""
    if not said:
        return
    writes = [one for one in said if one.kind in WRITES]
    deciding = writes or said
    sure = any(one.sure for one in deciding)
    votes = 2 if sure else 1
    verb = "/".join(one.word for one in deciding)
    yield Signal(source, READ_ONLY, not writes, votes, f"{quoted} {verb!r}")
    if not writes:
        return
    loses = _destroys(writes)
    if loses is not None:
        yield Signal(source, DESTRUCTIVE, loses, votes, f"{quoted} {verb!r}")
    same = _repeats(writes)
    if same is not None:
        yield Signal(source, IDEMPOTENT, same, votes, f"{quoted} {verb!r}")


def _parameters(tool: Tool) -> Iterator[Signal]:
    """The votes of what a tool takes."""
    names = {"_".join(tokens(name)): name for name in tool.parameters}

    def of(kind: str) -> list[str]:
        return sorted(names[name] for name in names.keys() & words(f"takes_{kind}"))

    for kind, value in (("pages", True), ("values", False), ("tries", False)):
        if found := of(kind):
            yield Signal("parameters", READ_ONLY, value, 1, f"it takes {found[0]!r}")
            break
    if found := of("files"):
        yield Signal("parameters", READ_ONLY, False, 2, f"it can write to {found[0]!r}")
    for name, schema in tool.parameters.items():
        flag = base(name.lower()) if schema.get("type") == "boolean" else None
        if flag and flag.sure and flag.kind in ("change", "remove"):
            yield Signal("parameters", READ_ONLY, False, 2, f"it takes a flag {name!r}")
    if found := of("forces"):
        yield Signal("parameters", DESTRUCTIVE, True, CERTAIN, f"it takes {found[0]!r}")
    elif found := of("loosens"):
        yield Signal("parameters", DESTRUCTIVE, True, 1, f"it takes {found[0]!r}")
    if found := of("runs"):
        yield Signal("parameters", READ_ONLY, False, 1, f"it runs {found[0]!r}")
    versions = sorted(names[name] for name in names.keys() & VERSIONS)
    if versions:
        text = f"it takes {versions[0]!r}, which a second call does not match"
        yield Signal("version", IDEMPOTENT, False, CERTAIN, text)


VERSIONS = {"etag", "if_match", "revision", "version_token", "expected_version"}


def _places(subject: Subject) -> Iterator[Signal]:
    """The vote of a position, from which something else is removed the next time."""
    removes = any(one.kind == "remove" for one in (*subject.named, *subject.described))
    names = sorted(
        n for n in subject.tool.parameters if "_".join(tokens(n)) in words("takes_places")
    )
    if removes and names:
        text = f"{names[0]!r} may be something else the next time"
        yield Signal("parameters", IDEMPOTENT, False, 2, text)


def choices(tool: Tool) -> list[tuple[str, list[Says]]]:
    """Parameters that choose what the tool does, with what their values say."""
    found = []
    for name, schema in tool.parameters.items():
        if "_".join(tokens(name)) not in words("takes_choices"):
            continue
        parts = [schema, *(part for part in schema.get("anyOf") or () if isinstance(part, Mapping))]
        values = [str(value) for part in parts for value in part.get("enum") or ()]
        said = [one for value in values for one in of_name(value)[:1]]
        if said and len(said) * 2 > len(values):
            found.append((name, said))
    return found


def _choices(tool: Tool) -> Iterator[Signal]:
    for name, said in choices(tool):
        writes = [one for one in said if one.kind in WRITES]
        if any(one.sure for one in writes):
            text = f"its {name!r} can be {writes[0].word!r}"
            yield Signal("choices", READ_ONLY, False, CERTAIN, text)
            if _destroys(writes):
                worst = next(one.word for one in writes if one.kind in ("change", "remove", "run"))
                yield Signal(
                    "choices", DESTRUCTIVE, True, CERTAIN, f"its {name!r} can be {worst!r}"
                )


def _result(tool: Tool) -> Iterator[Signal]:
    """The votes of what a tool returns."""
    schema = tool.wire.get("outputSchema")
    properties = schema.get("properties") if isinstance(schema, Mapping) else None
    keys = {"_".join(tokens(name)) for name in properties or ()}
    for kind, value in (("writes", False), ("reads", True)):
        if found := sorted(keys & words(f"returns_{kind}")):
            yield Signal("result", READ_ONLY, value, 1, f"it returns {found[0]!r}")
            return


def _phrase(name: str, text: str) -> str | None:
    """A phrase that stands in a text, and is not turned into its contrary."""
    phrases = vocabulary()["phrases"]
    for found in re.finditer(phrases[name], text, re.IGNORECASE):
        if not re.search(
            phrases["turns"], text[max(0, found.start() - 60) : found.start()], re.IGNORECASE
        ):
            return " ".join(found[0].split())
    return None


def _phrases(subject: Subject) -> Iterator[Signal]:
    """The votes of what a description says besides its verb."""
    text = subject.text

    def says(name: str) -> str:
        return f"its description says {found!r}" if (found := _phrase(name, text)) else ""

    if quoted := says("writes"):
        yield Signal("phrases", READ_ONLY, False, CERTAIN, quoted)
        yield Signal("phrases", DESTRUCTIVE, True, CERTAIN, quoted)
    elif quoted := says("reads"):
        yield Signal("phrases", READ_ONLY, True, 2, quoted)
    if quoted := says("overwrites"):
        yield Signal("phrases", DESTRUCTIVE, True, CERTAIN, quoted)
    elif quoted := says("loses"):
        yield Signal("phrases", DESTRUCTIVE, True, 2, quoted)
    elif quoted := says("keeps"):
        yield Signal("phrases", DESTRUCTIVE, False, 1, quoted)
    if quoted := says("ensures"):
        yield Signal("phrases", IDEMPOTENT, True, 2, quoted)
    if quoted := says("reaches"):
        yield Signal("phrases", OPEN_WORLD, True, 2, quoted)
    computes = [
        one for one in (*subject.named, *subject.described) if one.word in words("computing")
    ]
    if (
        subject.named
        and subject.described
        and len(computes) == len(subject.named + subject.described)
    ):
        yield Signal(
            "phrases", OPEN_WORLD, False, 2, f"it only {computes[0].word}s what it is given"
        )


def _siblings(subject: Subject) -> Iterator[Signal]:
    """The vote of other tools: `unpin_note` beside `pin_note` changes a note back."""
    for twin in sorted(subject.twins):
        yield Signal("siblings", READ_ONLY, False, 1, f"{twin!r} is its contrary")


def signals(subject: Subject) -> list[Signal]:
    """Everything that the definition of a tool says about its hints."""
    said = {
        "name": subject.named,
        "description": subject.described,
        "title": [] if subject.named else subject.titled,
    }
    runs = {one.kind for each in said.values() for one in each} <= {"run", "read"}
    if runs and (language := _phrase("languages", subject.text)):
        said = {source: [one for one in each if one.kind != "run"] for source, each in said.items()}
    else:
        language = None
    return [
        *(
            signal
            for source, each in said.items()
            for signal in _by_words(source, each, f"its {source} says")
        ),
        *_language(language),
        *_phrases(subject),
        *_parameters(subject.tool),
        *_places(subject),
        *_choices(subject.tool),
        *_result(subject.tool),
        *_siblings(subject),
    ]


def _language(language: str | None) -> Iterator[Signal]:
    """The vote of a language in which nothing can be changed."""
    if language:
        yield Signal("language", READ_ONLY, True, 2, f"it runs {language}, which only reads")


def _twins(name: str, names: set[str]) -> set[str]:
    """Names of tools that undo what this one does."""
    parts = tokens(name)
    undone = set()
    for place, part in enumerate(parts):
        for prefix in ("un", "de", "dis"):
            pairs = [prefix + part, part.removeprefix(prefix) if part.startswith(prefix) else part]
            for other in pairs:
                if other != part and len(other) > 2:
                    undone.add("_".join([*parts[:place], other, *parts[place + 1 :]]))
    return undone & names


def subjects(tools: Sequence[Tool]) -> list[Subject]:
    """What is read of each tool of a server."""
    prefix = prefixes([tool.name for tool in tools])
    names = {"_".join(tokens(tool.name)) for tool in tools}
    found = []
    for tool in tools:
        text = str(tool.wire.get("description") or "")
        lines = sentences(text)
        title = str(tool.annotations.get("title") or tool.wire.get("title") or "")
        described = next((said for line in lines[:2] if (said := of_sentence(line))), [])
        found.append(
            Subject(
                tool,
                of_name(tool.name, prefix),
                described,
                of_name(title),
                " ".join(lines),
                _twins(tool.name, names),
            )
        )
    return found

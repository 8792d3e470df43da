"""Signals: what each source in a tool's definition says about its hints, and with how many votes."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from ..rules import Tool
from .reading import WRITES, Says, of_name, of_sentence, prefixes, sentences, tokens, words
from .shapes import carries, of_shapes, repeats
from .siblings import of_peers, of_twins, twins, with_peers
from .vocabulary import vocabulary
from .votes import CERTAIN, DESTRUCTIVE, IDEMPOTENT, OPEN_WORLD, READ_ONLY, Signal, Subject, loses


def _by_words(tool: Tool, source: str, said: Sequence[Says]) -> Iterator[Signal]:
    """The votes of a name, a title or a description."""
    if not said:
        return
    writes = [one for one in said if one.kind in WRITES]
    deciding = writes or said
    pair = any(twins(one.word, {each.word for each in deciding}) for one in deciding)
    votes = 2 if pair or any(one.sure for one in deciding) else 1
    verb = "/".join(one.word for one in deciding)
    values: dict[str, bool | None] = {READ_ONLY: not writes}
    if writes:
        values |= {DESTRUCTIVE: loses(writes), IDEMPOTENT: repeats(tool, writes)}
    for hint, value in values.items():
        if value is not None:
            yield Signal(source, hint, value, votes, f"its {source} says {verb!r}")


def _phrase(name: str, text: str) -> str | None:
    """A phrase that stands in a text, and is not turned into its contrary."""
    phrases = vocabulary()["phrases"]
    for found in re.finditer(phrases[name], text, re.IGNORECASE):
        before = text[max(0, found.start() - 60) : found.start()]
        if not re.search(phrases["turns"], before, re.IGNORECASE):
            return " ".join(found[0].split())
    return None


# A phrase, and what it says of hints with how many votes; of those on a line the first one counts.
PHRASES = (
    (
        ("writes", ((READ_ONLY, False, CERTAIN), (DESTRUCTIVE, True, CERTAIN))),
        ("reads", ((READ_ONLY, True, 2),)),
    ),
    (
        ("overwrites", ((DESTRUCTIVE, True, CERTAIN), (IDEMPOTENT, True, 1))),
        ("loses", ((DESTRUCTIVE, True, 2),)),
        ("keeps", ((DESTRUCTIVE, False, 1),)),
    ),
    (("ensures", ((IDEMPOTENT, True, 2),)),),
    (("reaches", ((OPEN_WORLD, True, 2),)),),
)


def _phrases(subject: Subject) -> Iterator[Signal]:
    """The votes of what a description says besides its verb."""
    text = " ".join(subject.sentences)
    for either in PHRASES:
        for name, votes in either:
            if quoted := _phrase(name, text):
                for hint, value, count in votes:
                    yield Signal("phrases", hint, value, count, f"its description says {quoted!r}")
                break
    for first in subject.sentences[:1]:
        if quoted := _phrase("overwrites", first):
            yield Signal("phrases", IDEMPOTENT, True, 1, f"its first sentence says {quoted!r}")


def _computes(subject: Subject) -> Iterator[Signal]:
    """The vote of a name and a description that say nothing but `calculate` or `convert`."""
    said = (*subject.named, *subject.described)
    if subject.named and subject.described and {one.word for one in said} <= words("computing"):
        text = f"it only {said[0].word}s what it is given"
        yield Signal("phrases", OPEN_WORLD, False, 2, text)


def _said(subject: Subject) -> dict[str, list[Says]]:
    """What each text of a tool says, as its parameters make it understood."""
    tool = subject.tool
    said = {"name": [*subject.named], "description": [*subject.described]}
    if not subject.named:
        said["title"] = [*subject.titled]
    reads = {one.kind == "read" for one in subject.described}
    if len(tokens(tool.name)) == 1 and reads:  # the name `type` may be a noun
        nouns = [one for one in subject.named if not one.sure and one.word in words("nouns")]
        said["name"] = [
            one for one in subject.named if one not in nouns or (one.kind == "read") in reads
        ]
    if carries(tool):  # a file is attached once more by each call, a policy is not
        for source, each in said.items():
            said[source] = [
                replace(one, kind="add") if one.kind == "ensure" and not one.sure else one
                for one in each
            ]
    return said


def signals(subject: Subject) -> list[Signal]:
    """Everything that the definition of a tool says about its hints, and what its siblings add."""
    said = _said(subject)
    found = []
    kinds = {one.kind for each in said.values() for one in each}
    language = _phrase("languages", " ".join(subject.sentences)) if kinds <= {"run", "read"} else ""
    if language:
        said = {source: [one for one in each if one.kind != "run"] for source, each in said.items()}
        text = f"it runs {language}, which only reads"
        found.append(Signal("language", READ_ONLY, True, 2, text))
    for source, each in said.items():
        found += _by_words(subject.tool, source, each)
    if {one.kind for one in said["name"]} == {"add"}:  # what it changes besides, it adds each time
        found = [one for one in found if (one.hint, one.value) != (IDEMPOTENT, True)]
    told = [
        one.kind for one in said["description"] if one.sure or not one.word.startswith("return")
    ]
    if not subject.named and {*told} == {"read"}:
        found.append(Signal("name", READ_ONLY, True, 1, "its name has no verb"))
    found += [*_phrases(subject), *_computes(subject), *of_shapes(subject), *of_twins(subject)]
    return [*found, *of_peers(subject, found)]


def subjects(tools: Sequence[Tool]) -> list[Subject]:
    """What is read of each tool of a server."""
    prefix = prefixes([tool.name for tool in tools])
    names = {"_".join(tokens(tool.name)) for tool in tools}
    found = []
    for tool in tools:
        lines = sentences(str(tool.wire.get("description") or ""))
        title = str(tool.annotations.get("title") or tool.wire.get("title") or "")
        described = of_sentence("".join(lines[:1]))
        if not described:  # what comes second may be what it returns after all
            later = of_sentence("".join(lines[1:2]))
            described = [replace(one, sure=False) for one in later]
        undone = frozenset(twins(tool.name, names))
        named = of_name(tool.name, prefix, described)
        found.append(Subject(tool, named, described, of_name(title), lines, undone))
    return with_peers(found)

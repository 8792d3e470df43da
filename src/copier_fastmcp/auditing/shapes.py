"""The votes of what a tool takes and returns."""

import re
from collections.abc import Iterator, Mapping, Sequence

from ..rules import Tool
from .reading import WRITES, Says, base, of_name, tokens, words
from .votes import CERTAIN, DESTRUCTIVE, IDEMPOTENT, READ_ONLY, Signal, Subject, loses

DOES = ("insert", "append", "add", "remove")
VERSIONS = {"etag", "if_match", "revision", "version_token", "expected_version"}


def of(tool: Tool, kind: str) -> list[str]:
    """The parameters of a tool that a list of the vocabulary knows by their whole name."""
    known = words(f"takes_{kind}")
    return sorted(name for name in tool.parameters if "_".join(tokens(name)) in known)


def keeps_identity(tool: Tool) -> bool:
    """Whether what a tool acts on is named by an identity, which moving it does not change."""
    return any(_last(name) in words("identities") for name in tool.parameters) and not places(tool)


def _last(name: str) -> str:
    return "".join(tokens(name)[-1:])


def places(tool: Tool) -> list[str]:
    """The parameters that name a position, where something else may be the next time."""
    return sorted(name for name in tool.parameters if _last(name) in words("places"))


def carries(tool: Tool) -> bool:
    """Whether a tool takes what it attaches, and not just the names of two things."""
    return any(_last(name) in words("contents") for name in tool.parameters)


def of_shapes(subject: Subject) -> Iterator[Signal]:
    """The votes of a tool's parameters and of its result."""
    tool = subject.tool
    for kind, value in (("pages", True), ("values", False), ("tries", False)):
        if found := of(tool, kind):
            yield Signal("parameters", READ_ONLY, value, 1, f"it takes {found[0]!r}")
            break
    if found := sorted(name for name in tool.parameters if _writes_to(name)):
        yield Signal("parameters", READ_ONLY, False, 2, f"it can write to {found[0]!r}")
    for name, schema in tool.parameters.items():
        flag = base(name.lower()) if schema.get("type") == "boolean" else None
        if flag and flag.sure and flag.kind in ("change", "remove"):
            yield Signal("parameters", READ_ONLY, False, 2, f"it takes a flag {name!r}")
    if found := of(tool, "forces"):
        yield Signal("parameters", DESTRUCTIVE, True, CERTAIN, f"it takes {found[0]!r}")
    elif found := of(tool, "loosens"):
        yield Signal("parameters", DESTRUCTIVE, True, 1, f"it takes {found[0]!r}")
    if found := of(tool, "runs"):
        yield Signal("parameters", READ_ONLY, False, 1, f"it runs {found[0]!r}")
    yield from _repeated(subject)
    yield from _choices(tool)
    yield from _result(tool)


def _writes_to(name: str) -> bool:
    """Whether a parameter names a file to write: `output_path`, `save_to`, `destFile`."""
    parts = tokens(name)
    uses, places = words("file_uses"), words("file_places")
    return len(parts) > 1 and parts[0] in uses and parts[-1] in places


def _is_state(tool: Tool, name: str) -> bool:
    """Whether a parameter is a switch that says a state: `subscribed`, `archived`."""
    return tool.parameters[name].get("type") == "boolean" and _last(name).endswith("ed")


def _repeated(subject: Subject) -> Iterator[Signal]:
    """What parameters say about a second call: another state, another thing, or the same."""
    tool = subject.tool
    versions = sorted(name for name in tool.parameters if "_".join(tokens(name)) in VERSIONS)
    if versions:
        text = f"it takes {versions[0]!r}, which a second call does not match"
        yield Signal("version", IDEMPOTENT, False, CERTAIN, text)
    removes = any(one.kind == "remove" for one in (*subject.named, *subject.described))
    if removes and (found := places(tool)):
        text = f"{found[0]!r} may be something else the next time"
        yield Signal("parameters", IDEMPOTENT, False, 2, text)
    started = {verb: [n for n in tool.parameters if tokens(n)[:1] == (verb,)] for verb in DOES}
    if found := [*started["insert"], *started["append"]]:
        yield Signal("parameters", IDEMPOTENT, False, 2, f"{found[0]!r} is added each time")
    if (added := started["add"]) and (removed := started["remove"]):
        text = f"{added[0]!r} and {removed[0]!r} say what it ends with"
        yield Signal("parameters", IDEMPOTENT, True, 2, text)
    if removes and (found := [n for n in tool.parameters if _is_state(tool, n)]):
        yield Signal("parameters", IDEMPOTENT, True, 1, f"{found[0]!r} says what it ends with")
    if found := sorted(name for name in tool.parameters if words("qualities") & {*tokens(name)}):
        for hint, value in ((READ_ONLY, False), (IDEMPOTENT, True)):
            yield Signal("parameters", hint, value, 1, f"it assigns {found[0]!r}")


def choices(tool: Tool) -> list[tuple[str, list[Says], bool]]:
    """Parameters that choose what the tool does, what their values say, and whether these are all."""
    found = []
    for name in of(tool, "choices"):
        schema = tool.parameters[name]
        parts = [schema, *(part for part in schema.get("anyOf") or () if isinstance(part, Mapping))]
        values = [str(value) for part in parts for value in part.get("enum") or ()]
        listed = values or _quoted(tool, name)
        said = [one for value in listed for one in of_name(value)[:1]]
        if said and len(said) * 2 > len(listed):
            found.append((name, said, len(said) == len(listed)))
    return found


def _quoted(tool: Tool, name: str) -> list[str]:
    """Values that a text lists: `One of "list", "delete"`, or `operation: what ("set", "get")`."""
    own = str(tool.parameters[name].get("description") or "")
    if re.match(r"\W*[\"']|.*\b(?:one of|to perform)\b", own, re.IGNORECASE):
        return re.findall(r"[\"']([a-z_]{2,30})[\"']", own)
    text = str(tool.wire.get("description") or "")
    said = re.search(rf"\b{re.escape(name)}: [^\n(]{{0,60}}\(([\"'][^)\n]*)\)", text)
    return re.findall(r"[\"']([a-z_]{2,30})[\"']", said[1]) if said else []


def _choices(tool: Tool) -> Iterator[Signal]:
    for name, said, whole in choices(tool):
        writes = [one for one in said if one.kind in WRITES]
        if not writes and whole:
            text = f"its {name!r} is one of {'/'.join(one.word for one in said)}"
            yield Signal("choices", READ_ONLY, True, 2, text)
        if not any(one.sure for one in writes) and len(writes) < 2:
            continue
        yield Signal(
            "choices", READ_ONLY, False, CERTAIN, f"its {name!r} can be {writes[0].word!r}"
        )
        for one in [one for one in writes if loses([one])][:1]:
            yield Signal("choices", DESTRUCTIVE, True, CERTAIN, f"its {name!r} can be {one.word!r}")
        same = repeats(tool, writes)
        if same is not None and (whole or not same):
            text = f"its {name!r} can be {'/'.join(one.word for one in writes)}"
            yield Signal("choices", IDEMPOTENT, same, 2, text)


# What assigns a state, takes away or makes sure ends alike each time, but for words that say otherwise.
SETTLES = {"change", "remove", "ensure"}


def repeats(tool: Tool, said: Sequence[Says]) -> bool | None:
    """Whether doing it again changes nothing more; None where the verbs do not say."""
    writes = [one for one in said if one.kind in WRITES]
    verbs = {one.word for one in writes}
    if verbs & words("repeats_more"):
        return False
    if len(verbs) == 2 and verbs & words("upserted"):  # what creates or updates ends in one state
        writes = [one for one in writes if one.word not in ("create", "add")]
    unclear = words("repeats_unclear")
    if not keeps_identity(tool):
        unclear |= words("repeats_by_identity")
    settles = SETTLES - ({"change"} if of(tool, "edits") else set())  # `edits` may apply twice
    same = [
        one.word not in unclear if one.kind in settles else one.word in words("repeats_the_same")
        for one in writes
    ]
    return True if same and all(same) else None


def _result(tool: Tool) -> Iterator[Signal]:
    schema = tool.wire.get("outputSchema")
    properties = schema.get("properties") if isinstance(schema, Mapping) else None
    keys = {"_".join(tokens(name)) for name in properties or ()}
    for kind, value in (("writes", False), ("reads", True)):
        if found := sorted(keys & words(f"returns_{kind}")):
            yield Signal("result", READ_ONLY, value, 1, f"it returns {found[0]!r}")
            return

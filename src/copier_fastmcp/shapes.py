"""The votes of what a tool takes and returns."""

from collections.abc import Iterator, Mapping

from .reading import WRITES, Says, base, of_name, tokens, words
from .rules import Tool
from .votes import CERTAIN, DESTRUCTIVE, IDEMPOTENT, READ_ONLY, Signal, Subject, loses

VERSIONS = {"etag", "if_match", "revision", "version_token", "expected_version"}


def of(tool: Tool, kind: str) -> list[str]:
    """The parameters of a tool that a list of the vocabulary knows by their whole name."""
    known = words(f"takes_{kind}")
    return sorted(name for name in tool.parameters if "_".join(tokens(name)) in known)


def keeps_identity(tool: Tool) -> bool:
    """Whether what a tool acts on is named by an identity, which moving it does not change."""
    return any({*tokens(name)[-1:]} & words("identities") for name in tool.parameters)


def carries(tool: Tool) -> bool:
    """Whether a tool takes what it attaches, and not just the names of two things."""
    return bool(of(tool, "contents"))


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


def _repeated(subject: Subject) -> Iterator[Signal]:
    """What parameters say about a second call: another state, another thing, or the same."""
    tool = subject.tool
    versions = sorted(name for name in tool.parameters if "_".join(tokens(name)) in VERSIONS)
    if versions:
        text = f"it takes {versions[0]!r}, which a second call does not match"
        yield Signal("version", IDEMPOTENT, False, CERTAIN, text)
    removes = any(one.kind == "remove" for one in (*subject.named, *subject.described))
    if removes and (found := of(tool, "places")):
        text = f"{found[0]!r} may be something else the next time"
        yield Signal("parameters", IDEMPOTENT, False, 2, text)
    if found := sorted(name for name in tool.parameters if words("qualities") & {*tokens(name)}):
        for hint, value in ((READ_ONLY, False), (IDEMPOTENT, True)):
            yield Signal("parameters", hint, value, 1, f"it assigns {found[0]!r}")


def choices(tool: Tool) -> list[tuple[str, list[Says]]]:
    """Parameters that choose what the tool does, with what their values say."""
    found = []
    for name in of(tool, "choices"):
        schema = tool.parameters[name]
        parts = [schema, *(part for part in schema.get("anyOf") or () if isinstance(part, Mapping))]
        values = [str(value) for part in parts for value in part.get("enum") or ()]
        said = [one for value in values for one in of_name(value)[:1]]
        if said and len(said) * 2 > len(values):
            found.append((name, said))
    return found


def _choices(tool: Tool) -> Iterator[Signal]:
    for name, said in choices(tool):
        writes = [one for one in said if one.kind in WRITES]
        if not any(one.sure for one in writes):
            continue
        for hint, value, votes, worst in (
            (READ_ONLY, False, CERTAIN, writes),
            (IDEMPOTENT, False, 2, [one for one in writes if one.word in words("repeats_more")]),
            (DESTRUCTIVE, True, CERTAIN, [one for one in writes if loses([one])]),
        ):
            for one in worst[:1]:
                yield Signal("choices", hint, value, votes, f"its {name!r} can be {one.word!r}")


def _result(tool: Tool) -> Iterator[Signal]:
    schema = tool.wire.get("outputSchema")
    properties = schema.get("properties") if isinstance(schema, Mapping) else None
    keys = {"_".join(tokens(name)) for name in properties or ()}
    for kind, value in (("writes", False), ("reads", True)):
        if found := sorted(keys & words(f"returns_{kind}")):
            yield Signal("result", READ_ONLY, value, 1, f"it returns {found[0]!r}")
            return

"""`audit --snapshot` and `--baseline`: what is new since somebody last looked at a server."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from .. import lock
from ..errors import UnableError
from ..rules import Tool
from .judging import Judged
from .sound import sound

LOUD = ("RELAXED", "BREAKING")
MOST_PARTS = 2_000_000  # of all schemas, with each reference in its place


def _counted(
    schema: Any, defs: Mapping[str, Any], within: tuple[str, ...], left: Iterator[int]
) -> None:
    """Walk a schema as `lock.normal` does; StopIteration: it has more parts than are left."""
    next(left)
    if isinstance(schema, Mapping):
        target = str(schema.get("$ref", "")).removeprefix("#/$defs/")
        if target in defs and target not in within:
            _counted(defs[target], defs, (*within, target), left)
        schema = [part for name, part in schema.items() if name != "$defs"]
    for part in schema if isinstance(schema, list) else ():
        _counted(part, defs, within, left)


def pinned(tools: Sequence[Mapping[str, Any]]) -> lock.Lock:
    """A server's definitions in the form of a lock; a title counts wherever it stands."""
    served, left = [], iter(range(MOST_PARTS))
    for tool in tools:
        each, _ = sound(tool)
        for schema in filter(None, (each.get("inputSchema"), each.get("outputSchema"))):
            try:
                _counted(schema, schema.get("$defs", {}), (), left)
            except StopIteration:
                why = f"the schemas unfold to over {MOST_PARTS:,} parts, at {tool.get('name')!r}"
                raise UnableError(f"{why}; its author has to shorten them") from None
        hints = Tool(each).annotations
        served.append(Tool({**each, "title": each.get("title") or hints.get("title")}))
    return lock.lock_of(served, {})


def compared(path: Path, tools: Sequence[Mapping[str, Any]]) -> list[str] | None:
    """What changed since a snapshot was written; None where there was none, and now is.

    Args:
        path: The snapshot. It is never overwritten: who agrees with the changes deletes it.
        tools: The tools as they are served now.

    Raises:
        UnableError: The file cannot be read or written, or holds something else.
    """
    now = pinned(tools)
    try:
        if not path.exists():
            path.write_text(lock.text_of(now), encoding="utf-8")
            return None
        return lock.differences(lock.read(path), now)
    except OSError as error:
        raise UnableError(f"could not write {path}: {error}") from error
    except ValueError as error:
        text = str(error).removesuffix(lock.MEND)
        raise UnableError(f"{text}delete it, and the next audit writes it anew") from error


def loud_first(changes: Sequence[str]) -> list[str]:
    """Changes with those first that loosen something or break callers."""

    def quiet(line: str) -> list[bool]:
        return [f": {word}: " not in line for word in LOUD]

    return sorted(changes, key=quiet)


def new(findings: Sequence[Judged], path: Path) -> list[Judged]:
    """The findings that are not in a baseline, which is what `audit --json` printed.

    Raises:
        UnableError: The file cannot be read, or holds something else.
    """
    try:
        kept = json.loads(path.read_text(encoding="utf-8"))
        fields = Judged.__dataclass_fields__
        known = Counter(
            Judged(**{**each, "evidence": ()}).key()
            for each in kept
            if fields.keys() >= each.keys()
        )
    except (OSError, ValueError, TypeError, AttributeError, KeyError) as error:
        why = f"{path} is not a baseline ({error}); write one with `audit --json > {path.name}`"
        raise UnableError(why) from error
    fresh = []
    for one in findings:
        if known[one.key()]:
            known[one.key()] -= 1
        else:
            fresh.append(one)
    return fresh

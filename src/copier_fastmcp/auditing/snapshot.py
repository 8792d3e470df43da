"""`audit --snapshot` and `--baseline`: the changes since the last audit of a server."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from copier_fastmcp_engine.testing import lock
from copier_fastmcp_engine.testing.rules import Tool

from ..errors import UnableError
from .findings import AuditFinding
from .validation import SCHEMAS, validate_definition

LOUD = ("RELAXED", "BREAKING")
MOST_PARTS = 2_000_000  # of all schemas, with each reference resolved


def _count_parts(
    schema: Any,
    definitions: Mapping[str, Any],
    within: tuple[str, ...],
    budget: Iterator[int],
) -> None:
    """Walk a schema as `lock.normalize_schema` does, which has no limit: the author of a server trusts its schemas.

    Raises:
        StopIteration: It has more parts than the budget.
    """
    next(budget)
    if isinstance(schema, Mapping):
        target = lock.get_reference(schema)
        if target in definitions and target not in within:
            _count_parts(definitions[target], definitions, (*within, target), budget)
        for name, part in schema.items():
            if name != "$defs":
                _count_parts(part, definitions, within, budget)
    elif isinstance(schema, list):
        for part in schema:
            _count_parts(part, definitions, within, budget)


def pin_definitions(tools: Sequence[Mapping[str, Any]]) -> lock.Lock:
    """A server's definitions in the form of a lock; a title in either place counts.

    Raises:
        UnableError: The resolved schemas have too many parts to compare.
    """
    pinned: list[Tool] = []
    budget = iter(range(MOST_PARTS))
    for tool in tools:
        definition, _ = validate_definition(tool)
        for key in SCHEMAS:
            schema = definition.get(key)
            if not schema:
                continue
            try:
                _count_parts(schema, schema.get("$defs", {}), (), budget)
            except StopIteration:
                name = tool.get("name")
                size = f"the schemas unfold to over {MOST_PARTS:,} parts, at {name!r}"
                raise UnableError(f"{size}; its author has to shorten them") from None
        title = definition.get("title") or Tool(definition).annotations.get("title")
        pinned.append(Tool({**definition, "title": title}))
    return lock.build_lock(pinned, {})


def compare_with_snapshot(
    path: Path, tools: Sequence[Mapping[str, Any]]
) -> list[str] | None:
    """The changes since a snapshot was written; None if this call has written it.

    Args:
        path: The snapshot. It is never overwritten; to accept the changes, delete it.
        tools: The tools as served now.

    Raises:
        UnableError: The file cannot be read or written, or is not a snapshot.
    """
    pins = pin_definitions(tools)
    try:
        if not path.exists():
            path.write_text(lock.format_lock(pins), encoding="utf-8")
            return None
        return lock.format_differences(lock.load_lock(path), pins)
    except OSError as error:
        raise UnableError(f"could not write {path}: {error}") from error
    except ValueError as error:
        reason = str(error).removesuffix(lock.FIX)
        raise UnableError(
            f"{reason}delete it, and the next audit writes it anew"
        ) from error


def sort_changes(changes: Sequence[str]) -> list[str]:
    """Sort changes: those that relax a hint or break callers first."""
    return sorted(changes, key=_rank_change)


def _rank_change(line: str) -> int:
    for rank, label in enumerate(LOUD):
        if f": {label}: " in line:
            return rank
    return len(LOUD)


def exclude_known(findings: Sequence[AuditFinding], path: Path) -> list[AuditFinding]:
    """The findings that are not in a baseline, a file that `audit --json` printed.

    Raises:
        UnableError: The file cannot be read, or is not a baseline.
    """
    try:
        baseline = _load_keys(path)
    except (OSError, ValueError, TypeError, AttributeError, KeyError) as error:
        reason = f"{path} is not a baseline ({error})"
        raise UnableError(
            f"{reason}; write one with `audit --json > {path.name}`"
        ) from error
    fresh = []
    for finding in findings:
        if baseline[finding.key()]:
            baseline[finding.key()] -= 1
        else:
            fresh.append(finding)
    return fresh


def _load_keys(path: Path) -> Counter[tuple[str, ...]]:
    """Load a baseline: the number of each finding."""
    fields = AuditFinding.__dataclass_fields__.keys()
    keys: Counter[tuple[str, ...]] = Counter()
    for row in json.loads(path.read_text(encoding="utf-8")):
        if fields >= row.keys():
            keys[AuditFinding(**{**row, "evidence": ()}).key()] += 1
    return keys

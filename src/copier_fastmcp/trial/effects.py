"""Whether calling a read changed something: two responses that nothing else was called between."""

import re
from typing import Any

# Fields that change by themselves, and texts that are a time.
VOLATILE = re.compile(
    r"(^|_)(time|date|uptime|elapsed|duration|timestamp|age|now|nonce|token|trace|latency|load|memory|cpu|"
    r"heartbeat|request_id|last_[a-z_]+|at)$"
)
TIME = re.compile(r"\d{4}-\d\d-\d\d([T ]|$)|\d\d:\d\d")
CAMEL_CASE = re.compile("(?<=[a-z])(?=[A-Z])")
LONGEST = 40


def find_changes(before: Any, after: Any) -> list[str]:
    """Return the fields and counts that differ between two bodies, without what changes by itself.

    Args:
        before: A JSON body.
        after: The body of the next call.
    """
    old, new = dict(_flatten(before)), dict(_flatten(after))
    changes = []
    for place in dict.fromkeys([*old, *new]):
        value, new_value = old.get(place), new.get(place)
        if value != new_value and not _is_volatile(place, value, new_value):
            before_text, after_text = _format_value(value), _format_value(new_value)
            changes.append(f"{place} ({before_text} -> {after_text})")
    return changes


def _is_volatile(place: str, value: Any, new_value: Any) -> bool:
    plain = re.sub(r"(\[\d+\])+$", "", place).rpartition(".")[2]
    name = CAMEL_CASE.sub("_", plain).lower()
    if VOLATILE.search(name):
        return True
    return _is_time(value) or _is_time(new_value)


def _is_time(value: Any) -> bool:
    return isinstance(value, str) and TIME.search(value) is not None


def _flatten(value: Any, place: str = "") -> list[tuple[str, Any]]:
    """Return the single values of a body by their places, and the length of each list."""
    if isinstance(value, dict):
        rows = []
        for name, item in value.items():
            rows += _flatten(item, f"{place}.{name}" if place else str(name))
        return rows
    if isinstance(value, list):
        rows = [(f"number of {place or 'items'}", len(value))]
        for number, item in enumerate(value):
            rows += _flatten(item, f"{place}[{number}]")
        return rows
    return [(place or "the value", value)]


def _format_value(value: Any) -> str:
    if value is None:
        return "nothing"
    text = str(value)
    if len(text) <= LONGEST:
        return text
    return f"{text[: LONGEST - 3]}..."

"""Whether calling a read changed something: two responses that nothing else was called between."""

import re
from typing import Any

# Fields that change by themselves, and texts that are a time.
VOLATILE = re.compile(
    r"(^|_)(time|date|uptime|elapsed|duration|timestamp|age|now|nonce|token|trace|latency|load|memory|cpu|"
    r"heartbeat|request_id|last_[a-z_]+|at)$"
)
TIME = re.compile(r"\d{4}-\d\d-\d\d([T ]|$)|\d\d:\d\d")
LIST_POSITION = re.compile(r"(\[\d+\])+$")
CAMEL_CASE = re.compile("(?<=[a-z])(?=[A-Z])")
LONGEST = 40


def find_changes(before: Any, after: Any) -> list[str]:
    """Return the fields and counts that differ between two bodies, without what changes by itself.

    Args:
        before: A JSON body.
        after: The body of the next call.
    """
    old = dict(_flatten(before))
    new = dict(_flatten(after))
    changes: list[str] = []
    for place in dict.fromkeys([*old, *new]):
        value = old.get(place)
        new_value = new.get(place)
        if value == new_value or _is_volatile(place, value, new_value):
            continue
        before_text = _format_value(value)
        after_text = _format_value(new_value)
        changes.append(f"{place} ({before_text} -> {after_text})")
    return changes


def _is_volatile(place: str, value: Any, new_value: Any) -> bool:
    path = LIST_POSITION.sub("", place)
    _, _, field = path.rpartition(".")
    name = CAMEL_CASE.sub("_", field).lower()
    if VOLATILE.search(name):
        return True
    return _is_time(value) or _is_time(new_value)


def _is_time(value: Any) -> bool:
    return isinstance(value, str) and TIME.search(value) is not None


def _flatten(value: Any, place: str = "") -> list[tuple[str, Any]]:
    """Return the single values of a body by their places, and the length of each list."""
    rows: list[tuple[str, Any]] = []
    if isinstance(value, dict):
        for name, item in value.items():
            item_place = f"{place}.{name}" if place else str(name)
            rows += _flatten(item, item_place)
    elif isinstance(value, list):
        rows.append((f"number of {place or 'items'}", len(value)))
        for number, item in enumerate(value):
            rows += _flatten(item, f"{place}[{number}]")
    else:
        rows.append((place or "the value", value))
    return rows


def _format_value(value: Any) -> str:
    if value is None:
        return "nothing"
    text = str(value)
    if len(text) <= LONGEST:
        return text
    return f"{text[: LONGEST - 3]}..."

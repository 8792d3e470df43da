"""What happened to the data between two snapshots, value by value."""

import re
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

Place = tuple[str, ...]
IDS = ("id", "key", "name", "uid", "path")  # what an element of a list is known by
CLOCK = re.compile(
    r"^(last_?)?(accessed|changed|edited|modified|seen|touched|updated)(_?(at|on|time))?$"
    r"|^(etag|if_match|mtime|revision|timestamp|version)$"
)
# A record is gone, or back, by a flag, a date or a state as well.
ENDS = re.compile(
    "archive|cancel|delete|disable|expire|gone|hidden|purge|remove|revoke|trash"
)
LIVES = re.compile("active|enable|visible")
OVER = re.compile(
    "archived|cancelled|canceled|closed|deleted|disabled|expired|inactive|removed|revoked"
)


def to_json_data(value: Any) -> Any:
    """Return a deep copy as JSON; what a snapshot() returns may be the very data that a call changes."""
    from pydantic_core import (
        to_jsonable_python,
    )  # the command reads no snapshot, and needs no pydantic

    return to_jsonable_python(
        value,
        bytes_mode="base64",
        fallback=lambda item: getattr(item, "__dict__", None) or repr(item),
    )


def iterate_values(data: Any, place: Place = ()) -> Iterator[tuple[Place, Any]]:
    """Yield every value with its place; an element of a list is placed under its ID, or under itself."""
    if isinstance(data, dict) and data:
        for name, value in data.items():
            yield from iterate_values(value, (*place, name))
    elif isinstance(data, list) and data:
        again: Counter[str] = Counter()
        for item in data:
            name = _name_of(item)
            again[name] += 1
            yield from iterate_values(item, (*place, "[]" * again[name], name))
    elif place:
        yield place, data


def _name_of(item: Any) -> str:
    """Return what an element of a list is known by: its ID, or its text."""
    record = {"id": item[0]} if isinstance(item, list) and item else item
    if isinstance(record, dict):
        for key in IDS:
            if key in record:
                return str(record[key])
    return str(item)


def is_element(place: Place) -> bool:
    """Tell whether a place is that of an element of a list by itself, as a tag is."""
    return "".join(place[-2:-1])[:2] == "[]"


def is_now(value: Any) -> bool:
    """Tell whether a value is the time of this very moment, which differs from call to call."""
    try:
        if not isinstance(value, float):
            value = datetime.fromisoformat(str(value)).timestamp()
    except (ValueError, OverflowError):
        return False
    return abs(time.time() - float(value)) < 60


@dataclass(frozen=True)
class Change:
    """What happened to one value; None: it was not there, or is not any more."""

    place: Place
    old: Any
    new: Any
    gone: bool = False  # with its whole record

    @property
    def kind(self) -> str:
        """The name of its field."""
        return self.place[-3 if is_element(self.place) else -1]

    @property
    def step(self) -> float | None:
        """By how much a number changed."""
        old = 0 if self.old is None else self.old
        return (
            self.new - old
            if all(type(n) in (int, float) for n in (old, self.new))
            else None
        )

    def flags(self, old: Any, new: Any) -> bool:
        """Whether its field says that a record ends, by going from one value to another."""
        lives, ends = LIVES.search(self.kind), ENDS.search(self.kind)
        return bool(
            (lives and old and not new) or (ends and not lives and new and not old)
        )

    def ends(self) -> bool:
        """Whether it takes something away: a record, a field, or by a flag, a date or a state."""
        emptied = self.old not in (None, False, 0) and self.new in (None, "")
        over = self.flags(self.old, self.new) or OVER.fullmatch(str(self.new).lower())
        return bool(self.gone or emptied or over)

    def keeps(self) -> bool:
        """Whether the old value lives on, or was only a state that began or came back."""
        if self.gone or self.old in (None, "", [], {}):
            return not self.gone
        both = isinstance(self.old, str) and isinstance(self.new, str)
        over = self.new and OVER.fullmatch(str(self.old).lower())
        state = re.search("(mode|phase|state|status)$", self.kind) or self.old is False
        back = over or self.flags(self.new, self.old) or (state and not self.ends())
        return bool(back or (both and self.old in self.new))


class Step:
    """All changes between two snapshots but those of clocks; `lost` are the values that live on nowhere."""

    def __init__(self, before: Any, after: Any) -> None:
        self.data = (before, after)
        self.old, self.new = (dict(iterate_values(data)) for data in self.data)
        there = {place[:n] for place in self.new for n in range(1, len(place) + 1)}
        self.records = {p[: -2 if is_element(p) else -1] for p in self.old} - {()}
        self.changes: list[Change] = []
        self.lost: list[Change] = []
        self.moved: list[Change] = []  # what stands elsewhere now, or stood there
        for place in sorted(self.old.keys() | self.new.keys()):
            old, new = self.old.get(place), self.new.get(place)
            if old != new and not any(map(CLOCK.search, place)):
                record = place if is_element(place) else place[:-1] or place
                gone = place in self.old and record not in there
                self.changes.append(Change(place, old, new, gone))
        came = Counter((c.kind, repr(c.new)) for c in self.changes if c.new is not None)
        left = {(c.kind, repr(c.old)) for c in self.changes if c.old is not None}
        for change in self.changes:
            value, elsewhere = (
                (change.kind, repr(change.old)),
                (change.kind, repr(change.new)),
            )
            if not change.keeps() and came[value]:
                came[value] -= 1
                self.moved.append(change)
                continue
            self.lost += [] if change.keeps() else [change]
            self.moved += [change] if elsewhere in left else []

    def within(self, change: Change) -> bool:
        """Whether it happened in a record that was there before."""
        stems = {change.place[:n] for n in range(1, len(change.place))}
        return not self.records.isdisjoint(
            stems - {change.place[:-1]} if change.gone else stems
        )

    def __str__(self) -> str:
        keys = {c.place[0] for c in self.changes}
        before, after = self.data
        steps = {"added": keys - before.keys(), "removed": keys - after.keys()}
        steps["changed"] = keys - steps["added"] - steps["removed"]
        return ", ".join(
            f"{did} {', '.join(sorted(of))}" for did, of in steps.items() if of
        )


def format_changes(changes: Iterable[Change]) -> str:
    """Some changes by their places, the first few."""
    names = list(
        dict.fromkeys(".".join(p for p in c.place if p[:2] != "[]") for c in changes)
    )
    return ", ".join(names[:4]) + (
        f" and {len(names) - 4} more" if len(names) > 4 else ""
    )


def describe_calls(first: Step, again: Step, declared: str) -> str:
    """What the two calls did, and which behavior would be true of them."""
    if any(c.gone for c in first.lost):
        true = "action" if again.changes else "delete"
    elif any(c.place[0] in first.data[0] for c in first.changes):
        true = "put" if not again.changes else "update" if first.lost else "append"
    elif first.changes:
        true = "create" if again.changes else "ensure"
    else:
        true = "action" if again.changes else "read"
    one, two = str(first) or "changed nothing", str(again) or "changed nothing more"
    did = f"a call {one}, a second one {two}"
    return did if true == declared else f"{did}; the behavior {true!r} would be true"

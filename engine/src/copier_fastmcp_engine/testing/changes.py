"""The changes of data between two snapshots, value by value."""

import contextlib
import re
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any

Place = tuple[str, ...]
# Fields that identify an element of a list
IDS = ("id", "key", "name", "uid", "path", "slug", "number")
CLOCK = re.compile(
    r"^(last_?)?(accessed|changed|edited|modified|seen|touched|updated)(_?(at|on|time))?$"
    r"|^(etag|if_match|mtime|revision|timestamp|version)$"
)
# A flag, a date or a state may also end or restore a record.
ENDS = re.compile(
    "archive|cancel|delete|disable|expire|gone|hidden|purge|remove|revoke|trash"
)
LIVES = re.compile("active|enable|visible")
OVER = re.compile(
    "archived|cancelled|canceled|closed|deleted|disabled|discarded|ended|expired|inactive|left|removed|retired|revoked"
    "|stopped|terminated|voided|withdrawn"
)
BEGUN = re.compile(
    "booked|draft|new|open|pending|planned|queued|scheduled|todo|waiting"
)
REACHED = re.compile(
    "accepted|approved|completed|confirmed|delivered|done|finished|held|paid|published|refunded|resolved|seen|sent|shipped|signed"
    "|submitted|succeeded"
)
# A time of something that happens once: another call does not move it
EVENT = re.compile(
    f"(created|joined|opened|started|{OVER.pattern}|{REACHED.pattern})_?(at|date|on|time)?$"
)
# A date of something that is yet to come
PLANNED = re.compile("begin|due|next|open|plan|remind|schedule|start")
STATE = re.compile("(mode|phase|state|status)$")
MOMENT = 60  # seconds that a time may differ from now
AHEAD = 400 * 86_400  # seconds by which the clock of a proof is ahead, where it is
EARLIEST = 10**9  # seconds since 1970: a smaller number is no time of a test
SHOWN = 4  # places in a message


def to_json_data(value: Any) -> Any:
    """Return a deep copy as JSON data; a snapshot may be the very data that a call changes."""
    # The command reads no snapshot, and does not need pydantic.
    from pydantic_core import to_jsonable_python

    return to_jsonable_python(
        value,
        bytes_mode="base64",
        fallback=lambda item: getattr(item, "__dict__", None) or repr(item),
    )


def is_same(old: Any, new: Any) -> bool:
    """Tell whether JSON values are equal, and of the same types: 1 is neither 1.0 nor true."""
    if type(old) is not type(new):
        return False
    if isinstance(old, dict):
        if old.keys() != new.keys():
            return False
        return all(is_same(value, new[name]) for name, value in old.items())
    if isinstance(old, list):
        if len(old) != len(new):
            return False
        return all(map(is_same, old, new))
    return bool(old == new)


def find_reordered(old: Any, new: Any, place: Place = ()) -> Place | None:
    """Return the place of a list whose elements are in another order, or nothing."""
    if isinstance(old, dict) and isinstance(new, dict):
        for name in old.keys() & new.keys():
            if found := find_reordered(old[name], new[name], (*place, name)):
                return found
    elif isinstance(old, list) and isinstance(new, list):
        before = list(map(_identify, old))
        after = list(map(_identify, new))
        if before != after and sorted(before) == sorted(after):
            return place
        for number, (earlier, later) in enumerate(zip(old, new, strict=False)):
            if found := find_reordered(earlier, later, (*place, str(number))):
                return found
    return None


def iterate_values(data: Any, place: Place = ()) -> Iterator[tuple[Place, Any]]:
    """Yield every value with its place; an element of a list is placed under its ID, or under itself."""
    if isinstance(data, dict) and data:
        for name, value in data.items():
            yield from iterate_values(value, (*place, name))
    elif isinstance(data, list) and data:
        counts: Counter[str] = Counter()
        for item in data:
            name = _identify(item)
            counts[name] += 1
            yield from iterate_values(item, (*place, "[]" * counts[name], name))
    elif place:
        yield place, data


def _identify(item: Any) -> str:
    """Return the identity of an element of a list: its ID, or its text."""
    record = {"id": item[0]} if isinstance(item, list) and item else item
    if isinstance(record, dict):
        for key in IDS:
            if key in record:
                return str(record[key])
    return str(item)


def is_element(place: Place) -> bool:
    """Return whether a place is that of a plain element of a list, such as a tag."""
    return "".join(place[-2:-1])[:2] == "[]"


def list_records(place: Place) -> Iterator[Place]:
    """Yield the places of the records around a value; the first part is a table, unless it has a key in it."""
    for length in range(1, len(place)):
        if length > 1 or "/" in place[0]:
            yield place[:length]


def key_of(record: Place) -> str:
    """Return the key of a record."""
    return record[-1].rpartition("/")[2]


def kind_of(record: Place) -> tuple[Place, str]:
    """Return where a record is among others of its kind: what is before its key."""
    *container, name = record
    prefix, _, _ = name.rpartition("/")
    return tuple(container), prefix


def _parse_moment(value: Any) -> float | None:
    """Return the time that a value is, in seconds; None where it is none."""
    if isinstance(value, float):
        return value
    with contextlib.suppress(ValueError, OverflowError):
        return datetime.fromisoformat(str(value)).timestamp()
    return None


def parse_date(value: Any) -> float | None:
    """Return the time that a text states, in seconds; None where it states none."""
    return _parse_moment(value) if isinstance(value, str) else None


def is_now(value: Any) -> bool:
    """Return whether a value is the present time, which differs from call to call."""
    moment = _parse_moment(value)
    if moment is None:
        return False
    difference = moment - time.time()
    return abs(difference) < MOMENT or abs(difference - AHEAD) < MOMENT


def is_same_moment(old: Any, new: Any) -> bool:
    """Return whether two values are times that differ only since one of them was computed later."""
    earlier, later = _parse_moment(old), _parse_moment(new)
    if earlier is None or later is None or earlier < EARLIEST:
        return False
    return abs(later - earlier) < MOMENT


def _is_number(value: Any) -> bool:
    return type(value) in (int, float)


@dataclass(frozen=True)
class Change:
    """The change of one value.

    Attributes:
        place: The place of the value.
        old: The old value; None if there was none.
        new: The new value; None if there is none any more.
        is_removed: Whether its whole record was removed.
    """

    place: Place
    old: Any
    new: Any
    is_removed: bool = False

    @property
    def kind(self) -> str:
        """The name of its field."""
        return self.place[-3 if is_element(self.place) else -1]

    @property
    def step(self) -> float | None:
        """The difference of two numbers."""
        old = 0 if self.old is None else self.old
        if not _is_number(old) or not _is_number(self.new):
            return None
        difference: float = self.new - old
        return difference

    def flags(self, old: Any, new: Any) -> bool:
        """Return whether its field marks the end of a record by changing from one value to another."""
        if LIVES.search(self.kind):
            return bool(old and not new)
        return bool(ENDS.search(self.kind) and new and not old)

    def _dates_end(self) -> bool:
        """Return whether a field gets its first date, as that of an end."""
        is_first = self.old in (None, "") and not PLANNED.search(self.kind)
        return is_first and parse_date(self.new) is not None

    def ends(self) -> bool:
        """Return whether it removes something: a record, a field, or by a flag, a date or a state."""
        if self.is_removed:
            return True
        if self.old not in (None, False, 0) and self.new in (None, ""):
            return True
        if self.flags(self.old, self.new) or self._dates_end():
            return True
        return bool(OVER.fullmatch(str(self.new).lower()))

    def keeps(self) -> bool:
        """Return whether the old value is kept, or was only a state that began or was restored."""
        if self.is_removed:
            return False
        if self.old in (None, "", [], {}) or self.old == self.new:
            return True
        was_over = self.new and OVER.fullmatch(str(self.old).lower())
        if was_over or self.flags(self.new, self.old):
            return True
        is_state = STATE.search(self.kind) or self.old is False
        if is_state and not self.ends():
            return True
        if isinstance(self.old, str) and isinstance(self.new, str):
            return self.old in self.new
        return False


def resets_state(change: Change) -> bool:
    """Return whether a state that was reached, or an end, becomes one in which records begin."""
    if not STATE.search(change.kind):
        return False
    old, new = str(change.old).lower(), str(change.new).lower()
    was_reached = REACHED.fullmatch(old) or OVER.fullmatch(old)
    return bool(was_reached and BEGUN.fullmatch(new))


def begins_anew(change: Change) -> bool:
    """Return whether a state other than an end becomes one in which records begin."""
    old, new = str(change.old).lower(), str(change.new).lower()
    is_state = STATE.search(change.kind) and change.old not in (None, "")
    is_earlier = BEGUN.fullmatch(old) or OVER.fullmatch(old)
    return bool(is_state and BEGUN.fullmatch(new) and not is_earlier)


def _key(kind: str, value: Any) -> tuple[str, str]:
    return kind, repr(value)


def _find_renamed(changes: Iterable[Change]) -> set[Place]:
    """Return the places of texts that went where another name of the same record or folder got them."""
    arrived = set()
    for change in changes:
        if change.old is None and isinstance(change.new, str):
            arrived.add((change.place[:-1], change.new))
    renamed = set()
    for change in changes:
        is_text = isinstance(change.old, str) and change.old != ""
        if change.new is None and is_text and not is_element(change.place):
            if (change.place[:-1], change.old) in arrived:
                renamed.add(change.place)
    return renamed


class Step:
    """All changes between two snapshots except those of clocks.

    Attributes:
        data: The two snapshots.
        old: The values of the first snapshot, by place.
        new: The values of the second snapshot, by place.
        records: The places of the first snapshot's records.
        changes: The changes.
        lost: Changes whose old value exists nowhere any more.
        moved: Changes whose value exists at another place, or did before.
    """

    def __init__(self, before: Any, after: Any) -> None:
        self.data = (before, after)
        self.old = dict(iterate_values(before))
        self.new = dict(iterate_values(after))
        self.records: set[Place] = set()
        for place in self.old:
            self.records.add(place[: -2 if is_element(place) else -1])
        self.records.discard(())
        self.changes = list(self._list_changes())
        self.lost: list[Change] = []
        self.moved: list[Change] = []
        self._sort_changes()

    @cached_property
    def keys(self) -> dict[tuple[Place, str], set[str]]:
        """The keys of the first snapshot's records, by their kind."""
        keys: dict[tuple[Place, str], set[str]] = {}
        for place in self.old:
            for record in list_records(place):
                keys.setdefault(kind_of(record), set()).add(key_of(record))
        return keys

    def _list_changes(self) -> Iterator[Change]:
        remaining = set()
        for place in self.new:
            for length in range(1, len(place) + 1):
                remaining.add(place[:length])
        for place in sorted(self.old.keys() | self.new.keys()):
            old = self.old.get(place)
            new = self.new.get(place)
            if is_same(old, new) or any(map(CLOCK.search, place)):
                continue
            record = place if is_element(place) else place[:-1] or place
            is_empty = self.new.get(record) == {}
            is_gone = place in self.old and (record not in remaining or is_empty)
            yield Change(place, old, new, is_gone)

    def _sort_changes(self) -> None:
        """Find changes whose values moved, and those whose values were lost."""
        arrived: Counter[tuple[str, str]] = Counter()
        departed = set()
        for change in self.changes:
            if change.new is not None:
                arrived[_key(change.kind, change.new)] += 1
            if change.old is not None:
                departed.add(_key(change.kind, change.old))
        renamed = _find_renamed(self.changes)
        for change in self.changes:
            old_key = _key(change.kind, change.old)
            if change.place in renamed:
                self.moved.append(change)
                continue
            if not change.keeps():
                # Another record in the same state has not taken it over from one that stays
                may_move = change.is_removed or not STATE.search(change.kind)
                if arrived[old_key] and may_move:
                    arrived[old_key] -= 1
                    self.moved.append(change)
                    continue
                self.lost.append(change)
            if _key(change.kind, change.new) in departed:
                self.moved.append(change)

    def within(self, change: Change) -> bool:
        """Return whether a change happened in a record that existed before."""
        longest = len(change.place) - 1
        if change.is_removed:
            longest -= 1
        for length in range(1, longest + 1):
            if change.place[:length] in self.records:
                return True
        return False

    def __str__(self) -> str:
        before, after = self.data
        kinds = {change.place[0] for change in self.changes}
        added = kinds - before.keys()
        removed = kinds - after.keys()
        parts = []
        for verb, names in (
            ("added", added),
            ("removed", removed),
            ("changed", kinds - added - removed),
        ):
            if names:
                parts.append(f"{verb} {', '.join(sorted(names))}")
        return ", ".join(parts)


def format_changes(changes: Iterable[Change]) -> str:
    """Return the places of the first few changes."""
    places: list[str] = []
    for change in changes:
        place = ".".join(part for part in change.place if part[:2] != "[]")
        if place not in places:
            places.append(place)
    text = ", ".join(places[:SHOWN])
    if len(places) > SHOWN:
        text += f" and {len(places) - SHOWN} more"
    return text


def find_changed_places(before: Any, after: Any) -> str:
    """Return the places of the first few values that differ, those of clocks too."""
    old = dict(iterate_values(before))
    new = dict(iterate_values(after))
    changes = []
    for place in sorted(old.keys() | new.keys()):
        is_kept = (place in old) == (place in new)
        if not is_kept or not is_same(old.get(place), new.get(place)):
            changes.append(Change(place, old.get(place), new.get(place)))
    return format_changes(changes)


def _infer_behavior(first: Step, second: Step) -> str:
    """Return the behavior that is true of two equal calls."""
    if any(change.is_removed for change in first.lost):
        return "action" if second.changes else "delete"
    if any(change.place[0] in first.data[0] for change in first.changes):
        if not second.changes:
            return "put"
        return "update" if first.lost else "append"
    if first.changes:
        return "create" if second.changes else "ensure"
    return "action" if second.changes else "read"


def describe_calls(first: Step, second: Step, declared: str) -> str:
    """Return what two equal calls did, and which behavior would be true of them.

    Args:
        first: The changes of the first call.
        second: The changes of the second call.
        declared: The declared behavior.
    """
    first_text = str(first) or "changed nothing"
    second_text = str(second) or "changed nothing more"
    text = f"a call {first_text}, a second one {second_text}"
    behavior = _infer_behavior(first, second)
    if behavior != declared:
        text += f"; the behavior {behavior!r} would be true"
    return text

"""What a delete removed that its arguments do not select.

An argument selects records where one of them has its value: as the key, or in a field of the same name.
"""

import re
from collections.abc import Collection, Mapping
from typing import Any

from ..changes import (
    Change,
    Place,
    Step,
    is_element,
    key_of,
    kind_of,
    list_records,
    parse_date,
)
from ..rules import Tool

# Words for a limit: what is removed lies on one side of the argument
LIMITING = re.compile(
    r"\b(after|before|clean\w*|expir\w*|keep\w*|old(er)?|obsolete|past|prun\w*|purg\w*|since|stale|through|trim\w*|until|up to)\b"
)
# Words for a part of a text, or a pattern
MATCHING = re.compile(
    r"\b(begin\w*|contain\w*|glob|like|match\w*|pattern|prefix|query|regex|search\w*|suffix|wildcards?|with)\b"
)
# How the arguments are called that limit by time, and on which side the records are
UPPER_LIMIT = re.compile("before|older|until")
LOWER_LIMIT = re.compile("after|newer|since")
ZONE = re.compile(r":\d\d.*(Z|[+-]\d\d:?\d\d)$")
UNSET: tuple[Any, ...] = (None, "", [])


class Selection:
    """The records that the arguments of a delete select."""

    def __init__(
        self,
        tool: Tool,
        arguments: Mapping[str, Any],
        others: Collection[str],
        step: Step,
    ) -> None:
        """Read the values of the arguments.

        Args:
            tool: The tool.
            arguments: The arguments of the call.
            others: Those that may be the key of another record than the one that the call names.
            step: What the call did.
        """
        self.step = step
        words = f"{tool.name} {tool.wire.get('description') or ''}"
        self.words = words.lower().replace("_", " ")
        self.values: dict[str, set[str]] = {}
        self.texts: set[str] = set()
        self.keys: set[str] = set()
        for name, value in arguments.items():
            fields = value if isinstance(value, Mapping) else {name: value}
            for field, content in fields.items():
                texts = _list_texts(content)
                if not texts:
                    continue
                self.values.setdefault(field, set()).update(texts)
                self.texts |= texts
                if name in others:
                    # A whole number may be an amount
                    self.keys |= {
                        text for text in texts if not text.lstrip("-").isdecimal()
                    }

    def list_unselected(self) -> list[Change]:
        """Return the removed values of records that an argument does not select."""
        unselected = []
        for change in self.step.changes:
            if change.old is None or not self._is_removal(change):
                continue
            is_other = self._has_other_key(change) or self._has_other_field(change)
            if is_other or self._is_beyond(change):
                unselected.append(change)
        return unselected + self._list_without_field()

    def _list_without_field(self) -> list[Change]:
        """Return the removed values of records that lack a field which an argument is called after, and others have."""
        found = []
        for field, values in self.values.items():
            for change in self.step.changes:
                place = (*change.place[:-1], field)
                if not change.is_removed or is_element(change.place):
                    continue
                if self.step.old.get(place) is not None or self._is_loose(field, ""):
                    continue
                if self._is_stored(place, values):
                    found.append(change)
        return found

    def _is_removal(self, change: Change) -> bool:
        return change.is_removed or is_element(change.place)

    def _has_other_key(self, change: Change) -> bool:
        """Tell whether a record is gone though an argument is the key of another one of its kind."""
        if not self.keys:
            return False
        for record in list_records(change.place):
            if key_of(record) in self.texts:
                continue
            if not self.keys.isdisjoint(self.step.keys.get(kind_of(record), set())):
                return True
        return False

    def _has_other_field(self, change: Change) -> bool:
        """Tell whether a removed record has another value in the field that an argument is called after."""
        field = change.place[-1]
        values = self.values.get(field)
        if not values or is_element(change.place) or str(change.old) in values:
            return False
        is_loose = self._is_loose(field, change.old)
        return not is_loose and self._is_stored(change.place, values)

    def _is_beyond(self, change: Change) -> bool:
        """Tell whether all times of a removed record are on the other side of a limit in time."""
        if not change.is_removed:
            return False
        for name, values in self.values.items():
            limit, *more = values
            moment = parse_date(limit)
            if moment is None or more:
                continue
            times = self._list_times(change.place[:-1], _form_of(limit))
            if times and UPPER_LIMIT.search(name) and min(times) > moment:
                return True
            if times and LOWER_LIMIT.search(name) and max(times) < moment:
                return True
        return False

    def _list_times(self, record: Place, form: tuple[bool, bool]) -> list[float]:
        """Return the times that the fields of a record state in a form."""
        times = []
        for place, value in self.step.old.items():
            moment = parse_date(value) if place[:-1] == record else None
            if moment is not None and _form_of(value) == form:
                times.append(moment)
        return times

    def _is_loose(self, name: str, value: object) -> bool:
        """Tell whether an argument selects more than equal values, by the words for it."""
        words = f"{self.words} {name.replace('_', ' ')}"
        if isinstance(value, str) and MATCHING.search(words):
            return True
        return bool(LIMITING.search(words))

    def _is_stored(self, field: Place, values: set[str]) -> bool:
        """Tell whether a record of the same kind has one of some values in the same field."""
        record = field[:-1]
        if not record:
            return False
        for place, value in self.step.old.items():
            is_same_field = len(place) > 1 and place[-1] == field[-1]
            if is_same_field and str(value) in values:
                if kind_of(place[:-1]) == kind_of(record):
                    return True
        return False


def _list_texts(value: object) -> set[str]:
    """Return the texts of a plain value, or of a list of these; none for anything else."""
    items = value if isinstance(value, list) else [value]
    is_plain = all(isinstance(item, str | int | float) for item in items)
    if value in UNSET or not is_plain:
        return set()
    return {str(item) for item in items}


def _form_of(time: str) -> tuple[bool, bool]:
    """Return whether a time has hours, and whether it has a zone: only times of one form can be compared."""
    return ":" in time, ZONE.search(time) is not None

"""What the snapshots of a call and its repetition show to be untrue of a tool's hints."""

import re
import unicodedata
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from ..cases import Variant, is_filter
from ..changes import (
    EVENT,
    Change,
    Place,
    Step,
    begins_anew,
    find_reordered,
    format_changes,
    is_element,
    is_now,
    is_same,
    iterate_values,
    key_of,
    kind_of,
    list_records,
    resets_state,
)
from ..rules import Tool
from ..tool_table import find_record, get_singular
from .problems import Problem
from .selection import Selection

KEEPS = ("create", "ensure", "append", "update", "put")
# Behaviors that may change the record that the call names alone
NAMING = ("update", "append", "put", "delete")
MAY_RESTATE = ("update", "put")
NOTHING: tuple[Any, ...] = (None, "", [], {})  # arguments that name no record
EMPTY: tuple[Any, ...] = ([], {})
RESET: tuple[Any, ...] = ("", 0, False)  # values as which a field begins
# Fields in which the records of one kind depend on each other: their order, and numbers of their parts
ORDER = re.compile("index|number|order|position|priority|rank|seq|slot|sort")
COUNT = re.compile("count|items|quota|remaining|size|sum|total|used")
GROWING = re.compile("bytes|chars|length|lines|words")  # numbers of a text's parts
COUNTERS = re.compile("_?(counters?|counts?|sequences?|totals?)")  # tables of numbers
# An argument other than an ID that a record is found by
NATURAL_KEY = re.compile(
    "(barcode|code|domain|e_?mail|handle|isbn|key|login|path|phone|reference|serial|sku|slug|ur[il]|username)$"
)
REPEATS = 51  # calls that show whether a tool keeps a few records only


@dataclass(frozen=True)
class Judge:
    """Judges what a tool did by what it declares.

    Attributes:
        tool: The tool as it is served.
        behavior: Its declared behavior.
        truth: What its policy says is true of it.
        believed: Whether an exception to `destructive` is believed.
        tables: tables.json.
    """

    tool: Tool
    behavior: str
    truth: Mapping[Any, bool]
    believed: bool
    tables: Mapping[str, Any]

    def find_names(self, arguments: Mapping[str, Any], data: Any) -> list[str]:
        """Return the parameters that name the record: IDs, else those whose values are keys of the data, else by name."""
        names = [name for name in self.tool.parameters if name in arguments]
        own_id = f"{find_record(self.tool.name, self.tables)}_id"
        # also where its first word is no verb that the tables know: animal_id of class_animal
        last_ids = []
        for name in names:
            if name.endswith("_id") and f"{self.tool.name}_id".endswith(f"_{name}"):
                last_ids.append(name)
        for name in (own_id, *last_ids, "id"):
            if name in names:
                return [name]
        ids = [name for name in names if re.search("_ids?$", name)]
        if ids:
            return ids
        keyed = self._find_keyed(names, arguments, data)
        for word in self.tables["identities"]:
            for name in (word, f"{word}s"):
                if name in (keyed or names):
                    return self._complete_names(name, keyed, arguments, data)
        if keyed:
            return keyed
        places = [place for place, _ in iterate_values(data)]
        keys = _collect_keys(places)
        return [name for name in names if _is_key(arguments[name], keys)]

    def _complete_names(
        self, name: str, keyed: list[str], arguments: Mapping[str, Any], data: Any
    ) -> list[str]:
        """Return the parameters that name the record, or the records, where the name of one of them says so.

        Others that name records of the same kind do too, as the source and the target of a move. Where no record has the
        value, since it is a new name, the parameter that a record is found by names it.
        """
        values = dict(iterate_values(data))
        if name in keyed:
            kinds = _find_kinds_of(arguments[name], values)
            return [
                other
                for other in keyed
                if other == name or kinds & _find_kinds_of(arguments[other], values)
            ]
        if self.behavior in NAMING and not _is_stored(name, arguments[name], values):
            for other, value in arguments.items():
                if _is_stored(other, value, values):
                    return [other]
        return [name]

    def _find_keyed(
        self,
        names: list[str],
        arguments: Mapping[str, Any],
        data: Any,
    ) -> list[str]:
        """Return the parameters whose values are keys of records."""
        places = [place[:-1] for place, _ in iterate_values(data)]
        records = _collect_keys(places)
        keyed = []
        for name in names:
            value = arguments[name]
            items = value if isinstance(value, list) else [value]
            keys = records
            if items and all(type(item) is int for item in items):
                keys = _collect_numbers(get_singular(name), places)
                items = list(map(str, items))
            if items and all(_is_key(item, keys) for item in items):
                keyed.append(name)
        return keyed

    def find_untruth(
        self,
        variant: Variant,
        first: Step,
        repeat: Step,
        story: str,
        refused: str,
    ) -> Problem | None:
        """Return what two calls of a tool that writes have shown to be untrue, or nothing.

        Args:
            variant: The case.
            first: What the first call did.
            repeat: What the second one did.
            story: Both in words.
            refused: How a call was refused, or nothing.
        """
        if self._prepares_nothing_to_lose(variant, first):
            text = "it may lose what is there, but arrange() prepares nothing to lose"
            return Problem("probe-arranged", text)
        loss = self._find_loss(variant, first, repeat, story)
        if loss is None and self.behavior in NAMING:
            loss = self._find_unnamed(variant, first, story)
        if loss is None and self.behavior == "delete":
            loss = self._find_unselected(variant, first, story)
            loss = loss or self._find_unfiltered(variant, first)
        if loss is not None:
            return loss
        if variant.has_other_version and first.changes:
            result = "refused" if refused else "accepted"
            return Problem("version-proven", f"it was {result}, and {first}")
        if self.truth["idempotent"] and not variant.repeat_arguments:
            if problem := self.find_repeated(repeat, "a second call", f": {story}"):
                return problem
        return self._find_other_behavior(variant, first, story, refused)

    def find_repeated(
        self, repeat: Step, calls: str = "repeated calls", story: str = ""
    ) -> Problem | None:
        """Return that a repeated call changed something more, or nothing.

        Args:
            repeat: What it did.
            calls: The call, as the message names it.
            story: What all calls did.
        """
        places = "" if self._only_moments(repeat) else format_changes(repeat.changes)
        if not repeat.changes:
            place = find_reordered(*repeat.data)
            places = f"the order of {'.'.join(place)}" if place else ""
        if not places:
            return None
        text = f"it says idempotent, but {calls} changed {places}{story}"
        return Problem("idempotent-proven", text)

    def _only_moments(self, step: Step) -> bool:
        """Tell whether the only changes are times of this very moment, not of an event that happens once."""
        for change in step.changes:
            was_moment = change.old is None or is_now(change.old)
            if not was_moment or not is_now(change.new):
                return False
            if EVENT.search(change.kind):
                return False
        return True

    def _prepares_nothing_to_lose(self, variant: Variant, first: Step) -> bool:
        """Tell whether the author's case has no data that the tool could overwrite."""
        may_restate = self.truth["destructive"] and self.behavior in MAY_RESTATE
        return may_restate and not variant.name and not first.old

    def _find_other_behavior(
        self, variant: Variant, first: Step, story: str, refused: str
    ) -> Problem | None:
        """Return that the changes are those of another behavior, or nothing."""
        has_removed_record = _has_removed_record(first.lost, first)
        is_added = False
        for change in first.changes:
            if change.old is None and change.new not in EMPTY:
                is_added = True
        if self.behavior in KEEPS and has_removed_record and not is_added:
            return Problem("behavior-proven", f"it says {self.behavior}, but {story}")
        named = self._name_places(variant, first)
        is_fewer = variant.names_fewer and not refused
        has_removed = bool(variant.name) and not is_fewer
        for change in first.changes:
            if change.ends() and not named.empties(change):
                has_removed = True
        if self.behavior == "delete" and not has_removed:
            remedy = "fix its body, or what arrange() prepares"
            did = str(first) or "changed nothing"
            text = f"it says delete, but a call {did}, and removed nothing"
            return Problem("behavior-proven", text, remedy)
        return None

    def find_missing(self, plain: Variant, first: Step) -> Problem | None:
        """Return that a tool ensured nothing: its call added nothing, and no record has what it names.

        Args:
            plain: The author's first case.
            first: What its first call did.
        """
        if self.behavior != "ensure" or first.changes:
            return None
        present = set()
        for place, value in first.old.items():
            present |= {_simplify(part) for part in (*place, value)}
            present |= {_simplify(key_of((part,))) for part in place}
        named = {}
        for name in plain.identities or plain.arguments:
            if isinstance(plain.arguments.get(name), str):
                named[name] = plain.arguments[name]
        keys = [*named.values()]
        for name, value in plain.arguments.items():
            if NATURAL_KEY.search(name) and isinstance(value, str):
                keys.append(value)
        if not named or any(_simplify(value) in present for value in keys):
            return None
        shown = ", ".join(f"{name}={value!r}" for name, value in named.items())
        text = f"it says ensure, but added nothing, and there is no record with {shown}"
        return Problem("behavior-proven", text)

    def find_pruned(self, first: Step, later: Step) -> Problem | None:
        """Return that further calls removed what was there, or nothing.

        Args:
            first: What the first calls did.
            later: What many more did.
        """
        if self.truth["destructive"] or self.believed:
            return None
        grown = set()
        for change in first.changes:
            if _is_longer(change):
                grown.add(change.place)
        removals = []
        for change in first.lost + later.lost:
            is_text = isinstance(change.old, str) and isinstance(change.new, str)
            if change.is_removed or (is_text and change.place in grown):
                removals.append(change)
        if not removals:
            return None
        text = f"it says not destructive, but {REPEATS} more calls removed {format_changes(removals)}"
        return Problem("not-destructive-proven", text)

    def find_believed(self, first: Step, repeat: Step) -> list[Change]:
        """Return what a tool lost whose exception to `destructive` is believed."""
        if self.truth["destructive"] or not self.believed:
            return []
        return self._find_losses(first, repeat)

    def find_widened(
        self,
        variant: Variant,
        step: Step,
        plain: Variant,
        plain_step: Step,
    ) -> Problem | None:
        """Return that a call changed more records than the author's, though it names none.

        Args:
            variant: The case.
            step: What its first call did.
            plain: The author's first case.
            plain_step: What its first call did.
        """
        left_out = []
        for name, value in plain.arguments.items():
            is_empty = variant.arguments.get(name) in NOTHING
            if name not in variant.arguments or (is_empty and value not in NOTHING):
                left_out.append(name)
        if self.behavior not in NAMING or not left_out:
            return None
        filters = [*plain.identities]
        if not filters and self.behavior == "delete":
            filters = [*plain.arguments]
        if any(variant.arguments.get(name) not in NOTHING for name in filters):
            return None
        records = _list_changed_records(step, variant.loses)
        plain_records = _list_changed_records(plain_step)
        if not filters or len(records) <= len(plain_records):
            return None
        verb = "removed" if self.behavior == "delete" else "changed"
        places = format_changes(step.changes)
        text = f"it {verb} more than with it: {places}"
        remedy = f"require {left_out[0]}, or return Case(..., loses=[...]) from arrange() where that is meant"
        return Problem("named-record-proven", text, remedy)

    def _find_loss(
        self,
        variant: Variant,
        first: Step,
        repeat: Step,
        story: str,
    ) -> Problem | None:
        if self.truth["destructive"]:
            return None
        losses = self._find_losses(first, repeat)
        losses += self._name_places(variant, first).list_reset_states()
        if self.behavior == "ensure":
            for change in first.changes:
                is_revived = change.flags(change.new, change.old)
                if resets_state(change) or is_revived:
                    losses.append(change)
        if self.behavior == "append":
            losses += [change for change in first.changes if begins_anew(change)]
        if not losses:
            return None
        is_whole = _has_removed_record(losses, first)
        if self.believed and not (self.behavior in KEEPS and is_whole):
            return self._find_dropped(variant, first, losses)
        remedy = "leave out destructive=False" if self.behavior == "action" else ""
        text = f"it says not destructive, but lost {format_changes(losses)}: {story}"
        return Problem("not-destructive-proven", text, remedy)

    def _find_dropped(
        self, variant: Variant, first: Step, losses: Iterable[Change]
    ) -> Problem | None:
        """Return that a call set a field of a record and dropped others, which no exception covers."""
        set_records = _find_set_records(variant, first)
        dropped, reset = [], []
        for change in losses:
            record = _record_of(change, first)
            if change.place[0] in variant.loses or record not in set_records:
                continue
            is_in_emptied_list = record != change.place[:-1]
            is_gone = change.new is None and not change.is_removed
            if is_in_emptied_list or is_gone or _is_omitted(variant, change):
                dropped.append(change)
            elif change.new in RESET:
                reset.append(change)
        if dropped:
            dropped += reset
        if not dropped or self.behavior not in MAY_RESTATE:
            return None
        key = dropped[0].place[0]
        text = f"it says not destructive, but dropped {format_changes(dropped)}, which the call does not set"
        remedy = f"keep the other fields, or return Case(..., loses=[{key!r}]) from arrange() where that is meant"
        return Problem("not-destructive-proven", text, remedy)

    def _find_losses(self, first: Step, repeat: Step) -> list[Change]:
        """Return the losses of a tool that declares none; a number that changes by the same step is a counter."""
        steps = {change.place: change.step for change in first.changes}
        counted = set()
        for change in repeat.changes:
            if change.step and change.step == steps.get(change.place):
                counted.add(change.place)
            is_amount = GROWING.search(change.kind) or COUNT.search(change.kind)
            if is_amount and isinstance(change.step, int) and change.step > 0:
                counted.add(change.place)
        for change in first.changes:  # the repetition may be refused
            if _is_counter(change):
                counted.add(change.place)
        losses = []
        for change in first.lost + repeat.lost:
            if change.place not in counted and self._is_loss(change):
                losses.append(change)
        return losses

    def _is_loss(self, change: Change) -> bool:
        """Tell whether the policy counts a lost value; overwriting, and elements of a list set anew, may not count."""
        if self.tables["destructive"] != "deletes":
            return True
        container = "".join(change.place[-2:-1])
        is_restated = self.behavior in MAY_RESTATE and container[:1] in ("[", "{")
        return change.is_removed and not is_restated

    def _name_places(self, variant: Variant, step: Step) -> "Named":
        names = [name for name in variant.identities if name in variant.arguments]
        record = find_record(self.tool.name, self.tables)
        return Named(self.behavior, variant, names, step, record)

    def _find_unselected(
        self, variant: Variant, step: Step, story: str
    ) -> Problem | None:
        """Return what a delete removed though its arguments select other records."""
        versions = self.tables["versions"]
        others = []
        for name in variant.arguments:
            if name not in variant.identities and name not in versions:
                others.append(name)
        selection = Selection(self.tool, variant.arguments, others, step)
        unselected = []
        for change in selection.list_unselected():
            if not variant.may_lose(change.place[0]):
                unselected.append(change)
        if not unselected:
            return None
        shown = ", ".join(
            f"{key}={value!r}" for key, value in variant.arguments.items()
        )
        key = unselected[0].place[0]
        text = f"it also removed {format_changes(unselected)}, which {shown} does not select: {story}"
        remedy = f"fix the body, or return Case(..., loses=[{key!r}]) from arrange() if the loss is intended"
        return Problem("named-record-proven", text, remedy)

    def _find_unfiltered(self, variant: Variant, step: Step) -> Problem | None:
        """Return what a delete removed though one of the arguments that name the record names none."""
        removed = []
        for change in step.changes:
            if change.is_removed and not variant.may_lose(change.place[0]):
                removed.append(change)
        if not variant.names_nothing or not removed:
            return None
        name = variant.varied
        value = variant.arguments.get(name)
        if not is_filter(name) or _is_stored(name, value, step.old):
            return None
        text = f"it removed {format_changes(removed)}, though no record has {name}={value!r}"
        remedy = "refuse what does not exist, or remove nothing"
        return Problem("named-record-proven", text, remedy)

    def _find_unnamed(self, variant: Variant, step: Step, story: str) -> Problem | None:
        """Return what an existing record lost or got that the call does not name."""
        named = self._name_places(variant, step)
        names = named.names
        unnamed = [change for change in step.changes if not named.allows(change)]
        if not unnamed or not (named.is_known() or variant.varied in names):
            return None
        shown_names = ", ".join(f"{name}={variant.arguments[name]!r}" for name in names)
        text = f"it also changed {format_changes(unnamed)}, which {shown_names} does not name: {story}"
        key = unnamed[0].place[0]
        remedy = f"fix the body, or return Case(..., loses=[{key!r}]) from arrange() if the loss is intended"
        return Problem("named-record-proven", text, remedy)


def _is_counter(change: Change) -> bool:
    """Tell whether a number of a table of counters became larger."""
    in_table = any(COUNTERS.fullmatch(part) for part in change.place[:-1])
    return in_table and isinstance(change.step, int) and change.step > 0


def _is_omitted(variant: Variant, change: Change) -> bool:
    """Tell whether a field belongs to an object that is an argument, and is not in it."""
    given = variant.arguments.get("".join(change.place[-2:-1]))
    return isinstance(given, dict) and change.place[-1] not in given


def _simplify(value: object) -> str:
    """Return the letters and digits of a value, without accents, in lower case, as a careful comparison may."""
    text = unicodedata.normalize("NFKD", str(value))
    return "".join(letter for letter in text.casefold() if letter.isalnum())


def _find_set_records(variant: Variant, step: Step) -> set[Place]:
    """Return the places of records of which a call set a field to one of its arguments."""
    texts = {str(value) for _, value in iterate_values(variant.arguments)}
    records = set()
    for change in step.changes:
        if str(change.new) in texts:
            records.add(change.place[:-1])
    return records


def _record_of(change: Change, step: Step) -> Place:
    """Return the record whose field was lost; the field may be a list that is empty now."""
    place = change.place
    if is_element(place) and step.new.get(place[:-2]) in EMPTY:
        return place[:-3]
    return place[:-1]


def _collect_keys(places: Iterable[Place]) -> set[str]:
    """Return all parts of some places, and of each the part after its last slash."""
    keys: set[str] = set()
    for place in places:
        for key in place:
            keys |= {key, key.rpartition("/")[2]}
    return keys


def _collect_numbers(kind: str, places: Iterable[Place]) -> set[str]:
    """Return the numbers that are keys in a container of a kind, as `messages` of `message`; others may be amounts."""
    numbers = set()
    for place in places:
        for container, key in pairwise(place):
            if key.isdecimal() and get_singular(container) == kind:
                numbers.add(key)
    return numbers


def _is_key(value: object, keys: Collection[str]) -> bool:
    return isinstance(value, str) and value in keys


def _find_kinds_of(key: object, places: Iterable[Place]) -> set[tuple[Place, str]]:
    """Return the kinds of the records that have a key."""
    kinds = set()
    for place in places:
        for length in range(1, len(place)):
            record = place[:length]
            if key_of(record) == str(key):
                kinds.add(kind_of(record))
    return kinds


def _is_stored(name: str, value: object, values: Mapping[Place, Any]) -> bool:
    """Tell whether a record has a value as its key, or in the field of that name."""
    text = str(value)
    for place, stored in values.items():
        is_key = any(key_of((part,)) == text for part in place[:-1])
        if is_key or (place[-1] == name and str(stored) == text):
            return True
    return False


def _compile(pattern: str, values: Collection[str]) -> re.Pattern[str]:
    """Return what finds one of some identities in a key; `VALUE` in the pattern stands for it."""
    parts = [pattern.replace("VALUE", re.escape(value)) for value in values]
    return re.compile("|".join(parts) or "(?!)")


class Named:
    """The places of existing records that a call's arguments name, and so may change."""

    def __init__(
        self,
        behavior: str,
        variant: Variant,
        names: list[str],
        step: Step,
        record: str,
    ) -> None:
        """Find the places that the arguments name, and those of the records below them."""
        self.behavior = behavior
        self.variant = variant
        self.names = names
        self.step = step
        self.named_values: set[str] = set()
        for name in names:
            value = variant.arguments[name]
            items = value if isinstance(value, list) else [value]
            self.named_values |= {str(item) for item in items}
        self.word = _compile("(^|[/:])VALUE($|[/:])", self.named_values)
        self.inner = _compile(r"(?<!\w)VALUE(?!\w)", self.named_values)
        self.file = _compile(r"(^|[/:])VALUE\.[A-Za-z]\w*$", self.named_values)
        self.stored = {str(value) for value in step.old.values()}
        self.texts = set()
        self.other_ids = set()
        for name, value in variant.arguments.items():
            if name in names:
                continue
            self.texts.add(str(value))
            if name.endswith("_id"):
                self.other_ids.add(str(value))
        self.owned = set()
        self.children = set()
        keys = {"id", *names, *map(get_singular, names)}
        references = {record}
        for key in keys:
            references.add(f"{record}_{key}")
            references.add(re.sub("_ids?$", "", key))
        for place, value in step.old.items():
            if str(value) not in self.named_values:
                continue
            if place[-1] in keys:
                self.owned.add(place[:-1])
            elif place[-1] in references:
                self.children.add(place[:-1])
        self.kinds: set[tuple[Place, str]] = set()
        self.references: set[str] = set()
        self._find_kinds()

    def _find_kinds(self) -> None:
        """Find where the records of the same kind are, and to what the named record refers."""
        values = [*self.step.old.items(), *self.step.new.items()]
        for place, value in values:
            for length in range(1, len(place) + 1):
                record = place[:length]
                is_named = self.word.search(record[-1])
                if is_named or record in self.owned:
                    self.kinds.add(kind_of(record))
                    self.references.add(str(value))
                elif key_of(record) in self.other_ids:
                    self.references.add(str(value))

    def is_known(self) -> bool:
        """Tell whether the record that the call names is there."""
        if self.owned:
            return True
        return any(self._names_place(place) for place in self.step.old)

    def _names_place(self, place: Place) -> bool:
        """Tell whether a part of a place is an argument, also as a file to which no record refers."""
        for part in place:
            if self.word.search(part):
                return True
            if self.file.search(part) and part not in self.stored:
                return True
        return False

    def list_reset_states(self) -> list[Change]:
        """Return the states of records that the call does not name which were reached, and begin anew without the named one's."""
        own, others = [], []
        for change in self.step.changes:
            if self._is_own(change):
                own.append((change.kind, change.new))
            elif resets_state(change):
                others.append(change)
        if not self.named_values:
            return []
        return [change for change in others if (change.kind, change.new) not in own]

    def _is_own(self, change: Change) -> bool:
        """Tell whether a change is in the record that the call names, not in one that refers to it."""
        if any(map(self._names_place, self.step.old)):
            return self._names_place(change.place)
        stems = {change.place[:n] for n in range(1, len(change.place) + 1)}
        return not self.owned.isdisjoint(stems)

    def _is_in_sibling(self, change: Change) -> bool:
        """Tell whether a value changed in another record of the same kind, to which the named one does not refer."""
        if change.old is None or change.new is None or is_element(change.place):
            return False
        for length in range(1, len(change.place)):
            record = change.place[:length]
            if kind_of(record) in self.kinds:
                return key_of(record) not in self.references
        return False

    def _depends_on_others(self, change: Change) -> bool:
        """Tell whether a value may follow from those of other records: it moved there, or counts them."""
        is_in_sibling = self._is_in_sibling(change)
        if change in self.step.moved:
            is_flag = isinstance(change.old, bool)  # that one record has at a time
            return not is_in_sibling or is_flag or bool(ORDER.search(change.kind))
        others = [other for other in self.step.changes if other.kind != change.kind]
        most = max(1, len(others))
        is_count = isinstance(change.step, int) and abs(change.step) <= most
        if is_count and is_in_sibling:
            return bool(ORDER.search(change.kind) or COUNT.search(change.kind))
        return is_count

    def allows(self, change: Change) -> bool:
        """Tell whether the call may have made a change."""
        if self._removes_a_neighbor(change) or self._is_missed(change):
            return False
        if self.behavior == "delete" and self._is_overwritten(change):
            return False
        if self._is_beside(change) and not self._depends_on_others(change):
            return False
        place = change.place
        stems = {place[:length] for length in range(1, len(place) + 1)}
        is_new_record = change.old is None and not self.step.within(change)
        is_in_children = not self.children.isdisjoint(stems)
        return bool(
            self._names_place(place)
            or self._is_composed(place)
            or self._refers_now(change)
            or is_new_record
            or str(change.old) in self.named_values
            or not self.owned.isdisjoint(stems)
            or (change.is_removed and is_in_children)
            or self.variant.may_lose(place[0])
            or self._depends_on_others(change)
            or change.old in EMPTY
            or change.new in EMPTY
        )

    def _is_composed(self, place: Place) -> bool:
        """Tell whether a key is made of the record's and of another argument, as `7-report.pdf`."""
        for part in place:
            rest, count = self.inner.subn("", part)
            has_other = any(len(text) > 1 and text in rest for text in self.texts)
            is_alone = "" in self.texts and re.search(r"\w", rest) is None
            if count and (has_other or is_alone):
                return True
        return False

    def _refers_now(self, change: Change) -> bool:
        """Tell whether what another argument names, or what the named record refers to, refers to that record now."""
        if str(change.new) not in self.named_values:
            return False
        keys = {key_of((part,)) for part in change.place}
        others = self.other_ids | self.texts | self.references
        return not others.isdisjoint(keys)

    def _is_overwritten(self, change: Change) -> bool:
        """Tell whether a text of another record was lost for one that the named record had."""
        is_lost = isinstance(change.old, str) and change in self.step.lost
        if not is_lost or not change.new or change.is_removed:
            return False
        if self._names_place(change.place) or str(change.old) in self.named_values:
            return False
        for place, value in self.step.old.items():
            if self._names_place(place) and is_same(value, change.new):
                return True
        return False

    def _is_beside(self, change: Change) -> bool:
        """Tell whether a change is below one record that the call names, beside another one that it names there."""
        if len(self.names) < 2 or None in (change.old, change.new):
            return False
        if not self.named_values.isdisjoint({str(change.old), str(change.new)}):
            return False
        keys = self.named_values | self.texts
        for record in list_records(change.place):
            if key_of(record) not in keys and self._has_named_sibling(record):
                return True
        return False

    def _has_named_sibling(self, record: Place) -> bool:
        """Tell whether the call names another record of the same kind."""
        keys = self.step.keys.get(kind_of(record), set())
        return not self.named_values.isdisjoint(keys)

    def _is_missed(self, change: Change) -> bool:
        """Tell whether a record is gone that the call does not name, and to whose key records that stay refer."""
        if not change.is_removed or is_element(change.place):
            return False
        record = change.place[:-1]
        if not record or self._names_place(record):
            return False
        key = key_of(record)
        if key.isdecimal():  # other fields may have the same number
            return False
        fields = set()
        for place, value in self.step.old.items():
            if place[:-1] == record and str(value) == key:
                fields.add(place[-1])
        fields -= {"id", *self.names}
        for place, value in self.step.new.items():
            if place[-1] in fields and str(value) == key:
                return True
        return False

    def empties(self, change: Change) -> bool:
        """Tell whether a change empties the text that is the whole record, and so keeps the record."""
        is_record = len(change.place) == 1 or self.word.search(change.place[-1])
        return change.new == "" and bool(is_record)

    def _removes_a_neighbor(self, change: Change) -> bool:
        """Tell whether an element of a list is gone though the call names another one in it."""
        is_lost_element = change.is_removed and is_element(change.place)
        if self.behavior != "delete" or not is_lost_element:
            return False
        *container, element = change.place
        if element in self.texts:
            return False
        for place in self.step.old:
            if [*place[:-1]] == container and place[-1] in self.texts:
                return True
        return False


def _list_changed_records(step: Step, loses: Collection[str] = ()) -> set[Place]:
    """Return the places of the existing records that a call changed or removed."""
    records = set()
    for change in step.changes:
        if change.old is None or change.place[0] in loses:
            continue
        length = -2 if is_element(change.place) else -1
        records.add(change.place[:length])
    return records


def _has_removed_record(changes: Iterable[Change], step: Step) -> bool:
    """Tell whether a whole record is among what was lost."""
    return any(change.is_removed and not step.within(change) for change in changes)


def _is_longer(change: Change) -> bool:
    """Tell whether something was added to a text."""
    old, new = change.old, change.new
    if not isinstance(old, str) or not isinstance(new, str):
        return False
    return bool(old) and old in new and old != new

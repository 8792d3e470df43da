"""Values for the paths of reads, taken from the lists that other reads returned."""

import re
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote

from .reads import PLACEHOLDER

# How APIs call the identity of a record, the most usual first.
IDENTITIES = ("id", "uuid", "key", "name", "slug", "number", "login")
ID_SUFFIX = re.compile("_(id|uuid|identifier|key|name|slug)$")
# The last part of the path of a list that is sent with POST.
LIST_WORDS = re.compile(r"/(filter|search|query|list|find|lookup|paginate)$")


class Identities:
    """What the lists of an API hold, by their paths."""

    def __init__(self, values: Mapping[str, str]) -> None:
        """Begin with the values of the user, by the names of parameters."""
        self.values = values
        self.bodies: dict[str, Any] = {}
        self.records: list[Mapping[str, Any]] = []

    def learn(self, path: str, body: Any) -> None:
        """Take over what a path answered."""
        whole = path.rstrip("/")
        plain = LIST_WORDS.sub("", whole)
        if plain not in self.bodies or not whole.endswith(plain):
            self.bodies[plain] = body
        self.records.extend(_list_records(body))

    def fill(self, template: str) -> tuple[str, dict[str, Any]] | str:
        """Return a path with its values, and these by parameter; or the name of the one that is unknown.

        Args:
            template: A path with `{parameters}`.
        """
        path = ""
        end = 0
        values: dict[str, Any] = {}
        for match in PLACEHOLDER.finditer(template):
            name = match[1]
            path += template[end : match.start()]
            value = self.choose_value(name, path.rstrip("/"))
            if value is None:
                return name
            values[name] = value
            path += quote(str(value), safe="")
            end = match.end()
        return path + template[end:], values

    def choose_value(self, name: str, above: str) -> Any:
        """Return a value for a parameter of a path.

        Args:
            name: The parameter.
            above: The path in front of it.

        Returns:
            The value; None if none is known.
        """
        if name in self.values:
            return self.values[name]
        if above in self.bodies:
            value = _find_value(self.bodies[above], name)
            # The `id` of a record of another kind is no value here.
            if value is not None or name in IDENTITIES:
                return value
        for record in self.records:
            value = record.get(name)
            if _is_identity(value):
                return value
        return self._value_of_noun(name)

    def _value_of_noun(self, name: str) -> Any:
        """Return the identity of the first record in a list that the name of a parameter is about."""
        noun = ID_SUFFIX.sub("", name)
        if noun == name:
            return None
        plurals = {f"{noun}s", f"{noun}es", f"{noun.removesuffix('y')}ies"}
        for path, body in self.bodies.items():
            if path.rpartition("/")[2] in plurals:
                value = _find_value(body, name)
                if value is not None:
                    return value
        return None


def _find_value(body: Any, name: str) -> Any:
    """Return the first identity in the body of a list; None if it has none."""
    for record in _list_records(body):
        value = _find_identity(record, name)
        if value is not None:
            return value
    if isinstance(body, dict) and _is_table(body):
        return next(iter(body))
    if not isinstance(body, list) or not body:
        return None
    first = body[0]
    return first if isinstance(first, str | int) else None


def _list_records(body: Any) -> Iterator[Mapping[str, Any]]:
    """Yield the records of a list: its items, those under a key of a page, or the values of a table."""
    if isinstance(body, list):
        for item in body:
            if isinstance(item, dict):
                yield item
    elif isinstance(body, dict):
        lists: list[Any] = []
        for value in body.values():
            if isinstance(value, list):
                lists.append(value)
        if len(lists) == 1:
            yield from _list_records(lists[0])


def _is_table(body: Mapping[str, Any]) -> bool:
    """Whether an object is a table by identity: at least one value, and all of one type that holds data."""
    types = set(map(type, body.values()))
    return len(types) == 1 and types <= {dict, str}


def _find_identity(record: Mapping[str, Any], name: str) -> Any:
    """Return the identity of a record, under the name of a parameter or a usual one."""
    _, _, short = name.rpartition("_")
    for field in (name, short, *IDENTITIES):
        value = record.get(field)
        if _is_identity(value):
            return value
    return None


def _is_identity(value: Any) -> bool:
    if isinstance(value, bool) or value == "":
        return False
    return isinstance(value, str | int)

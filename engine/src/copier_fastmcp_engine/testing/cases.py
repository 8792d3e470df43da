"""The calls that prove a tool: those that its author arranges, and those that follow from them.

Standard library only: a probe imports `Case` from here, and the command reads probes without a server.
"""

import ast
import re
from collections.abc import (
    Awaitable,
    Callable,
    Collection,
    Iterator,
    Mapping,
    Sequence,
)
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from .rules import Tool, list_alternatives

Arguments = dict[str, Any]
FORMATS = {
    "date": "2031-02-03",
    "date-time": "2031-02-03T04:05:06Z",
    "uuid": f"{0:032}",
}
# What turns an identity into another one: in order before it, behind it, or one that does not exist
BEFORE, BEHIND, ABSENT = "0", "2", "9999"
# The place of the mark, as behind `note` in docs/note.txt
BEFORE_LAST_PART = "(?=[^/]*$)"
BEFORE_EXTENSION = r"(?=(\.[^/]*)?$)"
LARGE = 1000  # more than the limits that a tool sets itself
SMALL = (-1, 0)  # less than a tool may expect
UNLIKE = "qjz"  # a text that is in no other one, and in which no other one is
WILDCARDS = ("*", "%")  # what names everything in patterns
STRANGE = " ÄÖ "  # a text with spaces around it, in upper case, and not in ASCII
LONG = "x" * 2000
LIMITS = ("enum", "format", "maxLength", "minLength", "pattern")  # of a text
UUID = re.compile("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
TARGET = re.compile(
    "new_|into_|to_|target|dest"
)  # how parameters begin that name where something goes
# Parameters whose empty text names the root
FOLDER = re.compile("dir|file|folder|path|prefix|uri|url")


@dataclass(frozen=True)
class Case:
    """One call, and what it may lose; `arrange` returns arguments, a Case, or a list of these.

    Attributes:
        arguments: What the call gets.
        loses: Keys of the snapshot, other than the record that it names, that it may change or remove.
        sibling: An async function of the backend that adds another record of the same kind. Not needed where `arrange`
            has a parameter with a default for the identity, or where each of its calls makes a new record.
        identity: The parameters that name the record. Not needed where their names or the data show them.
    """

    arguments: Arguments
    loses: Collection[str] = ()
    sibling: Callable[[Any], Awaitable[Any]] | None = None
    identity: str | Sequence[str] = ()

    def __post_init__(self) -> None:
        """Raise TypeError where the identity is no argument."""
        for name in self.identities:
            if name not in self.arguments:
                raise TypeError(f"identity {name!r} of a Case is not in its arguments")

    @property
    def identities(self) -> list[str]:
        """The parameters that its author declares to name the record."""
        if isinstance(self.identity, str):
            return [self.identity]
        return [*self.identity]


@dataclass(frozen=True)
class Variant:
    """A case as it is run.

    Attributes:
        arguments: What the first call gets.
        name: What differs from what the author arranged; empty where nothing does.
        varied: The parameter whose value is not the one that the author arranged, the first one of combined cases; empty
            where all optional ones differ, or the second call's alone.
        repeat_arguments: What the second call gets, where that is something else.
        loses: As in `Case`.
        identities: The parameters that name the record.
        is_at_edge: Whether a second call proves nothing more.
        names_nothing: Whether its identity is that of no record, so that it may change none.
        names_fewer: Whether it names fewer of the records that are there, or one that is not there before them.
        has_other_version: Whether its version is not the record's.
    """

    arguments: Arguments
    name: str = ""
    varied: str = ""
    repeat_arguments: Arguments | None = None
    loses: Collection[str] = ()
    identities: Collection[str] = ()
    is_at_edge: bool = False
    names_nothing: bool = False
    names_fewer: bool = False
    has_other_version: bool = False

    def may_lose(self, key: str) -> bool:
        """Tell whether it may lose what is at a key of the snapshot, or below one of its own."""
        return any(f"{key}/".startswith(f"{lost}/") for lost in self.loses)


def parse_probe(path: Path) -> dict[str, Any]:
    """Return what a probe assigns and defines, without running it.

    Returns:
        By name: plain values as they are, the text of everything else.
    """
    definitions: dict[str, Any] = {}
    if not path.exists():
        return definitions
    for node in ast.parse(path.read_bytes()).body:
        match node:
            case ast.AsyncFunctionDef(name=name):
                definitions[name] = ast.unparse(node)
            case ast.Assign(targets=[ast.Name(name)], value=value) | ast.AnnAssign(
                ast.Name(name), value=ast.expr() as value
            ):
                try:
                    definitions[name] = ast.literal_eval(value)
                except ValueError:
                    definitions[name] = ast.unparse(value)
    return definitions


def list_cases(arranged: object) -> list[Case]:
    """Return the cases that `arrange` returned.

    Raises:
        TypeError: It returned something else.
    """
    returned: list[Any] = arranged if isinstance(arranged, list) else [arranged]
    cases = []
    for item in returned:
        case = item if isinstance(item, Case) else Case(item)
        cases.append(case)
    are_valid = all(isinstance(case.arguments, dict) for case in cases)
    if not cases or not are_valid:
        raise TypeError(
            "arrange() has to return its arguments, a Case, or a list of these"
        )
    return cases


def sample_values(schema: Mapping[str, Any]) -> Iterator[Any]:
    """Yield some values that a schema allows: every choice, or one or two of its type."""
    yield from schema.get("enum", ())
    for alternative in list_alternatives(schema)[1:]:
        yield from sample_values(alternative)
    kind = schema.get("type") if "enum" not in schema else ""
    if kind == "boolean":
        yield from (True, False)
    elif kind in ("integer", "number"):
        minimum = schema.get("minimum", 1)
        maximum = schema.get("maximum", 9)
        for number in (2, 3, minimum, maximum):
            if minimum <= number <= maximum:
                yield number
    elif kind == "string" and "pattern" not in schema:
        shortest = schema.get("minLength", 0)
        longest = schema.get("maxLength")
        text = "probe".ljust(shortest, "e")[:longest]
        yield FORMATS.get(schema.get("format", ""), text)
    elif kind == "array":
        for item in sample_values(schema.get("items", {})):
            yield [item]
    elif kind == "object":
        yield from _sample_objects(schema)


def _sample_objects(schema: Mapping[str, Any]) -> Iterator[Any]:
    """Yield an object with the required properties of a schema, or with a name of its own."""
    properties = schema.get("properties", {})
    names = schema.get("required", ())
    if not properties:
        values = schema.get("additionalProperties")
        properties = {"probe": values if isinstance(values, dict) else {}}
        names = ["probe"]
    value = {}
    for name in names:
        samples = sample_values(properties.get(name, {}))
        value[name] = next(samples, "probe")
    if value:
        yield value


def other_identity(value: Any, mark: str) -> Any:
    """Return another identity of the same kind, in order before a value or behind it; any other value as it is."""
    if type(value) is int:  # a boolean is none
        return value - 1 if mark == BEFORE else int(f"{value}{mark}")
    if not isinstance(value, str):
        return value
    if UUID.fullmatch(value):
        return value[: -len(mark)] + mark
    place = BEFORE_LAST_PART if mark == BEFORE else BEFORE_EXTENSION
    return re.sub(place, mark, value, count=1)


class Variants:
    """The variants of one case: a second record, then each argument changed by itself, the surest first."""

    def __init__(
        self,
        tool: Tool,
        behavior: str,
        case: Case,
        names: list[str],
        versions: Collection[str],
    ) -> None:
        """Prepare the variants of a case.

        Args:
            tool: The tool as it is served.
            behavior: What it declares.
            case: The first one that its author arranges.
            names: The parameters that name the record.
            versions: Names of parameters that hold a version.
        """
        self.tool = tool
        self.behavior = behavior
        self.arguments = case.arguments
        self.is_declared = bool(case.identities)
        self.names = names
        self.versions = versions
        self.required = tool.wire["inputSchema"].get("required", ())
        self.plain = Variant(
            case.arguments,
            "a second record",
            loses=case.loses,
            identities=names,
        )
        self.unsure: list[Variant] = []

    def __iter__(self) -> Iterator[Variant]:
        if self.names and self.behavior != "read":
            yield self.plain
        for name, schema in self.tool.parameters.items():
            yield from self._vary_parameter(name, schema)
        for name, value in self.arguments.items():
            yield from self._vary_identity(name, value)
        yield from self.unsure
        for name in self.names:
            yield from self._vary_absent(name)
        for name, schema in self.tool.parameters.items():
            yield from self._vary_extremes(name, schema)
        yield from self._vary_all()

    def _vary(self, name: str, value: Any, title: str = "") -> Variant:
        text = str(value).lower() if isinstance(value, bool) else repr(value)
        arguments = self.arguments | {name: value}
        return replace(
            self.plain,
            arguments=arguments,
            name=title or f"{name}={text}",
            varied=name,
        )

    def _vary_parameter(
        self, name: str, schema: Mapping[str, Any]
    ) -> Iterator[Variant]:
        """Yield variants with another value of one parameter, or without it; keep those of doubtful value for last."""
        is_passed = name in self.arguments
        old = self.arguments.get(name, schema.get("default"))
        changed = []
        for value in sample_values(schema):
            # True equals 1
            is_other_kind = isinstance(value, bool) != isinstance(old, bool)
            if value != old or is_other_kind:
                changed.append(self._vary(name, value))
        if name not in self.names and _is_choice(schema):
            yield from changed
        elif not is_passed:
            self.unsure += changed[:1]
        if is_passed and name not in self.required:
            fewer = self.arguments.copy()
            del fewer[name]
            without = replace(self.plain, arguments=fewer, name=f"no {name}")
            self.unsure.append(without)
        if self.names and TARGET.match(name) and isinstance(old, str):
            identity = self.arguments[self.names[0]]
            yield self._vary(name, other_identity(identity, BEHIND))
        if self._adds_text(name, schema):
            yield self._vary(name, UNLIKE)
        adds_record = self.behavior in ("create", "ensure")
        if adds_record and is_passed and name not in self.names:
            for variant in changed[:1]:
                self.unsure.append(self._follow(variant))

    def _vary_extremes(self, name: str, schema: Mapping[str, Any]) -> Iterator[Variant]:
        """Yield variants with values at the edges of what a parameter accepts."""
        is_target = TARGET.match(name) or name in self.versions
        if name in self.names or is_target:
            return
        for value in list_extremes(schema, self.behavior):
            if value == self.arguments.get(name):
                continue
            variant = self._vary(name, value, f"{name}={_shorten(value)}")
            if self.behavior != "append":
                variant = replace(variant, is_at_edge=True)
            if self.behavior in ("create", "ensure"):
                yield self._follow(variant)
            else:
                yield variant

    def _follow(self, variant: Variant) -> Variant:
        """Return the author's call, and after it that of a variant."""
        return replace(
            variant,
            arguments=self.arguments,
            name=f"then {variant.name}",
            varied="",
            repeat_arguments=variant.arguments,
        )

    def _vary_all(self) -> Iterator[Variant]:
        """Yield a variant in which all optional arguments differ at once."""
        changed = {}
        for name, schema in self.tool.parameters.items():
            if name in self.required or name in self.names or name in self.versions:
                continue
            old = self.arguments.get(name, schema.get("default"))
            for value in sample_values(schema):
                if value != old:
                    changed[name] = value
                    break
        if len(changed) > 1:
            arguments = self.arguments | changed
            title = f"all of {', '.join(changed)}"
            yield replace(self.plain, arguments=arguments, name=title)

    def _adds_text(self, name: str, schema: Mapping[str, Any]) -> bool:
        """Tell whether a parameter is a text that is added to another one."""
        value = self.arguments.get(name)
        is_text = isinstance(value, str) and name not in self.names
        is_free = not any(key in schema for key in LIMITS)
        return self.behavior == "append" and is_text and is_free

    def _vary_identity(self, name: str, value: Any) -> Iterator[Variant]:
        """Yield variants with another version, or with a record that does not exist."""
        item = value[0] if isinstance(value, list) and value else value
        if name in self.versions and isinstance(value, (str, int)):
            if self.behavior in ("update", "delete"):
                yield from self._vary_version(name, value)
        elif self._may_name_nothing(name, value):
            absent = other_identity(item, ABSENT)
            if absent == item:
                return
            if not isinstance(value, list):
                yield replace(self._vary(name, absent), names_nothing=True)
                return
            yield self._vary(name, [absent])
            fewest = self.tool.parameters.get(name, {}).get("minItems", 0)
            if len(value) > 1 >= fewest:
                first = self._vary(name, value[:1], f"only the first of {name}")
                yield replace(first, names_fewer=True)
            yield self._vary(name, [*value, absent])
            title = f"a record that does not exist first in {name}"
            absent_first = self._vary(name, [absent, *value], title)
            yield replace(absent_first, names_fewer=True)
            yield self._vary(name, [*value, *value])
            if not self.tool.parameters.get(name, {}).get("minItems"):
                yield self._vary(name, [])

    def _may_name_nothing(self, name: str, value: Any) -> bool:
        """Tell whether a parameter names a record, or may do so."""
        if self.behavior == "read":
            return name in self.names or isinstance(value, str)
        if name in self.names:
            return True
        return self.behavior == "delete" and is_filter(name) and not self.is_declared

    def _vary_version(self, name: str, value: str | int) -> Iterator[Variant]:
        """Yield variants with a version that is not the record's."""
        versions = {
            "a stale": other_identity(value, BEFORE),
            "an unknown": other_identity(value, BEHIND),
        }
        schema = self.tool.parameters.get(name, {})
        is_free = not any(key in schema for key in LIMITS)
        if name in self.required:
            if isinstance(value, str) and is_free:
                versions["an empty"] = ""
            if type(value) is int and value > 1 and 0 in _list_small(schema):
                versions["an empty"] = 0
        for kind, version in versions.items():
            variant = self._vary(name, version, f"{kind} {name}")
            yield replace(variant, has_other_version=True)

    def _vary_absent(self, name: str) -> Iterator[Variant]:
        """Yield variants with identities that name no record, but may be taken for all of them."""
        value = self.arguments.get(name)
        schema = self.tool.parameters.get(name, {})
        if any(key in schema for key in (*LIMITS, "anyOf")):
            return
        if isinstance(value, str):
            texts = WILDCARDS if FOLDER.search(name) else ("", *WILDCARDS)
            for text in texts:
                yield replace(self._vary(name, text), names_nothing=True)
        elif type(value) is int:
            for number in _list_small(schema):
                if number != value:
                    yield replace(self._vary(name, number), names_nothing=True)


def is_filter(name: str) -> bool:
    """Tell whether a parameter names a record that another one is selected by, and not where that goes."""
    return name.endswith("_id") and not TARGET.match(name)


def _list_small(schema: Mapping[str, Any]) -> list[int]:
    """Return small numbers that a schema allows."""
    lowest = schema.get("minimum", schema.get("exclusiveMinimum", -2) + 1)
    return [number for number in SMALL if number >= lowest]


def list_extremes(schema: Mapping[str, Any], behavior: str) -> list[Any]:
    """Return values at the edges of what a schema allows: nothing, small, large, unusual.

    Args:
        schema: The schema of a parameter that names no record.
        behavior: The behavior of the tool; a read gets more values than a write.
    """
    values: list[Any] = []
    for part in list_alternatives(schema):
        kind = part.get("type") if "enum" not in part else ""
        if kind == "null":
            values.append(None)
        elif kind in ("integer", "number"):
            values += _list_small(part)
            if behavior == "read":
                values.append(min(LARGE, part.get("maximum", LARGE)))
        elif kind == "string":
            values += _list_texts(part, behavior)
        elif kind == "array" and not part.get("minItems"):
            values.append([])
        elif kind == "object" and not part.get("required"):
            values.append({})
    return values


def _list_texts(schema: Mapping[str, Any], behavior: str) -> list[str]:
    """Return unusual texts that a schema allows."""
    if any(key in schema for key in LIMITS):
        return []
    if behavior == "read":
        return ["", *WILDCARDS, STRANGE, LONG]
    return ["", STRANGE, LONG] if behavior == "append" else [""]


def _shorten(value: Any) -> str:
    """Return a value as the name of a case shows it."""
    text = repr(value)
    return (
        text if len(text) < len(LONG) else f"'{LONG[:3]}...' ({len(LONG)} characters)"
    )


def _is_choice(schema: Mapping[str, Any]) -> bool:
    """Tell whether a schema offers a few values."""
    for part in list_alternatives(schema):
        if "enum" in part or part.get("type") == "boolean":
            return True
    return False

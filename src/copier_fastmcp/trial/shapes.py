"""Shapes of responses: what `returns` documents, what an API sent, and where the two differ."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

OBJECT, LIST, PAGE = "an object", "a list of objects", "a page"
FILE, TEXT, EMPTY, OTHER = "a file", "text", "empty", "another value"
UNKNOWN = ""
# Undocumented fields arrive in any case; so many are described where a tool describes fewer.
ENOUGH_FIELDS = 6
LONGEST_NAME = 63
TEXT_TYPES = ("str", "date", "datetime", "uuid", "url", "email")
JSON_TYPES = {bool: "bool", int: "int", float: "float", str: "str", dict: "dict"}
Record = Mapping[str, Any]
Fields = dict[str, dict[str, Any]]


@dataclass
class Shape:
    """What a response is; `fields` are those of an object, or of the items of a list under `key`."""

    kind: str = UNKNOWN
    key: str = ""
    fields: Fields = field(default_factory=dict)


@dataclass
class Comparison:
    """What differs between the documented shape and the responses.

    Attributes:
        lines: A line for each difference.
        returns: The corrected `returns`; None removes the key.
        is_changed: Whether `returns` has to change.
        undocumented: Fields that the API sends and nothing documents.
        retyped: Fields whose type was corrected.
    """

    lines: list[str] = field(default_factory=list)
    returns: Any = None
    is_changed: bool = False
    undocumented: set[str] = field(default_factory=set)
    retyped: set[str] = field(default_factory=set)


def parse_returns(returns: Any) -> Shape:
    """Return the shape that `returns` of a tool documents."""
    if returns == "file":
        return Shape(FILE)
    if isinstance(returns, list) and len(returns) == 1:
        return Shape(LIST, fields=_parse_fields(returns[0]))
    if not isinstance(returns, dict) or not returns:
        return Shape()
    if returns.keys() == {"answer"}:
        return Shape()
    key, value = next(iter(returns.items()))
    if len(returns) == 1 and isinstance(value, list):
        return Shape(PAGE, key, _parse_fields(value[0]))
    return Shape(OBJECT, fields=_parse_fields(returns))


def format_returns(shape: Shape) -> Any:
    """Return `returns` for a shape; None where it cannot say it."""
    fields: dict[str, Any] = {}
    for name, row in shape.fields.items():
        fields[name] = row["type"] if row.keys() == {"type"} else row
    if shape.kind == FILE:
        return "file"
    if not fields:
        return None
    if shape.kind == LIST:
        return [fields]
    if shape.kind == PAGE:
        return {shape.key: [fields]}
    return fields if shape.kind == OBJECT else None


def _parse_fields(fields: Mapping[str, Any]) -> Fields:
    """Return fields in their long form, a mapping each."""
    rows: Fields = {}
    for name, row in fields.items():
        if isinstance(row, dict):
            rows[str(name)] = dict(row)
        else:
            rows[str(name)] = {"type": str(row)}
    return rows


def detect_shape(body: Any) -> tuple[Shape, list[Record]]:
    """Return the kind of a JSON body, and the objects whose fields it documents.

    Args:
        body: The parsed body.
    """
    if isinstance(body, dict):
        return Shape(OBJECT), [body]
    if not isinstance(body, list):
        return Shape(OTHER), []
    rows = _list_records(body)
    kind = LIST if len(rows) == len(body) else OTHER
    return Shape(kind), rows


def _list_records(items: list[Any]) -> list[Record]:
    return [item for item in items if isinstance(item, dict)]


def compare(returns: Any, bodies: Sequence[Any]) -> Comparison:
    """Compare what a tool documents with the JSON bodies that it received.

    Args:
        returns: The key `returns` of the tool; None if it has none.
        bodies: The bodies.
    """
    documented = parse_returns(returns)
    comparison = Comparison(returns=returns)
    for body in bodies:
        shape, rows = detect_shape(body)
        if documented.kind == UNKNOWN and returns is not None:
            continue  # it documents any answer
        if documented.kind == PAGE and isinstance(body, dict):
            items = body.get(documented.key)
            if isinstance(items, list):
                shape, rows = documented, _list_records(items)
        if documented.kind != shape.kind:
            if documented.kind not in (UNKNOWN, OTHER):
                line = f"{documented.kind} is documented, {shape.kind} was received"
                _add(comparison, line)
            documented = _build_documentable_shape(shape, rows)
            comparison.is_changed |= format_returns(documented) != returns
        _compare_fields(documented, rows, comparison)
    if comparison.is_changed:
        comparison.returns = format_returns(documented)
    return comparison


def _build_documentable_shape(shape: Shape, rows: Sequence[Record]) -> Shape:
    """Return the shape for objects with names; a table by identity has no fields to document."""
    if shape.kind == OBJECT and rows and _is_table(rows[0]):
        return Shape(OTHER)
    return Shape(shape.kind)


def _is_table(body: Record) -> bool:
    if not body:
        return False
    return all(isinstance(value, dict) for value in body.values())


def _compare_fields(
    documented: Shape, rows: Sequence[Record], comparison: Comparison
) -> None:
    """Correct the documented fields by objects that were received."""
    if documented.kind not in (OBJECT, LIST, PAGE):
        return
    for row in rows:
        for name, documented_field in documented.fields.items():
            line = _correct_field(name, documented_field, row, comparison)
            if line:
                _add(comparison, line)
                comparison.is_changed = True
        _add_undocumented(documented, row, comparison)


def _correct_field(
    name: str,
    documented_field: dict[str, Any],
    row: Record,
    comparison: Comparison,
) -> str:
    """Correct a documented field by an object that was received.

    Returns:
        The difference; empty if there is none.
    """
    value = row.get(name)
    if value is None:
        if "default" in documented_field:
            return ""
        documented_field["default"] = None
        if name in row:
            return f"{name} may be null"
        return f"{name} is not in every response"
    kind = str(documented_field.get("type", "any"))
    if _fits(value, kind):
        return ""
    received = detect_type(value)
    _retype(name, documented_field, received, comparison)
    return f"{name} is documented as {kind}, {received} was received"


def _retype(
    name: str, documented_field: dict[str, Any], received: str, comparison: Comparison
) -> None:
    """Give a field the type that was received; `any` where two responses have different ones."""
    both = {str(documented_field["type"]), received}
    if both == {"int", "float"}:
        received = "float"
    elif name in comparison.retyped:
        received = "any"
    documented_field["type"] = received
    comparison.retyped.add(name)


def _add_undocumented(documented: Shape, row: Record, comparison: Comparison) -> None:
    for name, value in row.items():
        if name in documented.fields:
            continue
        comparison.undocumented.add(name)
        if len(documented.fields) < ENOUGH_FIELDS and _is_name(name):
            field_type = detect_type(value)
            documented.fields[name] = {"type": field_type, "default": None}
            comparison.is_changed = True


def _is_name(name: str) -> bool:
    if len(name) > LONGEST_NAME or not name.isascii():
        return False
    return name.replace("-", "_").isidentifier()


def _fits(value: Any, kind: str) -> bool:
    """Whether a value that is not null has a type of the tool language."""
    if kind == "any":
        return True
    if kind.startswith("list["):
        item_kind = kind.removeprefix("list[")[:-1]
        return isinstance(value, list) and _all_fit(value, item_kind)
    if kind in TEXT_TYPES:
        return isinstance(value, str)
    if kind in ("dict", "object"):
        return isinstance(value, dict)
    received = detect_type(value)
    return received == kind or (received, kind) == ("int", "float")


def _all_fit(items: list[Any], kind: str) -> bool:
    """Whether the items of a list that are not null have a type."""
    return all(item is None or _fits(item, kind) for item in items)


def detect_type(value: Any) -> str:
    """Return the type of a JSON value in the tool language."""
    if not isinstance(value, list):
        return JSON_TYPES.get(type(value), "any")
    types = set(map(detect_type, value))
    item_type = types.pop() if len(types) == 1 else "any"
    if item_type.startswith("list"):
        item_type = "any"
    return f"list[{item_type}]"


def _add(comparison: Comparison, line: str) -> None:
    if line not in comparison.lines:
        comparison.lines.append(line)

"""The arguments of a call: what is wrong with them, without the values, since one may be secret."""

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from fastmcp import exceptions
from pydantic import ValidationError

Schema = Mapping[str, Any]
MAX_ERRORS = 5
# The types that a boolean is not, and all types of plain values.
NUMBER_TYPES = {"integer", "number", "string"}
PLAIN_TYPES = {"any", "boolean", *NUMBER_TYPES}
# What may be a mistake, or hold one
CHECKED_VALUES = (bool, int, float, list, dict)


def describe_errors(error: ValidationError) -> str:
    """Return what is wrong with the arguments of a call, a few errors at most, on one line."""
    lines = []
    rows = error.errors(include_url=False, include_input=False)
    for row in rows[:MAX_ERRORS]:
        place = ".".join(map(str, row["loc"])) or "arguments"
        lines.append(f"{place}: {row['msg']}")
    return " ".join("; ".join(lines).split())


@contextmanager
def errors_on_one_line() -> Iterator[None]:
    """Say in one line what FastMCP finds wrong with arguments; its own text has many, and repeats what was sent.

    Raises:
        fastmcp.exceptions.ValidationError: The arguments do not fit.
    """
    try:
        yield
    except exceptions.ValidationError as error:
        if isinstance(cause := error.__cause__, ValidationError):
            raise exceptions.ValidationError(describe_errors(cause)) from cause
        raise


def find_type_mistakes(
    value: object,
    schema: Schema,
    root: Schema | None = None,
    place: str = "",
) -> str:
    """Name an argument that has a boolean for a number or text, or a number for a boolean; empty when none has.

    Pydantic converts the one to the other. Text that spells a number is accepted, since models send it.
    """
    root = schema if root is None else root
    leaves = list(_list_leaves(schema, root))
    if isinstance(value, bool | int | float):
        expected = _find_expected_types(value, leaves)
        if expected:
            return f"{place[1:]}: {json.dumps(value)} is not of type {expected}"
    for part, item in _list_checked_parts(value):
        schemas: list[Schema] = []
        for leaf in leaves:
            part_schema = _find_part_schema(leaf, part)
            if isinstance(part_schema, dict):
                schemas.append(part_schema)
        if not schemas:
            continue
        mistake = find_type_mistakes(item, {"anyOf": schemas}, root, f"{place}.{part}")
        if mistake:
            return mistake
    return ""


def _list_checked_parts(value: object) -> Iterator[tuple[str | int, Any]]:
    """Yield the items of a list or the values of an object that may be a mistake, or hold one."""
    items: Iterable[tuple[str | int, Any]] = ()
    if isinstance(value, list):
        items = enumerate(value)
    elif isinstance(value, dict):
        items = value.items()
    for part, item in items:
        if isinstance(item, CHECKED_VALUES):
            yield part, item


def _find_expected_types(value: float, leaves: list[Schema]) -> str:
    """Return the types that a boolean or a number cannot be converted to; empty when one of them accepts it."""
    types = _list_types(leaves)
    wrong_types = NUMBER_TYPES if isinstance(value, bool) else {"boolean"}
    right_types = PLAIN_TYPES - wrong_types
    if types & wrong_types and not types & right_types:
        return " or ".join(sorted(types))
    return ""


def spell_numbers(value: Any, schema: Schema, root: Schema | None = None) -> Any:
    """Return a value in which a number is text wherever the schema accepts nothing but text.

    APIs send IDs as numbers that their documents call text, and models pass on the number.
    """
    root = schema if root is None else root
    leaves = list(_list_leaves(schema, root))
    if isinstance(value, int | float) and not isinstance(value, bool):
        kinds = _list_types(leaves) - {"null"}
        return _spell(value) if kinds == {"string"} else value
    if isinstance(value, list):
        parts = dict(enumerate(value))
        container = "array"
    elif isinstance(value, dict):
        parts = value
        container = "object"
    else:
        return value
    containers = [leaf for leaf in leaves if _get_type(leaf) in (container, "any")]
    spelled = value.copy()
    for part, item in parts.items():
        inner = [_find_part_schema(leaf, part) for leaf in containers]
        # Where a part has no schema, anything is accepted as it is.
        if inner and all(isinstance(schema, dict) for schema in inner):
            spelled[part] = spell_numbers(item, {"anyOf": inner}, root)
    return spelled


def _spell(number: float) -> str:
    """Return a number as text; a whole one without a fraction."""
    if isinstance(number, float) and number.is_integer():
        number = int(number)
    return json.dumps(number)


def _get_type(leaf: Schema) -> str:
    """Return the type of a schema; `any` where it has none."""
    return str(leaf.get("type", "any"))


def _list_types(leaves: list[Schema]) -> set[str]:
    """Return the types of some schemas."""
    return {_get_type(leaf) for leaf in leaves}


def _find_part_schema(leaf: Schema, part: str | int) -> object:
    """Return the schema of a property of an object, or of an item of a list."""
    default = leaf.get("additionalProperties", leaf.get("items"))
    properties = leaf.get("properties")
    if properties:
        return properties.get(part, default)
    prefix_items: dict[Any, object] = dict(enumerate(leaf.get("prefixItems", ())))
    return prefix_items.get(part, default)


def _list_leaves(schema: Schema, root: Schema) -> Iterator[Schema]:
    """Yield the schemas of one value, out of unions and references.

    Each reference is followed once, as far as a value reaches; the lock (`testing/lock.py`) resolves a whole schema.
    """
    if not isinstance(schema, Mapping):  # true: anything
        yield {}
        return
    if "$ref" in schema:
        definitions = dict(root.get("$defs", {}))
        _, _, name = schema["$ref"].rpartition("/")
        target = definitions.pop(name, {})
        yield from _list_leaves(target, {"$defs": definitions})
        return
    has_union = False
    for keyword in ("anyOf", "oneOf", "allOf"):
        for member in schema.get(keyword, ()):
            yield from _list_leaves(member, root)
        has_union = has_union or keyword in schema
    if not has_union:
        yield schema

"""The arguments of a call: what is wrong with them, without the values, since one may be secret."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import ValidationError

Schema = Mapping[str, Any]
MAX_ERRORS = 5
# The types that a boolean is not, and all types of plain values.
NUMBER_TYPES = {"integer", "number", "string"}
PLAIN_TYPES = {"any", "boolean", *NUMBER_TYPES}


def describe_errors(error: ValidationError) -> str:
    """Return what is wrong with the arguments of a call, a few errors at most, on one line."""
    lines = []
    for row in error.errors(include_url=False, include_input=False)[:MAX_ERRORS]:
        place = ".".join(map(str, row["loc"])) or "arguments"
        lines.append(f"{place}: {row['msg']}")
    return " ".join("; ".join(lines).split())


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
    parts: dict[Any, Any] = {}
    if isinstance(value, list):
        parts = dict(enumerate(value))
    elif isinstance(value, dict):
        parts = value
    for part, item in parts.items():
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


def _find_expected_types(value: float, leaves: list[Schema]) -> str:
    """Return the types that a boolean or a number cannot be converted to; empty when one of them accepts it."""
    kinds: set[str] = set()
    for leaf in leaves:
        kinds.add(str(leaf.get("type", "any")))
    wrong_types = NUMBER_TYPES if isinstance(value, bool) else {"boolean"}
    if kinds & wrong_types and not kinds & (PLAIN_TYPES - wrong_types):
        return " or ".join(sorted(kinds))
    return ""


def spell_numbers(value: Any, schema: Schema, root: Schema | None = None) -> Any:
    """Return a value in which a number is text wherever the schema accepts nothing but text.

    APIs send IDs as numbers that their documents call text, and models pass on the number.
    """
    root = schema if root is None else root
    leaves = list(_list_leaves(schema, root))
    if isinstance(value, int | float) and not isinstance(value, bool):
        kinds = {str(leaf.get("type", "any")) for leaf in leaves} - {"null"}
        if kinds != {"string"}:
            return value
        is_whole = isinstance(value, float) and value.is_integer()
        return json.dumps(int(value) if is_whole else value)
    if isinstance(value, list):
        parts, container = dict(enumerate(value)), "array"
    elif isinstance(value, dict):
        parts, container = value, "object"
    else:
        return value
    leaves = [leaf for leaf in leaves if leaf.get("type", "any") in (container, "any")]
    spelled = value.copy()
    for part, item in parts.items():
        inner = [_find_part_schema(leaf, part) for leaf in leaves]
        # Where a part has no schema, anything is accepted as it is.
        if inner and all(isinstance(schema, dict) for schema in inner):
            spelled[part] = spell_numbers(item, {"anyOf": inner}, root)
    return spelled


def _find_part_schema(leaf: Schema, part: str | int) -> object:
    """Return the schema of a property of an object, or of an item of a list."""
    default = leaf.get("additionalProperties", leaf.get("items"))
    named = leaf.get("properties") or dict(enumerate(leaf.get("prefixItems", ())))
    return named.get(part, default)


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

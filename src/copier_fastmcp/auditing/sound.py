"""A tool as somebody's server sends it, without what no JSON Schema can hold."""

from collections.abc import Mapping
from typing import Any

NAMED = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
LISTS = ("enum", "anyOf", "oneOf", "allOf", "required", "prefixItems")
SCHEMAS = ("inputSchema", "outputSchema")


def sound(tool: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """A tool that can be read, and the places where it could not.

    Args:
        tool: A tool as tools/list has it; nothing is taken for granted.
    """
    wrong: list[str] = []
    found = dict(tool)
    for key in SCHEMAS:
        schema = tool.get(key)
        if schema is None:
            found.pop(key, None)
        elif isinstance(schema, Mapping):
            found[key] = _schema(schema, key, wrong)
        else:
            wrong.append(f"{key} is not a schema")
            del found[key]
    given = tool.get("inputSchema")
    if given is None:
        wrong.append("inputSchema is missing")
    elif isinstance(given, Mapping) and given.get("type") != "object":
        wrong.append("inputSchema.type is not 'object'")
    for key in ("name", "title", "description"):
        if not isinstance(tool.get(key, ""), str | None):
            wrong.append(f"{key} is not text")
            found[key] = ""
    if not isinstance(tool.get("annotations"), Mapping | None):
        wrong.append("annotations is not an object")
        del found["annotations"]
    return found, wrong


def _schema(schema: Mapping[str, Any], place: str, wrong: list[str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in schema.items():
        here = f"{place}.{key}"
        if key in NAMED:
            if not isinstance(value, Mapping):
                wrong.append(f"{here} is not an object")
                continue
            found[key] = {name: _inner(of, f"{here}.{name}", wrong) for name, of in value.items()}
        elif key in LISTS:
            if not isinstance(value, list):
                wrong.append(f"{here} is not a list")
                continue
            plain = key in ("enum", "required")
            found[key] = value if plain else [_inner(of, here, wrong) for of in value]
        else:
            found[key] = _schema(value, here, wrong) if isinstance(value, Mapping) else value
    return found


def _inner(schema: object, place: str, wrong: list[str]) -> object:
    if isinstance(schema, Mapping):
        return _schema(schema, place, wrong)
    if not isinstance(schema, bool):
        wrong.append(f"{place} holds something other than a schema")
        return {}
    return schema

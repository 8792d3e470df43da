"""A definition as a server sends it, reduced to valid JSON Schema."""

from collections.abc import Mapping
from functools import cached_property
from typing import Any

from copier_fastmcp_engine.testing.rules import Tool

# Every keyword that holds schemas, also those of older drafts: what a server sends may be anything. The lock
# (`testing/lock.py`) reads schemas that this module has validated.
SCHEMA_MAPS = (
    "properties",
    "patternProperties",
    "$defs",
    "definitions",
    "dependentSchemas",
)
VALUE_LISTS = ("enum", "required")
SCHEMA_LISTS = ("anyOf", "oneOf", "allOf", "prefixItems")
SCHEMAS = ("inputSchema", "outputSchema")
TEXTS = ("name", "title", "description")


class AuditedTool(Tool):
    """A tool that caches its parameters, which every check looks up."""

    @cached_property
    def parameters(self) -> Mapping[str, Mapping[str, Any]]:
        """The schema of each parameter."""
        return super().parameters


def validate_definition(
    definition: Mapping[str, Any],
) -> tuple[dict[str, Any], list[str]]:
    """Return the valid parts of a definition, and an error for each invalid part.

    Args:
        definition: A tool as in tools/list; any part may be invalid.
    """
    errors: list[str] = []
    valid = dict(definition)
    for key in SCHEMAS:
        schema = definition.get(key)
        if schema is None:
            valid.pop(key, None)
        elif isinstance(schema, Mapping):
            valid[key] = _validate_schema(schema, key, errors)
        else:
            errors.append(f"{key} is not a schema")
            del valid[key]
    input_schema = definition.get("inputSchema")
    if input_schema is None:
        errors.append("inputSchema is missing")
    elif isinstance(input_schema, Mapping) and input_schema.get("type") != "object":
        errors.append("inputSchema.type is not 'object'")
    for key in TEXTS:
        if not isinstance(definition.get(key, ""), str | None):
            errors.append(f"{key} is not text")
            valid[key] = ""
    if not isinstance(definition.get("annotations"), Mapping | None):
        errors.append("annotations is not an object")
        del valid["annotations"]
    return valid, errors


def _validate_schema(
    schema: Mapping[str, Any], path: str, errors: list[str]
) -> dict[str, Any]:
    valid: dict[str, Any] = {}
    for key, value in schema.items():
        key_path = f"{path}.{key}"
        if key in SCHEMA_MAPS:
            if not isinstance(value, Mapping):
                errors.append(f"{key_path} is not an object")
                continue
            parts: dict[str, object] = {}
            for name, part in value.items():
                parts[name] = _validate_part(part, f"{key_path}.{name}", errors)
            valid[key] = parts
        elif key in VALUE_LISTS or key in SCHEMA_LISTS:
            if not isinstance(value, list):
                errors.append(f"{key_path} is not a list")
                continue
            valid[key] = value
            if key in SCHEMA_LISTS:
                valid[key] = [_validate_part(part, key_path, errors) for part in value]
        elif isinstance(value, Mapping):
            valid[key] = _validate_schema(value, key_path, errors)
        else:
            valid[key] = value
    return valid


def _validate_part(schema: object, path: str, errors: list[str]) -> object:
    if isinstance(schema, Mapping):
        return _validate_schema(schema, path, errors)
    if not isinstance(schema, bool):
        errors.append(f"{path} holds something other than a schema")
        return {}
    return schema

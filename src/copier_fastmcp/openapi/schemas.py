"""A JSON Schema with its references followed and its alternatives brought together.

The readers of the engine keep alternatives apart, since they compare or check values. A parameter of a tool has one
type, so the alternatives of a document are merged here, within limits: the document is somebody else's.
"""

from collections.abc import Mapping
from typing import Any

from .document import Document, UnresolvedError
from .json_values import list_objects, list_strings

DEEPEST = 12
MOST_PARTS = 1000


def merged(document: Document, schema: Any, depth: int = 0) -> dict[str, Any]:
    """A schema with its references followed, `allOf` merged and `null` taken out as `nullable`.

    Raises:
        UnresolvedError: A reference leads nowhere or in a circle, or it has too many parts.
    """
    if depth > DEEPEST:
        raise UnresolvedError("its schemas are nested too deeply")
    if schema is True or schema == {}:
        return {}
    cached = document.merged.get(id(schema))
    # Without the cache, a schema would be walked once for each way that leads to it
    if cached is None:
        cached = schema, _merged(document, schema, depth)
        document.merged[id(schema)] = cached
    return dict(cached[1])


def _merged(document: Document, schema: Any, depth: int) -> dict[str, Any]:
    result = dict(document.resolve(schema))
    for part in _schemas(result.pop("allOf", None)):
        inner = merged(document, part, depth + 1)
        result = {**inner, **result, **_joined(inner, result)}
    for key in ("oneOf", "anyOf"):
        options = _schemas(result.get(key))
        if options:
            del result[key]
            alternatives = [merged(document, option, depth + 1) for option in options]
            result = _with_alternatives(result, alternatives)
    _join_types(result)
    if not result.get("type") and isinstance(result.get("properties"), dict):
        result["type"] = "object"
    return result


def _with_alternatives(
    schema: dict[str, Any], alternatives: list[dict[str, Any]]
) -> dict[str, Any]:
    """A schema together with what one of several alternatives comes to."""
    variants = [option for option in alternatives if option.get("type") != "null"]
    if len(variants) < len(alternatives):
        schema["nullable"] = True
    if len(variants) == 1:
        return {**variants[0], **schema, **_joined(variants[0], schema)}
    if not variants:
        return schema
    return {
        **schema,
        **_either(variants),
        **_joined({}, schema),
        "variants": len(variants),
    }


def _join_types(schema: dict[str, Any]) -> None:
    """Replace a list of types by one type, where one holds all values."""
    kinds = schema.get("type")
    if not isinstance(kinds, list):
        return
    plain = [kind for kind in kinds if kind != "null"]
    schema["nullable"] = schema.get("nullable") is True or len(plain) < len(kinds)
    schema["type"] = plain[0] if len(plain) == 1 else None
    if len(plain) > 1:
        schema["variants"] = len(plain)
        if set(plain) == {"integer", "number"}:
            schema["type"] = "number"


def _schemas(value: Any) -> list[Any]:
    if isinstance(value, list) and len(value) > MOST_PARTS:
        raise UnresolvedError(f"it has over {MOST_PARTS} forms or parts")
    return list_objects(value)


def _joined(first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, Any]:
    """What two objects that both hold come to."""
    joined: dict[str, Any] = {}
    properties = {**properties_of(first), **properties_of(second)}
    if properties:
        joined["properties"] = properties
    needed = list_strings(first.get("required"))
    needed += list_strings(second.get("required"))
    if needed:
        joined["required"] = list(dict.fromkeys(needed))
    return joined


def _either(options: list[dict[str, Any]]) -> dict[str, Any]:
    """What one of several schemas comes to: one type, joined choices, or the fields of all objects."""
    kinds = {option.get("type") for option in options}
    if len(kinds) == 1 and kinds <= {"string", "integer", "number", "boolean"}:
        kind = next(iter(kinds))
        values = _join_enums(options)
        return {"type": kind} if values is None else {"type": kind, "enum": values}
    if kinds == {"integer", "number"}:
        return {"type": "number"}
    if kinds == {"object"}:
        properties: dict[str, Any] = {}
        for option in options:
            for name, schema in properties_of(option).items():
                previous = properties.get(name)
                properties[name] = (
                    schema if previous in (None, schema) else _loose(previous, schema)
                )
        required = set.intersection(*map(required_of, options))
        return {
            "type": "object",
            "properties": properties,
            "required": sorted(required),
        }
    if kinds == {"array"}:
        return {"type": "array", "items": options[0].get("items") or {}}
    return {"type": None}


def _join_enums(options: list[dict[str, Any]]) -> list[Any] | None:
    """Return the choices of all schemas; None where one takes other values too."""
    values = []
    for option in options:
        enum = option.get("enum")
        if not isinstance(enum, list):
            return None
        values += enum
    return values


def _loose(first: Any, second: Any) -> Any:
    """What holds a field of either form, as where a discriminator has one value in each."""
    options = list_objects([first, second])
    return {
        "anyOf": [*_schemas(options[0].get("anyOf")), second]
        if options and "anyOf" in options[0]
        else options
    }


def properties_of(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The properties of an object; none of anything else."""
    properties = schema.get("properties")
    return dict(properties) if isinstance(properties, dict) else {}


def required_of(schema: Mapping[str, Any]) -> set[str]:
    """The names of the properties that an object must have."""
    return set(list_strings(schema.get("required")))

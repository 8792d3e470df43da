"""A JSON Schema with its references followed and its alternatives brought together."""

from collections.abc import Mapping
from typing import Any

from .document import Document, UnresolvedError

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
    known = document.merged.get(id(schema))
    if (
        known is None
    ):  # else what every part refers to would be walked once for each way to it
        known = schema, _merged(document, schema, depth)
        document.merged[id(schema)] = known
    return dict(known[1])


def _merged(document: Document, schema: Any, depth: int) -> dict[str, Any]:
    made = dict(document.follow(schema))
    for part in _schemas(made.pop("allOf", None)):
        inner = merged(document, part, depth + 1)
        made = {**inner, **made, **_joined(inner, made)}
    for key in ("oneOf", "anyOf"):
        options = _schemas(made.get(key))
        if not options:
            continue
        found = [merged(document, one, depth + 1) for one in options]
        kept = [one for one in found if one.get("type") != "null"]
        if len(kept) < len(found):
            made["nullable"] = True
        del made[key]
        if len(kept) == 1:
            made = {**kept[0], **made, **_joined(kept[0], made)}
        elif kept:
            made = {**made, **_either(kept), **_joined({}, made), "variants": len(kept)}
    kinds = made.get("type")
    if isinstance(kinds, list):
        plain = [kind for kind in kinds if kind != "null"]
        made["nullable"] = made.get("nullable") is True or len(plain) < len(kinds)
        made["type"] = plain[0] if len(plain) == 1 else None
        if len(plain) > 1:
            made["variants"] = len(plain)
            if set(plain) == {"integer", "number"}:
                made["type"] = "number"
    if not made.get("type") and isinstance(made.get("properties"), dict):
        made["type"] = "object"
    return made


def _schemas(value: Any) -> list[Any]:
    if isinstance(value, list) and len(value) > MOST_PARTS:
        raise UnresolvedError(f"it has over {MOST_PARTS} forms or parts")
    return (
        [one for one in value if isinstance(one, dict)]
        if isinstance(value, list)
        else []
    )


def _joined(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """What two objects that both hold come to."""
    found: dict[str, Any] = {}
    properties = {**properties_of(one), **properties_of(other)}
    if properties:
        found["properties"] = properties
    needed = [*_names(one.get("required")), *_names(other.get("required"))]
    if needed:
        found["required"] = list(dict.fromkeys(needed))
    return found


def _either(options: list[dict[str, Any]]) -> dict[str, Any]:
    """What one of several schemas comes to: one type, joined choices, or the fields of all objects."""
    kinds = {one.get("type") for one in options}
    enums = [one.get("enum") for one in options]
    if len(kinds) == 1 and kinds <= {"string", "integer", "number", "boolean"}:
        kind = next(iter(kinds))
        if all(isinstance(enum, list) for enum in enums):
            return {
                "type": kind,
                "enum": [
                    value for enum in enums if isinstance(enum, list) for value in enum
                ],
            }
        return {"type": kind}
    if kinds == {"integer", "number"}:
        return {"type": "number"}
    if kinds == {"object"}:
        properties: dict[str, Any] = {}
        for one in options:
            for name, schema in properties_of(one).items():
                known = properties.get(name)
                properties[name] = (
                    schema if known in (None, schema) else _loose(known, schema)
                )
        needed = [set(_names(one.get("required"))) for one in options]
        return {
            "type": "object",
            "properties": properties,
            "required": sorted(set.intersection(*needed)),
        }
    if kinds == {"array"}:
        return {"type": "array", "items": options[0].get("items") or {}}
    return {"type": None}


def _loose(one: Any, other: Any) -> Any:
    """What holds a field of either form, as where a discriminator has one value in each."""
    options = [each for each in (one, other) if isinstance(each, dict)]
    return {
        "anyOf": [*_schemas(options[0].get("anyOf")), other]
        if options and "anyOf" in options[0]
        else options
    }


def properties_of(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The properties of an object; none of anything else."""
    found = schema.get("properties")
    return dict(found) if isinstance(found, dict) else {}


def _names(value: Any) -> list[str]:
    return (
        [name for name in value if isinstance(name, str)]
        if isinstance(value, list)
        else []
    )


def required_of(schema: Mapping[str, Any]) -> set[str]:
    """The names of the properties that an object must have."""
    return set(_names(schema.get("required")))

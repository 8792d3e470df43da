"""Objects of a document as parameters with fields, which become typed classes in a tool file."""

import keyword
import re
from typing import Any

from .document import Document, UnresolvedError
from .inputs import param
from .schemas import merged, properties_of, required_of
from .typed import Typed, typed

MOST_FIELDS = 20
DEEPEST_OBJECT = 2  # an object in an object; what is deeper is any object
FIELD_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,63}")
LONGEST_TEXT = 100
TEXTUAL_TYPES = {"date": "date", "datetime": "date-time", "uuid": "UUID"}


def set_object_fields(document: Document, schema: dict[str, Any], kind: Typed) -> None:
    """Give a type that is an object, or a list of objects, its fields, where the tool language can say them."""
    listed = kind.type == "list[dict]"
    if not listed and kind.type != "dict":
        return
    try:
        inner = merged(document, schema.get("items") or {}) if listed else schema
    except UnresolvedError:
        return
    if fields := object_fields(document, inner):
        kind.keys["type"] = "list[object]" if listed else "object"
        kind.keys["fields"] = fields
        kind.has_default = False


def object_fields(
    document: Document, schema: dict[str, Any], depth: int = 1
) -> list[dict[str, Any]]:
    """The fields of an object; none where it has no fixed form, or a name that Python cannot have.

    Args:
        document: The document, for references.
        schema: The object's schema, its references followed.
        depth: How many objects it is in, with itself.
    """
    properties = properties_of(schema)
    if len(properties) > MOST_FIELDS or schema.get("variants"):
        return []
    fields = []
    for name, property_schema in properties.items():
        if not FIELD_NAME.fullmatch(name) or keyword.iskeyword(name):
            return []
        try:
            plain = merged(document, property_schema)
            kind = typed(document, property_schema)
        except UnresolvedError:
            return []
        if plain.get("readOnly") is True:
            continue
        if depth < DEEPEST_OBJECT:
            inner = (
                merged(document, plain.get("items") or {})
                if kind.type == "list[dict]"
                else plain
            )
            if kind.type in ("dict", "list[dict]"):
                nested = object_fields(document, inner, depth + 1)
                if nested:
                    kind.keys["type"] = kind.type.replace("dict", "object")
                    kind.keys["fields"] = nested
        fields.append(_field(name, kind, name in required_of(schema)))
    return fields


def _field(name: str, kind: Typed, required: bool) -> dict[str, Any]:
    kind.has_default = False  # what a caller leaves out is left to the API
    if kind.type in TEXTUAL_TYPES:
        kind.description = f"{kind.description} ({TEXTUAL_TYPES[kind.type]})".strip()
        kind.keys["type"] = "str"
    row = param(name, kind, required, "")
    if len(row["description"]) > LONGEST_TEXT:
        row["description"] = (
            row["description"][: LONGEST_TEXT - 1].rsplit(" ", 1)[0] + "…"
        )
    return row

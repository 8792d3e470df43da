"""The body of an operation as parameters of a tool."""

import re
from typing import Any

from .document import UnresolvedError
from .inputs import (
    MIXED,
    WIRE_NAME,
    Inputs,
    LeftOutError,
    is_version,
    mixed,
    param,
    python_name,
)
from .operations import FORM, Operation, bare, is_form, is_json
from .schemas import merged, properties_of, required_of
from .texts import clean, sentences
from .typed import typed

LONGEST_FIELDS = 180
SENTENCE, NULL = re.compile(r"(?<=[.!?;])\s+"), re.compile(r"(?i)\bnull\b")
# What a request in the answers can name; any other kind of JSON goes as application/json.
SUFFIXED = re.compile(r"application/[a-z0-9.-]+\+json")


def body(operation: Operation, found: Inputs, *, gated: bool) -> None:
    """The fields of a body in JSON, else of a form."""
    kinds = [str(kind) for kind in operation.contents]
    json_kinds = [kind for kind in kinds if is_json(kind)]
    forms = [kind for kind in kinds if is_form(kind)]
    needed = operation.body.get("required") is True
    if not json_kinds and not forms:
        if not kinds and not needed:
            return None
        shown = clean(", ".join(kinds), 80) or "a body that leads nowhere"
        if not needed and operation.method not in ("POST", "PUT"):
            return found.left_out.append(f"body ({shown})")
        raise LeftOutError(f"its body is {shown}, not JSON")
    json_kinds = [kind for kind in json_kinds if "json-patch" not in kind]
    if not json_kinds and not forms:
        raise LeftOutError("its body is a JSON Patch, a list of changes")
    chosen = next((kind for kind in json_kinds if not SUFFIXED.fullmatch(bare(kind))), "")
    suffixed = not chosen
    chosen = chosen or [*json_kinds, *forms][0]
    if others := [kind for kind in kinds if kind != chosen and not is_json(kind)]:
        found.left_out.append(f"body as {clean(', '.join(others), 80)}")
    media = operation.document.followed(operation.contents[chosen])
    try:
        schema = merged(operation.document, media.get("schema") or {})
    except UnresolvedError as error:
        raise LeftOutError(f"its body: {error}") from error
    fields = properties_of(schema)
    if operation.method in ("GET", "HEAD") and (fields or needed):
        if needed:
            raise LeftOutError(f"it requires a body, which a {operation.method} does not send")
        return found.left_out.append(f"body (a {operation.method} sends none)")
    if schema.get("properties") == {} and not needed and operation.method != "PUT":
        return None
    if not fields:
        # A PUT that sends nothing of what it replaces would empty it.
        if schema.get("type") not in ("object", None) or needed or operation.method == "PUT":
            kind = schema.get("type") or "any JSON"
            shown = {"array": "a list", "object": "an object of any form"}.get(
                str(kind), str(kind)[:20]
            )
            raise LeftOutError(f"its body is {shown}")
        return found.left_out.append("body (an object of any form)")
    if schema.get("variants"):
        found.left_out.append(
            f"which of {schema['variants']} forms its body takes (all fields are optional)"
        )
    found.type = bare(chosen) if suffixed else ""
    asked = required_of(schema)
    for name, inner in sorted(fields.items(), key=lambda item: item[0] not in asked):
        _field(operation, name, inner, name in asked, found, gated=gated)
    return None


def _field(
    operation: Operation, name: str, schema: Any, required: bool, found: Inputs, *, gated: bool
) -> None:
    """One field of a body."""
    shown, note = clean(name, 60) or "?", found.left_out.append
    try:
        plain = merged(operation.document, schema)
        one = typed(operation.document, schema)
    except UnresolvedError as error:
        if required:
            raise LeftOutError(f"its field {shown}: {error}") from error
        return note(f"field {shown} ({error})")
    if plain.get("readOnly") is True:
        return None
    if plain.get("deprecated") is True and not required:
        return note(f"field {shown} (deprecated)")
    if not WIRE_NAME.fullmatch(name) or (name == "confirm" and gated and one.type != "bool"):
        whole = f"its field {shown} has a name that no parameter can have"
        return found.leave(required, whole, f"field {shown} (its name)")
    about = one.description
    if one.nullable and not required:  # what is not given is not sent, and null is not given
        about = " ".join(text for text in SENTENCE.split(about) if not NULL.search(text))
        one.description = about
    if one.type in ("dict", "list[dict]") and (inner := inside(operation, plain, typed_too=True)):
        about = clean(f"{sentences(about, 100)} Fields: {inner}.".strip(), 300)
        made = param(name, one, required, "")
        made["description"] = about
    else:
        made = param(name, one, required, about)
    if operation.method == "DELETE" or is_version(name):
        made["in"] = "body"
    if found.type == FORM and (one.type in ("dict", "any") or one.type.startswith("list[")):
        whole = f"its field {shown} has no place in a form"
        return found.leave(required, whole, f"field {shown} (no place in a form)")
    if mixed(made):
        return found.leave(required, f"its field {shown} {MIXED}", f"field {shown} ({MIXED})")
    if not found.add(made):
        if found.plain.get(python_name(name).lower()) != name or required:
            note(f"field {shown} of the body (its name is taken)")
        return None
    if operation.method == "PATCH" and one.nullable and not required and found.type != FORM:
        found.nulls.append(name)
    found.left_out += [f"{shown}: {text}" for text in one.notes]
    return None


def inside(
    operation: Operation, plain: dict[str, Any], most: int = 12, *, typed_too: bool = False
) -> str:
    """The fields of an object or of the objects in a list, as a text for models; with what each takes if asked for."""
    try:
        schema = (
            merged(operation.document, plain.get("items") or {})
            if plain.get("type") == "array"
            else plain
        )
    except UnresolvedError:
        return ""
    fields, needed = properties_of(schema), required_of(schema)
    names = [(clean(name, 30), name, inner) for name, inner in fields.items()][:most]
    shown = ", ".join(text for text, _, _ in names if text)
    if typed_too:
        told = [
            f"{text}{_about_field(operation, inner, not needed or name in needed)}"
            for text, name, inner in names
            if text
        ]
        longer = ", ".join(told)
        shown = longer if len(longer) <= LONGEST_FIELDS else shown
    return shown + (" and more" if len(fields) > most else "")


def _about_field(operation: Operation, inner: Any, needed: bool) -> str:
    """What a field takes, in parentheses; nothing of a text that has to be there."""
    try:
        one = typed(operation.document, inner)
    except UnresolvedError:
        return ""
    choices = one.keys.get("choices", ())
    kind = " or ".join(map(str, choices)) if 0 < len(choices) <= 6 else one.type
    said = [kind] if kind not in ("str", "any") else []
    said += [] if needed else ["optional"]
    return f" ({', '.join(said)})" if said else ""

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
    snake,
)
from .media import TEXTUAL
from .objects import set_object_fields
from .operations import FORM, Operation, bare, is_json
from .schemas import merged, properties_of, required_of
from .texts import clean, sentences
from .typed import Typed, typed

LONGEST_FIELDS = 180
SENTENCE, NULL = re.compile(r"(?<=[.!?;])\s+"), re.compile(r"(?i)\bnull\b")
# Other kinds of JSON than these go as application/json.
SUFFIXED = re.compile(r"application/[a-z0-9.-]+\+json")
MEDIA_TYPE = re.compile(r"[a-z]+/[A-Za-z0-9.+*-]{1,80}")
MULTIPART = "multipart/form-data"


def body(operation: Operation, found: Inputs, *, gated: bool) -> None:
    """The fields of a body in JSON or a form; a list, a text or a file is one parameter, the whole body.

    Raises:
        LeftOutError: The request cannot be sent.
    """
    kinds = [str(kind) for kind in operation.contents]
    needed = operation.body.get("required") is True
    if not kinds:
        if needed:
            raise LeftOutError("its body leads nowhere")
        return None
    if operation.method in ("GET", "HEAD"):
        if needed:
            raise LeftOutError(
                f"it requires a body, which a {operation.method} does not send"
            )
        if operation.json_body[1].get("properties"):
            found.left_out.append(f"body (a {operation.method} sends none)")
        return None
    chosen = min(kinds, key=_preference)
    media = operation.document.followed(operation.contents[chosen])
    try:
        schema = merged(operation.document, media.get("schema") or {})
    except UnresolvedError as error:
        raise LeftOutError(f"its body: {error}") from error
    _set_type(found, chosen)
    if not _has_fields(chosen):
        return _whole(operation, schema, chosen, needed, found)
    fields = properties_of(schema)
    if not fields:
        # A PUT that sends nothing of what it replaces would empty it.
        if schema.get("properties") == {} and not needed and operation.method != "PUT":
            return None
        return _whole(
            operation, schema, chosen, needed or operation.method == "PUT", found
        )
    if schema.get("variants"):
        found.left_out.append(
            f"which of {schema['variants']} forms its body takes (all fields are optional)"
        )
    asked = required_of(schema)
    for name, inner in sorted(fields.items(), key=lambda item: item[0] not in asked):
        _field(operation, name, inner, name in asked, found, gated=gated)
    return None


def _preference(kind: str) -> int:
    """How well a media type of a body can be sent: plain JSON best, then forms, text, bytes."""
    plain = bare(kind)
    if is_json(kind):
        return 2 if "patch" in plain else 1 if SUFFIXED.fullmatch(plain) else 0
    known = [FORM, MULTIPART]
    if plain in known:
        return 3 + known.index(plain)
    return 5 if TEXTUAL.fullmatch(plain) else 6


def _has_fields(kind: str) -> bool:
    return is_json(kind) or bare(kind) in (FORM, MULTIPART)


def _set_type(found: Inputs, kind: str) -> None:
    """Note how a body is sent: as JSON, as a form, or as a media type of its own."""
    plain = bare(kind)
    if plain == FORM:
        found.request = "form"
    elif plain == MULTIPART:
        found.request = "multipart"
    elif SUFFIXED.fullmatch(plain) or not is_json(kind):
        found.type = "application/octet-stream" if "*" in plain else plain


def _whole(
    operation: Operation, schema: dict[str, Any], kind: str, needed: bool, found: Inputs
) -> None:
    """A body that is one value."""
    if bare(kind) in (FORM, MULTIPART):
        raise LeftOutError("its form has no fields")
    if not MEDIA_TYPE.fullmatch(bare(kind)):
        raise LeftOutError(f"its body is {clean(kind, 80)}, which no request can name")
    if is_json(kind):
        one = typed(operation.document, schema)
        set_object_fields(operation.document, schema, one)
        name = {"dict": "body", "object": "body", "str": "text"}.get(one.type, "value")
        if one.type.startswith("list["):
            name = snake(operation.tail) or "items"
    else:
        text = TEXTUAL.fullmatch(bare(kind))
        one = Typed({"type": "str" if text else "file"})
        name = "text" if text else "file"
    if one.type == "any":
        name = "body"
    one.has_default = False
    base, number = name, 2
    while name in found.plain or name == "confirm":
        name, number = f"{base}_{number}", number + 1
    about = operation.body.get("description") or one.description
    made = param(
        name, one, needed, str(about) if about else f"The body, as {bare(kind)}."
    )
    found.add({**made, "whole": True})


def _field(
    operation: Operation,
    name: str,
    schema: Any,
    required: bool,
    found: Inputs,
    *,
    gated: bool,
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
    if not WIRE_NAME.fullmatch(name) or (
        name == "confirm" and gated and one.type != "bool"
    ):
        whole = f"its field {shown} has a name that no parameter can have"
        return found.leave(required, whole, f"field {shown} (its name)")
    if found.request == "multipart" and _is_file(operation, plain):
        one.keys = {"type": "list[file]" if plain.get("type") == "array" else "file"}
        one.notes, one.has_default = [], False
    about = one.description
    if (
        one.nullable and not required
    ):  # what is not given is not sent, and null is not given
        about = " ".join(
            text for text in SENTENCE.split(about) if not NULL.search(text)
        )
        one.description = about
    set_object_fields(operation.document, plain, one)
    if one.type in ("dict", "list[dict]") and (
        inner := inside(operation, plain, typed_too=True)
    ):
        about = clean(f"{sentences(about, 100)} Fields: {inner}.".strip(), 300)
        made = param(name, one, required, "")
        made["description"] = about
    else:
        made = param(name, one, required, about)
    if operation.method == "DELETE" or is_version(name):
        made["in"] = "body"
    if mixed(made):
        return found.leave(
            required, f"its field {shown} {MIXED}", f"field {shown} ({MIXED})"
        )
    if found.send_in_both(name, required=required or operation.method == "PUT"):
        return None
    if not found.add(made):
        if found.plain.get(python_name(name).lower()) != name or required:
            note(f"field {shown} of the body (its name is taken)")
        return None
    if (
        operation.method == "PATCH"
        and one.nullable
        and not required
        and found.request == "json"
    ):
        found.nulls.append(name)
    found.left_out += [f"{shown}: {text}" for text in one.notes]
    return None


def _is_file(operation: Operation, plain: dict[str, Any]) -> bool:
    """Whether a field of a form holds a file, or several."""
    inner = plain
    if plain.get("type") == "array":
        inner = operation.document.followed(plain.get("items") or {})
    encoded = str(inner.get("contentMediaType", "")).startswith(
        ("application/octet", "image/")
    )
    return inner.get("format") == "binary" or encoded


def inside(
    operation: Operation,
    plain: dict[str, Any],
    most: int = 12,
    *,
    typed_too: bool = False,
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

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


def body(operation: Operation, inputs: Inputs, *, gated: bool) -> None:
    """The fields of a body in JSON or a form; a list, a text or a file is one parameter, the whole body.

    Raises:
        LeftOutError: The request cannot be sent.
    """
    kinds = list(map(str, operation.contents))
    needed = operation.body.get("required") is True
    if not kinds or operation.method in ("GET", "HEAD"):
        return _leave_body(operation, inputs, needed)
    chosen = min(kinds, key=_preference)
    media = operation.document.resolve_if_possible(operation.contents[chosen])
    try:
        schema = merged(operation.document, media.get("schema") or {})
    except UnresolvedError as error:
        raise LeftOutError(f"its body: {error}") from error
    _set_type(inputs, chosen)
    if not _has_fields(chosen):
        return _whole(operation, schema, chosen, needed, inputs)
    fields = properties_of(schema)
    if not fields:
        # A PUT that sends nothing of what it replaces would empty it.
        if schema.get("properties") == {} and not needed and operation.method != "PUT":
            return None
        return _whole(
            operation, schema, chosen, needed or operation.method == "PUT", inputs
        )
    if schema.get("variants"):
        inputs.left_out.append(
            f"which of {schema['variants']} forms its body takes (all fields are optional)"
        )
    required = required_of(schema)
    for name, inner in sorted(fields.items(), key=lambda item: item[0] not in required):
        _field(operation, name, inner, name in required, inputs, gated=gated)
    return None


def _leave_body(operation: Operation, inputs: Inputs, needed: bool) -> None:
    """Note that no body is sent.

    Raises:
        LeftOutError: The operation requires one.
    """
    if not operation.contents:
        if needed:
            raise LeftOutError("its body leads nowhere")
        return
    if needed:
        raise LeftOutError(
            f"it requires a body, which a {operation.method} does not send"
        )
    if operation.json_body[1].get("properties"):
        inputs.left_out.append(f"body (a {operation.method} sends none)")


def _preference(kind: str) -> int:
    """How well a media type of a body can be sent: plain JSON best, then forms, text, bytes."""
    plain = bare(kind)
    if is_json(kind):
        return 2 if "patch" in plain else 1 if SUFFIXED.fullmatch(plain) else 0
    forms = [FORM, MULTIPART]
    if plain in forms:
        return 3 + forms.index(plain)
    return 5 if TEXTUAL.fullmatch(plain) else 6


def _has_fields(kind: str) -> bool:
    return is_json(kind) or bare(kind) in (FORM, MULTIPART)


def _set_type(inputs: Inputs, kind: str) -> None:
    """Note how a body is sent: as JSON, as a form, or as a media type of its own."""
    plain = bare(kind)
    if plain == FORM:
        inputs.request = "form"
    elif plain == MULTIPART:
        inputs.request = "multipart"
    elif SUFFIXED.fullmatch(plain) or not is_json(kind):
        inputs.type = "application/octet-stream" if "*" in plain else plain


def _whole(
    operation: Operation,
    schema: dict[str, Any],
    kind: str,
    needed: bool,
    inputs: Inputs,
) -> None:
    """A body that is one value."""
    if bare(kind) in (FORM, MULTIPART):
        raise LeftOutError("its form has no fields")
    if not MEDIA_TYPE.fullmatch(bare(kind)):
        raise LeftOutError(f"its body is {clean(kind, 80)}, which no request can name")
    if is_json(kind):
        value = typed(operation.document, schema)
        set_object_fields(operation.document, schema, value)
        name = {"dict": "body", "object": "body", "str": "text"}.get(
            value.type, "value"
        )
        if value.type.startswith("list["):
            name = snake(operation.tail) or "items"
    else:
        text = TEXTUAL.fullmatch(bare(kind))
        value = Typed({"type": "str" if text else "file"})
        name = "text" if text else "file"
    if value.type == "any":
        name = "body"
    value.has_default = False
    base, number = name, 2
    while name in inputs.plain or name == "confirm":
        name, number = f"{base}_{number}", number + 1
    about = operation.body.get("description") or value.description
    parameter = param(
        name, value, needed, str(about) if about else f"The body, as {bare(kind)}."
    )
    inputs.add({**parameter, "whole": True})


def _field(
    operation: Operation,
    name: str,
    schema: Any,
    required: bool,
    inputs: Inputs,
    *,
    gated: bool,
) -> None:
    """One field of a body."""
    label = clean(name, 60) or "?"
    try:
        plain = merged(operation.document, schema)
        value = typed(operation.document, schema)
    except UnresolvedError as error:
        inputs.leave(
            required, f"its field {label}: {error}", f"field {label} ({error})"
        )
        return
    if plain.get("readOnly") is True:
        return
    is_reserved = name == "confirm" and gated and value.type != "bool"
    if plain.get("deprecated") is True and not required:
        inputs.left_out.append(f"field {label} (deprecated)")
    elif is_reserved or not WIRE_NAME.fullmatch(name):
        whole = f"its field {label} has a name that no parameter can have"
        inputs.leave(required, whole, f"field {label} (its name)")
    else:
        parameter = _describe_field(operation, name, plain, value, required, inputs)
        _add_field(operation, name, value, parameter, required, inputs)


def _add_field(
    operation: Operation,
    name: str,
    value: Typed,
    parameter: dict[str, Any],
    required: bool,
    inputs: Inputs,
) -> None:
    """Add the parameter of a field, unless the path has it already."""
    label = clean(name, 60) or "?"
    if operation.method == "DELETE" or is_version(name):
        parameter["in"] = "body"
    if mixed(parameter):
        whole = f"its field {label} {MIXED}"
        inputs.leave(required, whole, f"field {label} ({MIXED})")
        return
    if inputs.send_in_both(name, required=required or operation.method == "PUT"):
        return
    if inputs.add(parameter):
        _note_null(operation, name, value, required, inputs)
        inputs.left_out += [f"{label}: {text}" for text in value.notes]
    elif required or inputs.plain.get(python_name(name).lower()) != name:
        inputs.left_out.append(f"field {label} of the body (its name is taken)")


def _describe_field(
    operation: Operation,
    name: str,
    plain: dict[str, Any],
    value: Typed,
    required: bool,
    inputs: Inputs,
) -> dict[str, Any]:
    """Return the parameter of a field."""
    if inputs.request == "multipart" and _is_file(operation, plain):
        value.keys = {"type": "list[file]" if plain.get("type") == "array" else "file"}
        value.notes, value.has_default = [], False
    about = value.description
    if value.nullable and not required:
        # An omitted argument is not sent, and null counts as omitted.
        texts = [text for text in SENTENCE.split(about) if not NULL.search(text)]
        about = " ".join(texts)
        value.description = about
    set_object_fields(operation.document, plain, value)
    inner = ""
    if value.type in ("dict", "list[dict]"):
        inner = inside(operation, plain, typed_too=True)
    if not inner:
        return param(name, value, required, about)
    parameter = param(name, value, required, "")
    text = f"{sentences(about, 100)} Fields: {inner}.".strip()
    parameter["description"] = clean(text, 300)
    return parameter


def _note_null(
    operation: Operation, name: str, value: Typed, required: bool, inputs: Inputs
) -> None:
    """Note a field that a PATCH can set to null."""
    if (
        operation.method == "PATCH"
        and value.nullable
        and not required
        and inputs.request == "json"
    ):
        inputs.nulls.append(name)


def _is_file(operation: Operation, plain: dict[str, Any]) -> bool:
    """Whether a field of a form holds a file, or several."""
    inner = plain
    if plain.get("type") == "array":
        inner = operation.document.resolve_if_possible(plain.get("items") or {})
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
    names, described = [], []
    for name, inner in [*fields.items()][:most]:
        text = clean(name, 30)
        if not text:
            continue
        names.append(text)
        if typed_too:
            is_needed = not needed or name in needed
            described.append(f"{text}{_about_field(operation, inner, is_needed)}")
    listed = ", ".join(names)
    if typed_too:
        longer = ", ".join(described)
        listed = longer if len(longer) <= LONGEST_FIELDS else listed
    return listed + (" and more" if len(fields) > most else "")


def _about_field(operation: Operation, inner: Any, needed: bool) -> str:
    """What a field takes, in parentheses; nothing of a text that has to be there."""
    try:
        value = typed(operation.document, inner)
    except UnresolvedError:
        return ""
    choices = value.keys.get("choices", ())
    kind = " or ".join(map(str, choices)) if 0 < len(choices) <= 6 else value.type
    details = [kind] if kind not in ("str", "any") else []
    details += [] if needed else ["optional"]
    return f" ({', '.join(details)})" if details else ""

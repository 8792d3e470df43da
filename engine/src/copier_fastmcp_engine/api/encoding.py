"""How arguments are written into a path, a query, headers and a body."""

import base64
import binascii
import json
import mimetypes
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NotRequired
from urllib.parse import quote

from fastmcp.exceptions import ToolError
from pydantic_core import to_jsonable_python
from typing_extensions import TypedDict

FORM = "application/x-www-form-urlencoded"
MULTIPART = "multipart/form-data"
# Beyond this a float does not hold every whole number.
LARGEST_EXACT = 2**53
HEADER_VALUE = re.compile("[ -~]*")
JSON_TYPE = re.compile(r"(?:^|[/.+-])json$")
# How a list is written in one text, by OpenAPI's name of the style.
DELIMITERS = {"form": ",", "spaceDelimited": " ", "pipeDelimited": "|"}


class Upload(TypedDict):  # typing's own has no schema before Python 3.12
    """A file to send: its content in base64, or the path of a file in the folder that the operator chose."""

    filename: NotRequired[str]
    content_base64: NotRequired[str]
    path: NotRequired[str]
    content_type: NotRequired[str]


def to_json_value(value: object) -> Any:
    """Return a value as plain JSON, with whole numbers as integers: many APIs refuse `3.0`."""
    return _convert_whole_numbers(to_jsonable_python(value))


def _convert_whole_numbers(value: Any) -> Any:
    if isinstance(value, float) and value.is_integer() and abs(value) < LARGEST_EXACT:
        return int(value)
    if isinstance(value, list):
        return [_convert_whole_numbers(item) for item in value]
    if isinstance(value, dict):
        return {name: _convert_whole_numbers(item) for name, item in value.items()}
    return value


def given(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields that are not None: what a caller left out is not sent."""
    return {name: value for name, value in fields.items() if value is not None}


def quoted(value: object) -> str:
    """Return a value as one segment of a path.

    Raises:
        ToolError: The value is empty, or would lead to another path.
    """
    text = next(iter(to_texts(value)), "")
    segments = re.split(r"[/\\]", text)
    if not text or not text.isprintable() or "." in segments or ".." in segments:
        raise ToolError(f"{text!r} cannot be part of a path; pass a plain identifier")
    return quote(text, safe="")


def to_texts(value: object) -> list[str]:
    """Return a value as the texts that stand for it in a query, a header or a form; none for None."""
    plain = to_json_value(value)
    if plain is None:
        return []
    values = plain if isinstance(plain, list) else [plain]
    texts: list[str] = []
    for item in values:
        texts.append(item if isinstance(item, str) else json.dumps(item))
    return texts


def encode_query(
    query: Mapping[str, Any], styles: Mapping[str, str] | None = None
) -> list[tuple[str, str]]:
    """Return the pairs of a query.

    Args:
        query: Values by their names on the wire; None is left out.
        styles: OpenAPI's style of a name: `form` (one text with commas), `spaceDelimited`, `pipeDelimited`,
            `deepObject` or `json`. A name without a style is repeated for each value of a list.
    """
    pairs: list[tuple[str, str]] = []
    for name, value in query.items():
        plain = to_json_value(value)
        if plain is None:
            continue
        style = (styles or {}).get(name, "")
        if style == "json":
            pairs.append((name, json.dumps(plain)))
        elif isinstance(plain, dict):
            pairs += _encode_object(name, plain, style)
        elif isinstance(plain, list) and style in DELIMITERS:
            joined = DELIMITERS[style].join(to_texts(plain))
            pairs.append((name, joined))
        else:
            pairs += [(name, text) for text in to_texts(plain)]
    return pairs


def _encode_object(
    name: str, value: dict[str, Any], style: str
) -> list[tuple[str, str]]:
    """Return the pairs of an object in a query."""
    if style == "deepObject":
        return _flatten(name, value)
    if style in DELIMITERS:
        parts: list[str] = []
        for key, item in value.items():
            parts += [key, *to_texts(item)]
        return [(name, DELIMITERS[style].join(parts))]
    pairs: list[tuple[str, str]] = []
    for key, item in value.items():
        pairs += [(key, text) for text in to_texts(item)]
    return pairs


def _flatten(name: str, value: Any) -> list[tuple[str, str]]:
    """Return the pairs of a nested value, as in `a[b]=1`."""
    if isinstance(value, dict):
        pairs: list[tuple[str, str]] = []
        for key, item in value.items():
            pairs += _flatten(f"{name}[{key}]", item)
        return pairs
    return [(name, text) for text in to_texts(value)]


def encode_headers(headers: Mapping[str, Any]) -> dict[str, str]:
    """Return headers as texts; None is left out, a list becomes one text with commas.

    Raises:
        ToolError: A value has a character that no header can carry.
    """
    encoded: dict[str, str] = {}
    for name, value in headers.items():
        texts = to_texts(value)
        if not texts:
            continue
        text = ",".join(texts)
        if not HEADER_VALUE.fullmatch(text):
            raise ToolError(f"{name} goes into a header; pass plain ASCII text")
        encoded[name] = text
    return encoded


def encode_body(body: Any, content_type: str, folder: str = "") -> dict[str, Any]:
    """Return the keywords with which httpx2 sends a body.

    Args:
        body: The body; None for none.
        content_type: The media type that the tool names; JSON where it is empty.
        folder: The folder below which the paths of uploads are read; empty for none.

    Raises:
        ToolError: An upload cannot be read.
    """
    if body is None:
        return {}
    media_type, _, _ = content_type.partition(";")
    media_type = media_type.strip().lower()
    if media_type == FORM:
        return {"data": _form_fields(body)}
    if media_type == MULTIPART:
        return _multipart(body, folder)
    if media_type and not is_json(media_type):
        if isinstance(body, str | bytes):
            return {"content": body}
        if _is_upload(body):
            _, content, _ = _read_upload("body", body, folder)
            return {"content": content}
    return {"json": to_json_value(body)}


def is_json(media_type: str) -> bool:
    """Tell whether a media type is JSON, also one that only some APIs write: `text/json`, `json`."""
    return bool(JSON_TYPE.search(media_type))


def _form_fields(body: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return the fields of a form; a list repeats its name, an object becomes `name[key]`."""
    fields: dict[str, list[str]] = {}
    for name, value in to_json_value(body).items():
        for key, text in _flatten(name, value):
            fields.setdefault(key, []).append(text)
    return fields


def _multipart(body: Mapping[str, Any], folder: str) -> dict[str, Any]:
    """Return the parts of a multipart body: uploads are files, everything else is a field."""
    parts: list[tuple[str, tuple[str | None, bytes, str | None]]] = []
    for name, value in body.items():
        items = value if isinstance(value, list) else [value]
        for item in items:
            if _is_upload(item):
                parts.append((name, _read_upload(name, item, folder)))
            else:
                content_type = "application/json" if isinstance(item, dict) else None
                for text in to_texts(item):
                    parts.append((name, (None, text.encode(), content_type)))
    return {"files": parts}


def _is_upload(value: object) -> bool:
    return isinstance(value, dict) and ("content_base64" in value or "path" in value)


def _read_upload(
    name: str, upload: Mapping[str, Any], folder: str
) -> tuple[str, bytes, str]:
    """Return the file name, the content and the media type of an upload."""
    path = str(upload.get("path") or "")
    if path:
        content = _read_below(folder, path)
    else:
        encoded = str(upload.get("content_base64", ""))
        try:
            content = base64.b64decode(encoded, validate=True)
        except (ValueError, binascii.Error):
            raise ToolError(
                f"{name}: content_base64 is not base64; encode the file again"
            ) from None
    filename = str(upload.get("filename") or Path(path).name or "file")
    guessed, _ = mimetypes.guess_type(filename)
    media_type = upload.get("content_type") or guessed or "application/octet-stream"
    return filename, content, str(media_type)


def _read_below(folder: str, path: str) -> bytes:
    """Return the content of a file in the folder for uploads.

    Raises:
        ToolError: There is no such folder or file, or the path leads out of the folder.
    """
    if not folder:
        raise ToolError(
            f"{path!r}: this server reads no files; pass content_base64 instead"
        )
    root = Path(folder).expanduser().resolve()
    file = (root / path).resolve()
    if not file.is_relative_to(root):
        raise ToolError(
            f"{path!r} is outside the folder for uploads; pass a path within it"
        )
    try:
        return file.read_bytes()
    except OSError as error:
        raise ToolError(f"{path!r} cannot be read: {error.strerror or error}") from None

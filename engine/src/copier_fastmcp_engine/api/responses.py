"""Responses of the API, read within a limit of decoded bytes and otherwise unchanged."""

import codecs
import json
import logging
import math
import re
import zlib
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

import httpx2
import pydantic_core
from fastmcp.exceptions import ToolError
from fastmcp.tools import ToolResult
from fastmcp.utilities.types import Audio, File, Image
from mcp_types import ContentBlock, TextContent

from .encoding import is_json
from .redaction import Redactor

ENCODINGS = "gzip, deflate"
# zlib's number for a gzip or zlib header, whichever there is.
ANY_HEADER = 32 + zlib.MAX_WBITS
# Every member of a gzip body begins so; what else follows the first one is padding, which clients ignore.
GZIP_MEMBER = b"\x1f\x8b"
# Encodings that are none: some APIs send their charset in this header.
NOT_ENCODED = frozenset(("", "identity", "none", "utf-8", "utf8"))
# Python's codecs that are no charset of a text: escapes, parts of host names, an error.
NOT_CHARSETS = frozenset(
    ("idna", "punycode", "raw-unicode-escape", "undefined", "unicode-escape")
)
LONGEST_REASON = 60
# Deeper values cannot be written by the protocol's library, or read by its clients.
DEEPEST_VALUE = 150
TEXT_TYPES = frozenset(
    (
        "application/graphql",
        "application/javascript",
        "application/toml",
        "application/x-javascript",
        "application/x-www-form-urlencoded",
    )
)
# The last word of a subtype that is text, as in `x-yaml`, `vnd.a+xml` and `.csv`, which is no media type at all.
TEXT_SUBTYPE = re.compile(
    r"[/.+-](?:csv|jsonl|jsonlines|ndjson|text|tsv|txt|xml|yaml|yml)$"
)
# The start of a number that was cut: it is another number.
CUT_NUMBER = re.compile(r"[-+0-9.eE]+$")


class BodyKind(StrEnum):
    """The kind of a body."""

    JSON = "json"
    TEXT = "text"
    BINARY = "binary"
    EMPTY = "empty"


@dataclass(frozen=True)
class ApiResponse:
    """A response without secrets. `body` is JSON, text or bytes as received, None where it is empty."""

    request: str
    status: int
    headers: Mapping[str, str]
    media_type: str
    kind: BodyKind
    body: Any
    address: str = ""
    reason: str = ""
    next_link: str = ""
    cut: str = ""
    wrong_address: str = ""
    logger: logging.Logger = field(
        default=logging.getLogger(__name__), repr=False, compare=False
    )

    @property
    def is_success(self) -> bool:
        """Whether the status is 2xx."""
        return 200 <= self.status < 300

    @property
    def empty_notice(self) -> str:
        """The sentence that reports an empty body."""
        return (
            f"{self.request} answered {self.status} {self.reason}".rstrip()
            + " with an empty body."
        )

    def next_cursor(self, parameter: str) -> str | None:
        """Return a parameter's value in the link to the next page, if the API sent such a link."""
        try:
            query = urlsplit(self.next_link).query
        except ValueError:  # not an address
            return None
        return dict(parse_qsl(query)).get(parameter)

    def structured(self) -> dict[str, Any]:
        """Return the body as structured content: an object as it is, anything else as `result`."""
        if self.kind is BodyKind.JSON and isinstance(self.body, dict):
            return self.body
        if self.kind is BodyKind.BINARY:
            described = {
                "media_type": self.media_type,
                "bytes": len(self.body),
                "file": self.file_name,
            }
            return {"result": described}
        return {"result": self.body}

    def content(self) -> list[ContentBlock]:
        """Return the body as content blocks."""
        blocks: list[ContentBlock]
        if self.kind is BodyKind.EMPTY:
            return [_text(self.empty_notice)]
        if self.kind is BodyKind.TEXT:
            blocks = [_text(self.body)]
        elif self.kind is BodyKind.BINARY:
            blocks = [self._file_block()]
        else:
            blocks = [_text(pydantic_core.to_json(self.structured()).decode())]
        return [_text(self.cut), *blocks] if self.cut else blocks

    def to_tool_result(self) -> ToolResult:
        """Return the response as content alone, for a tool whose responses are files."""
        if self.kind is BodyKind.JSON and not self.cut:
            return ToolResult(
                content=[_text(pydantic_core.to_json(self.body).decode())]
            )
        return ToolResult(content=self.content())

    @property
    def file_name(self) -> str:
        """The name of the file that a binary body is."""
        disposition = self.headers.get("content-disposition", "")
        match = re.search(r'filename="?([^";]+)', disposition)
        path = match[1] if match else unquote(urlsplit(self.address).path)
        name = re.sub(r"[^\w. -]", "_", re.split(r"[/\\]", path)[-1])
        return name.strip(". ") or "file"

    def _file_block(self) -> ContentBlock:
        if self.media_type.startswith("image/"):
            return Image(data=self.body).to_image_content(mime_type=self.media_type)
        if self.media_type.startswith("audio/"):
            return Audio(data=self.body).to_audio_content(mime_type=self.media_type)
        file = File(data=self.body, name=self.file_name)
        return file.to_resource_content(mime_type=self.media_type)


def _text(text: str) -> TextContent:
    return TextContent(type="text", text=text)


async def read_limited(response: httpx2.Response, limit: int) -> tuple[bytes, bool]:
    """Read and decode the body of a streamed response.

    Args:
        response: The response, whose body has not been read.
        limit: The most decoded bytes to hold.

    Returns:
        The decoded bytes, and whether there are more than the limit.

    Raises:
        httpx2.DecodingError: The body is not encoded as its headers say.
    """
    if response.is_stream_consumed:  # a prepared response, as in tests
        return response.content[:limit], len(response.content) > limit
    coding = response.headers.get("Content-Encoding", "").strip().lower()
    if coding in NOT_ENCODED:
        chunks: AsyncIterator[bytes] = response.aiter_raw()
    elif coding in ("gzip", "x-gzip", "deflate"):
        chunks = _inflated_chunks(response, limit, coding)
    else:
        raise httpx2.DecodingError(f"unexpected content encoding {coding[:40]}")
    content = bytearray()
    async for chunk in chunks:
        content += chunk
        if len(content) > limit:
            return bytes(content[:limit]), True
    return bytes(content), False


async def _inflated_chunks(
    response: httpx2.Response, limit: int, coding: str
) -> AsyncIterator[bytes]:
    """Yield decoded chunks, none of which is larger than the limit and one byte."""
    decoder = zlib.decompressobj(ANY_HEADER)
    started = False
    async for received in response.aiter_raw():
        data = received
        while data:
            if decoder.eof:
                if not data.startswith(GZIP_MEMBER[: len(data)]):
                    return
                decoder = zlib.decompressobj(ANY_HEADER)
            try:
                decoded = decoder.decompress(data, limit + 1)
            except zlib.error:
                if started or coding != "deflate":
                    raise httpx2.DecodingError(
                        "the body is not compressed as it says"
                    ) from None
                decoder, started = zlib.decompressobj(-zlib.MAX_WBITS), True
                continue
            started = True
            yield decoded
            data = decoder.unused_data if decoder.eof else decoder.unconsumed_tail
    if started and not decoder.eof:
        raise httpx2.DecodingError("the compressed body ends too early")


def parse_body(
    content: bytes, content_type: str, *, partial: bool = False
) -> tuple[BodyKind, str, Any]:
    """Parse a body by its media type.

    Args:
        content: The decoded bytes.
        content_type: The header, empty where there is none.
        partial: Whether the content was cut, so that JSON ends early.

    Returns:
        What the body is, its media type, and the value.
    """
    # A header that comes twice is joined by a comma.
    media_type = re.split("[;,]", content_type)[0].strip().lower()
    if not content:
        return BodyKind.EMPTY, media_type, None
    charset = _find_charset(content_type)
    if is_json(media_type) or not media_type:
        value, parsed = _parse_json(content, charset, partial=partial)
        if parsed:
            return BodyKind.JSON, media_type, value
    if media_type and not is_text(media_type):
        return BodyKind.BINARY, media_type, content
    if not media_type and b"\0" in content[:1000]:
        return BodyKind.BINARY, "application/octet-stream", content
    return BodyKind.TEXT, media_type, _decode(content, charset, partial=partial)


def is_text(media_type: str) -> bool:
    """Tell whether a media type is text."""
    is_textual = media_type.startswith("text/") or media_type in TEXT_TYPES
    return is_textual or is_json(media_type) or bool(TEXT_SUBTYPE.search(media_type))


def _find_charset(content_type: str) -> str:
    """Return the charset that a header names, empty where it names none that a text can have."""
    match = re.search(r"(?i)charset=[\"']?([\w.:-]+)", content_type)
    if not match:
        return ""
    try:
        b" ".decode(match[1], "ignore")  # other codecs make no text
        name = codecs.lookup(match[1]).name
    except (LookupError, UnicodeError):
        return ""
    return "" if name.replace("_", "-") in NOT_CHARSETS else name


def _decode(content: bytes, charset: str, *, partial: bool) -> str:
    """Decode text; bytes that do not fit are kept as the characters of Latin-1."""
    for name in (charset, "utf-8"):
        if not name:
            continue
        try:
            decoder = codecs.getincrementaldecoder(name)()
            # Where a body is cut, the last character may be.
            text = decoder.decode(content, final=not partial)
            text.encode()
        except (UnicodeError, LookupError):
            continue
        return text.removeprefix("\ufeff")
    return content.decode("latin-1")


def _parse_json(content: bytes, charset: str, *, partial: bool) -> tuple[Any, bool]:
    """Return a JSON value, and whether the content is one that can be returned as such."""
    text = _decode(content, charset or json.detect_encoding(content), partial=partial)
    try:
        if partial:
            whole = CUT_NUMBER.sub("", text)
            value = pydantic_core.from_json(whole, allow_partial=True)
        else:
            value = json.loads(text, parse_constant=str, parse_float=_parse_finite)
        return _make_storable(value), True
    except (ValueError, RecursionError):
        return None, False


def _parse_finite(text: str) -> float | str:
    """Return a number, as text where a float cannot hold it."""
    number = float(text)
    return number if math.isfinite(number) else text


def _make_storable(value: Any, depth: int = 1) -> Any:
    """Return a value that can be written as JSON: half a surrogate pair and infinity become text.

    Raises:
        ValueError: The value is nested too deeply.
    """
    if depth > DEEPEST_VALUE:
        raise ValueError("nested too deeply")
    if isinstance(value, str):
        return (
            value
            if value.isascii()
            else value.encode("utf-8", "backslashreplace").decode()
        )
    if isinstance(value, float) and not math.isfinite(value):
        return json.dumps(value)
    if isinstance(value, list):
        return [_make_storable(item, depth + 1) for item in value]
    if isinstance(value, dict):
        storable: dict[str, Any] = {}
        for name, item in value.items():
            storable[_make_storable(name)] = _make_storable(item, depth + 1)
        return storable
    return value


def _plain_reason(reason: str) -> str:
    """Return the words of a status as a part of one line."""
    return "".join(filter(str.isprintable, reason))[:LONGEST_REASON]


def build_response(
    response: httpx2.Response,
    content: bytes,
    *,
    request: str,
    redactor: Redactor,
    cut: str = "",
    wrong_address: str = "",
    logger: logging.Logger,
) -> ApiResponse:
    """Build what a tool gets from a response that was read.

    Args:
        response: The response of the HTTP library.
        content: Its decoded bytes.
        request: The method and the path, for messages.
        redactor: Removes the secrets.
        cut: What was cut and how to get it; empty where the content is whole.
        wrong_address: What to say where the response cannot be the API's.
        logger: Gets one line where something is unusual.

    Raises:
        ToolError: A file is larger than the limit; half a file is of no use.
    """
    content_type = redactor.text(response.headers.get("Content-Type", ""))
    kind, media_type, body = parse_body(content, content_type, partial=bool(cut))
    if kind is BodyKind.TEXT and is_json(media_type):
        logger.warning(
            "%s: the response is not the JSON that it claims to be, or nested too deeply; returned as text",
            request,
        )
    if kind is BodyKind.BINARY:
        if cut:
            raise ToolError(cut)
        body = redactor.data(body)
    else:
        body = redactor.value(body)
    if kind is BodyKind.TEXT and cut:
        body = redactor.without_cut_secret(body)
    headers = {
        name.lower(): redactor.text(text) for name, text in response.headers.items()
    }
    return ApiResponse(
        request=request,
        status=response.status_code,
        headers=headers,
        media_type=media_type,
        kind=kind,
        body=body,
        address=redactor.text(str(response.url)),
        reason=_plain_reason(redactor.text(response.reason_phrase)),
        next_link=redactor.text(response.links.get("next", {}).get("url") or ""),
        cut=cut,
        wrong_address=wrong_address,
        logger=logger,
    )

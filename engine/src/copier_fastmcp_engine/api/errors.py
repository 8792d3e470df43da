"""Failures of the API as one line each: what was asked, the status, the API's own message, what to do."""

import json
import re
from collections.abc import Iterable
from typing import Any
from urllib.parse import urlsplit

import httpx2

from .redaction import Redactor
from .responses import BodyKind, parse_body

LONGEST_MESSAGE = 200
# Where APIs have their own words for what went wrong, the most telling first.
MESSAGE_FIELDS = (
    "message",
    "detail",
    "error_description",
    "exception_message",
    "error",
    "errors",
    "reason",
    "title",
    "msg",
)
DETAIL_FIELDS = ("exception_detail", "details", "validation_errors")
# Messages are not nested deeper than this; a hostile body may be.
DEEPEST_MESSAGE = 12
LONGEST_HOST = 100
LONGEST_PAUSE = 6
REMEDIES = {
    304: "it has not changed since that version",
    400: "correct the arguments and call again",
    401: "the API does not accept this server's token; tell its operator",
    403: "this server's token does not permit this; tell its operator",
    404: "list or search to see what exists",
    405: "the API does not have this operation here",
    409: "it exists already or was changed meanwhile; read it again",
    412: "it was changed since; read it again and repeat with its new etag",
    422: "correct the arguments and call again",
    429: "too many requests; wait before calling again",
}


def describe_unreachable(
    error: httpx2.RequestError,
    request: str,
    address: str,
    seconds: float,
    *,
    is_read: bool,
) -> str:
    """Return one line for a request that got no response.

    Args:
        error: The error of the HTTP library, whose own text may contain secrets.
        request: The method and the path.
        address: The address of the API.
        seconds: The deadline of a call.
        is_read: Whether nothing can have changed.
    """
    if isinstance(error, httpx2.TimeoutException):
        return describe_timeout(request, seconds, is_read=is_read)
    kind, host = type(error).__name__, urlsplit(address).netloc
    if isinstance(error, httpx2.DecodingError):
        return f"{request}: the response of {host} cannot be decoded; tell the operator"
    unsure = (
        "" if is_read or never_sent(error) else "; it may have been done, so look first"
    )
    if isinstance(error, httpx2.RemoteProtocolError):
        problem = "is not HTTP, or ended early; try again later"
        return f"{request}: the response of {host} {problem}{unsure}"
    return f"{request}: {kind}, so {host} cannot be reached; try again later{unsure}"


def describe_timeout(request: str, seconds: float, *, is_read: bool) -> str:
    """Return one line for a call that took longer than its deadline."""
    unsure = "" if is_read else "; it may have been done, so look first"
    return f"{request}: the API did not answer in {seconds:g} s; try again{unsure}"


def never_sent(error: Exception) -> bool:
    """Tell whether an error came before any byte of a request was sent."""
    return isinstance(
        error,
        httpx2.ConnectError
        | httpx2.ConnectTimeout
        | httpx2.PoolTimeout
        | httpx2.UnsupportedProtocol,
    )


def describe_refusal(
    response: httpx2.Response,
    content: bytes,
    request: str,
    redactor: Redactor,
    *,
    wrong_address: str,
    token_hint: str,
    is_cut: bool = False,
) -> str:
    """Return one line for a response with a status that is no success.

    Args:
        response: The response.
        content: Its decoded bytes, or the first of them.
        request: The method and the path.
        redactor: Removes the secrets.
        wrong_address: What to say where the response is a web page and not the API's.
        token_hint: What to say of a 401 where no token is sent; empty where one is.
        is_cut: Whether there are more bytes than these.
    """
    status = response.status_code
    content_type = response.headers.get("Content-Type", "")
    kind, media_type, body = parse_body(content, content_type, partial=is_cut)
    if media_type == "text/html" and status in (404, 405):
        return f"{wrong_address.format(answered=f'{status} text/html')}"
    if kind is BodyKind.JSON:
        message = extract_message(body)
    else:
        message = first_line(body) if kind is BodyKind.TEXT else ""
    message = shorten(redactor.text(message))
    remedy = REMEDIES.get(status, "correct the arguments and call again")
    if status >= 500:
        remedy = "try again later"
    elif status == 401 and token_hint:
        remedy = token_hint
    elif response.is_redirect and status not in REMEDIES:
        place = _host_of(redactor.text(response.headers.get("Location", "")))
        remedy = f"the API has moved to {place or 'another path'}; tell the operator"
    retry_after = response.headers.get("Retry-After", "")
    is_pause = retry_after.isdecimal() and len(retry_after) <= LONGEST_PAUSE
    if status in (429, 503) and is_pause:
        remedy += f" ({retry_after} s)"
    answered = f"{request} answered {status}"
    return f"{answered}: {message}; {remedy}" if message else f"{answered}; {remedy}"


def _host_of(location: str) -> str:
    """Return the host of an address without a user and a password; empty where there is none."""
    try:
        parts = urlsplit(location)
        host = parts.hostname or ""
        port = f":{parts.port}" if parts.port else ""
    except ValueError:  # not an address
        return ""
    plain = "".join(filter(str.isprintable, host))[:LONGEST_HOST]
    return f"{plain}{port}"


def shorten(message: str) -> str:
    """Return a message of the API as a part of one line."""
    plain = "".join(filter(str.isprintable, " ".join(message.split())))
    if len(plain) > LONGEST_MESSAGE:
        return f"{plain[: LONGEST_MESSAGE - 1]}…"
    return plain.removesuffix(".")


def first_line(text: str) -> str:
    """Return the first line of an error in plain text; nothing of a web page."""
    plain = text.strip()
    return "" if plain.startswith("<") else plain.split("\n", 1)[0]


def extract_message(body: Any, depth: int = 1) -> str:
    """Return the API's own words for what went wrong, empty if there are none.

    Each part of the body is visited once.

    Args:
        body: The parsed body of an error.
        depth: How deep in the body of the response this part is.
    """
    if isinstance(body, str):
        return body
    if depth > DEEPEST_MESSAGE:
        return ""
    if isinstance(body, list):
        messages = [extract_message(item, depth + 1) for item in body[:3]]
        return ", ".join(message for message in messages if message)
    return _extract_from_object(body, depth) if isinstance(body, dict) else ""


def _extract_from_object(body: dict[str, Any], depth: int) -> str:
    """Return the message of an object: of its known fields, else of any other field."""
    message = _first_message(body, MESSAGE_FIELDS, depth)
    for name in DETAIL_FIELDS:
        details = extract_message(body.get(name), depth + 1)
        if details and details not in message:
            message = f"{message} {details}".strip()
    if message:
        return _with_location(body, message)
    if body and not any(isinstance(value, dict | list) for value in body.values()):
        return re.sub(r'[{}"]', "", json.dumps(body, ensure_ascii=False))
    others = [name for name in body if name not in MESSAGE_FIELDS + DETAIL_FIELDS]
    return _first_message(body, others, depth)


def _first_message(body: dict[str, Any], names: Iterable[str], depth: int) -> str:
    """Return the first message of some fields."""
    for name in names:
        if message := extract_message(body.get(name), depth + 1):
            return message
    return ""


def _with_location(body: dict[str, Any], message: str) -> str:
    """Return a message with the field that it is about, as validators report it."""
    location = body.get("loc") or body.get("field") or body.get("param") or ""
    if isinstance(location, list):
        location = ".".join(str(part) for part in location)
    if isinstance(location, str) and location and location not in message:
        return f"{location}: {message}"
    return message

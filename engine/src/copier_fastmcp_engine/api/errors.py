"""Failures of the API as one line each: what was asked, the status, the API's own message, what to do."""

import json
import re
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
REMEDIES = {
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
) -> str:
    """Return one line for a response with a status that is no success.

    Args:
        response: The response.
        content: Its decoded bytes, or the first of them.
        request: The method and the path.
        redactor: Removes the secrets.
        wrong_address: What to say where the response is a web page and not the API's.
        token_hint: What to say of a 401 where no token is sent; empty where one is.
    """
    status = response.status_code
    kind, media_type, body = parse_body(
        content, response.headers.get("Content-Type", "")
    )
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
    elif response.is_redirect:
        place = urlsplit(response.headers.get("Location", "")).netloc or "another path"
        remedy = f"the API has moved to {redactor.text(place)}; tell the operator"
    retry_after = response.headers.get("Retry-After", "")
    if status in (429, 503) and retry_after.isdecimal():
        remedy += f" ({retry_after} s)"
    answered = f"{request} answered {status}"
    return f"{answered}: {message}; {remedy}" if message else f"{answered}; {remedy}"


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


def extract_message(body: Any) -> str:
    """Return the API's own words for what went wrong, empty if there are none.

    Args:
        body: The parsed body of an error.
    """
    if isinstance(body, str):
        return body
    if isinstance(body, list):
        messages = [extract_message(item) for item in body[:3]]
        return ", ".join(message for message in messages if message)
    if not isinstance(body, dict):
        return ""
    message = ""
    for name in MESSAGE_FIELDS:
        message = extract_message(body.get(name))
        if message:
            break
    for name in DETAIL_FIELDS:
        details = extract_message(body.get(name))
        if details and details not in message:
            message = f"{message} {details}".strip()
    if message:
        return _with_location(body, message)
    if body and not any(isinstance(value, dict | list) for value in body.values()):
        return re.sub(r'[{}"]', "", json.dumps(body, ensure_ascii=False))
    return next(filter(None, map(extract_message, body.values())), "")


def _with_location(body: dict[str, Any], message: str) -> str:
    """Return a message with the field that it is about, as validators report it."""
    location = body.get("loc") or body.get("field") or body.get("param") or ""
    if isinstance(location, list):
        location = ".".join(str(part) for part in location)
    if isinstance(location, str) and location and location not in message:
        return f"{location}: {message}"
    return message

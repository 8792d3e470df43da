"""Whether the result of a tool is what the service answered."""

import base64
import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from live.recording import Exchange
from live.scenarios import Step

VERDICTS = ("right", "lost", "refused", "sent wrongly", "no tool")


@dataclass(frozen=True)
class Judgement:
    """A verdict, and why."""

    operation: str
    verdict: str
    reason: str = ""


def parse(exchange: Exchange) -> Any:
    """Return the body of a response as JSON, as text, or None where it is empty."""
    if not exchange.response:
        return None
    if "json" in exchange.media_type:
        with suppress(ValueError):  # some pages claim to be JSON
            return json.loads(exchange.response)
    try:
        return exchange.response.decode()
    except UnicodeDecodeError:
        return exchange.response


def value_at(body: Any, place: str) -> Any:
    """Return a value of a body by its place, as `a.0.b`; with a `#` at the end its length; None where there is none."""
    value = body
    for key in filter(None, place.rstrip("#").split(".")):
        if isinstance(value, list) and key.isdecimal() and int(key) < len(value):
            value = value[int(key)]
        elif isinstance(value, Mapping):
            value = value.get(key)
        else:
            return None
    return len(value) if place.endswith("#") and value is not None else value


def message_of(body: Any) -> str:
    """Return the service's own words in an error; empty where they are not plain."""
    if isinstance(body, Mapping):
        for name in ("message", "detail", "exception_message", "error"):
            if isinstance(body.get(name), str):
                return str(body[name])
    return ""


def _parse_text(text: str) -> Any:
    """Return the JSON value of a text; None where it is none."""
    with suppress(ValueError):
        return json.loads(text)
    return None


def judge(
    step: Step,
    exchange: Exchange | None,
    result: Any,
    is_error: bool,
    blocks: list[Any],
) -> Judgement:
    """Compare the result of a call with the response.

    Args:
        step: What was called.
        exchange: The request and response on the wire; None if nothing was sent.
        result: The structured result without an envelope.
        is_error: Whether the call failed.
        blocks: The content blocks.
    """
    text = " ".join(getattr(block, "text", "") for block in blocks)
    if exchange is None:
        reason = f"nothing was sent: {text[:200]}"
        return Judgement(step.operation, "sent wrongly", reason)
    if exchange.status >= 400:
        return _judge_error(step, exchange, is_error, text)
    deviation = _find_deviation(step, exchange)
    if deviation:
        return Judgement(step.operation, "sent wrongly", deviation)
    if is_error:
        return Judgement(step.operation, "refused", text[:300])
    return _judge_result(step, exchange, result, blocks)


def _judge_error(
    step: Step, exchange: Exchange, is_error: bool, text: str
) -> Judgement:
    """Judge what a tool prints of an error of the service."""
    body, status = parse(exchange), exchange.status
    if status != step.status:
        sent = f"{exchange.method} {exchange.path}"
        reason = f"{sent}: {status} {str(body)[:300]}"
        return Judgement(step.operation, "sent wrongly", reason)
    message = message_of(body).rstrip(".")[:80]
    printed = is_error and str(status) in text and message in text
    return Judgement(step.operation, "right" if printed else "lost", text[:200])


def _find_deviation(step: Step, exchange: Exchange) -> str:
    """Return how a successful response differs from the one the step expects; empty if it does not."""
    sent = f"{exchange.method} {exchange.path}"
    if step.status:
        return f"{sent}: {exchange.status}, not {step.status}"
    body = parse(exchange)
    for place, value in step.values.items():
        actual = value_at(body, place)
        if actual != value:
            return f"{sent}: {place} is {actual!r}, not {value!r}"[:300]
    return ""


def _judge_result(
    step: Step, exchange: Exchange, result: Any, blocks: list[Any]
) -> Judgement:
    """Compare the result of a tool with the body of a successful response."""
    body = parse(exchange)
    if isinstance(body, bytes):
        data = [getattr(block, "data", "") for block in blocks]
        fits = base64.b64encode(body).decode() in data
        return Judgement(step.operation, "right" if fits else "lost")
    if result is None and "json" in exchange.media_type:
        # A tool whose responses are documented as files has no structured content.
        result = _parse_text(" ".join(getattr(block, "text", "") for block in blocks))
    expected = body if isinstance(body, Mapping) else {"result": body}
    if result in (expected, body):
        return Judgement(step.operation, "right")
    reason = f"{str(result)[:150]} for {str(expected)[:150]}"
    return Judgement(step.operation, "lost", reason)

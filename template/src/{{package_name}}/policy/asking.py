"""Asking the person in front of a client, with a form or a link. Managed by the template.

Until 2025-11-25 a server asks during the call (`elicit`); from 2026-07-28 it answers the call with its question,
and the client calls again with the answer (`input_required`).
"""

import json
import logging
from typing import Any, Literal

import anyio
import mcp_types as wire
from fastmcp import Context
from fastmcp.exceptions import FastMCPError
from fastmcp.tools.base import InputRequiredToolResult, ToolResult
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from .pending import GATES

logger = logging.getLogger(__name__)
Question = wire.ElicitRequestFormParams | wire.ElicitRequestURLParams
METHOD_NOT_FOUND = -32601


class Asked(FastMCPError):
    """Carries out of a body what the client gets while a person is asked: a result, or a protocol error."""

    def __init__(self, instead: ToolResult | MCPError) -> None:
        super().__init__("only a tool that the policy declared can ask", log_level=logging.DEBUG)
        self.instead = instead


def is_modern(ctx: Context) -> bool:
    """Whether the connection speaks a protocol without server-initiated requests."""
    request = ctx.request_context
    return request is None or request.protocol_version in MODERN_PROTOCOL_VERSIONS


def shows(ctx: Context) -> set[Literal["form", "url"]]:
    """What this client declared that it can show; a bare `elicitation: {}` means forms."""
    request = ctx.request_context
    capabilities = request.session.client_capabilities if request else None
    declared = capabilities.elicitation if capabilities else None
    kinds: set[Literal["form", "url"]] = set()
    if declared and (declared.form is not None or declared.url is None):
        kinds.add("form")
    recent = request and request.protocol_version >= "2025-11-25"  # when links came
    if recent and declared and declared.url is not None:
        kinds.add("url")
    return kinds


async def is_mute(ctx: Context) -> bool:
    """Whether this session's client declared that it can be asked, and then could not."""
    return not is_modern(ctx) and await GATES[ctx.fastmcp].is_mute(ctx.session_id)


async def elicit(ctx: Context, question: Question, seconds: float) -> wire.ElicitResult | None:
    """Ask during the call: the answer, or None where this client could not be asked after all.

    One that knows no such method is not asked again. TimeoutError: no answer within `seconds`.
    """
    session, request = ctx.session, ctx.request_id
    try:
        with anyio.fail_after(seconds):
            if isinstance(question, wire.ElicitRequestURLParams):
                identity = question.elicitation_id or ""
                return await session.elicit_url(question.message, question.url, identity, request)
            return await session.elicit_form(question.message, question.requested_schema, request)
    except ValidationError:
        return None
    except MCPError as error:
        if error.error.code == METHOD_NOT_FOUND:
            await GATES[ctx.fastmcp].mute(ctx.session_id)
        return None


def input_required(name: str, question: Question, state: str) -> Asked:
    """The question as the answer of a 2026-07-28 call; the SDK seals `state`, which comes back with the answer."""
    requests = {name: wire.ElicitRequest(params=question)}
    result = wire.InputRequiredResult(input_requests=requests, request_state=state)
    return Asked(InputRequiredToolResult(result))


def answer_to(ctx: Context, name: str) -> object | None:
    """What this request answers to the question `name`; None when it brings no state that we sealed."""
    return (ctx.input_responses or {}).get(name) if ctx.request_state else None


def log_step(event: str, ctx: Context, tool: str, details: dict[str, Any]) -> None:
    """One line for each step of asking; never an argument's value, a link, a user or a token."""
    era = "2026-07-28" if is_modern(ctx) else "handshake"
    logger.info(json.dumps({"event": event, "tool": tool, "era": era, **details}))

"""Elicitation in both protocol eras: what a client can show, and how it is asked.

Until 2025-11-25 a server asks during the call (`elicit`); from 2026-07-28 it answers the call with its question, and
the client calls again with the answer (`input_required`).
"""

import hashlib
import json
import logging
from typing import Any

import anyio
import mcp_types as wire
from fastmcp import Context
from fastmcp.exceptions import FastMCPError
from fastmcp.server.dependencies import get_access_token
from fastmcp.tools.base import InputRequiredToolResult, ToolResult
from mcp.server.auth.provider import principal_components
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError
from pydantic_core import to_jsonable_python

from ..policy import Policy
from .pending import PendingStore

METHOD_NOT_FOUND = -32601
DAY = 86_400
PROCESS = "process"  # a caller with neither a token nor a session


class Asked(FastMCPError):
    """Carries out of a body what the client gets instead, as while a person is asked."""

    def __init__(self, instead: ToolResult) -> None:
        text = getattr(instead.content[0], "text", "") if instead.content else ""
        super().__init__(
            text or "only what the policy declared can ask", log_level=logging.DEBUG
        )
        self.instead = instead


def is_modern(ctx: Context) -> bool:
    """Tell whether the connection uses a protocol without server-initiated requests."""
    request = ctx.request_context
    return request is None or request.protocol_version in MODERN_PROTOCOL_VERSIONS


def elicitation_capability(ctx: Context) -> wire.ElicitationCapability | None:
    """Return what this client declared about asking its user."""
    request = ctx.request_context
    capabilities = request.session.client_capabilities if request else None
    return capabilities.elicitation if capabilities else None


async def is_mute(ctx: Context, gate: PendingStore) -> bool:
    """Tell whether this session's client declared that it can be asked, and then could not."""
    if is_modern(ctx):
        return False
    return await gate.get(f"mute-{ctx.session_id}") is not None


async def shows_forms(ctx: Context, gate: PendingStore) -> bool:
    """Tell whether this client can show a form; a bare `elicitation: {}` means one."""
    capability = elicitation_capability(ctx)
    if capability is None:
        return False
    has_form = capability.form is not None or capability.url is None
    return has_form and not await is_mute(ctx, gate)


async def shows_links(ctx: Context, gate: PendingStore) -> bool:
    """Tell whether this client can show a link (URL elicitation came with 2025-11-25)."""
    request = ctx.request_context
    capability = elicitation_capability(ctx)
    if request is None or request.protocol_version < "2025-11-25":
        return False
    if capability is None or capability.url is None:
        return False
    return not await is_mute(ctx, gate)


def digest(*parts: object) -> str:
    """Return one name for a combination of values, whatever the order of their keys."""
    text = json.dumps(to_jsonable_python(parts, fallback=str), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def caller_of(ctx: Context) -> str:
    """Name the caller: the token's user, else the session, else the process (the ADR states what that leaves open)."""
    token = get_access_token()
    if token is not None:
        return f"user:{digest(principal_components(token), token.claims.get('sub'))}"
    return PROCESS if is_modern(ctx) else f"session:{ctx.session_id}"


async def elicit(
    ctx: Context,
    gate: PendingStore,
    question: wire.ElicitRequestParams,
    seconds: float,
) -> wire.ElicitResult | None:
    """Ask during the call.

    Args:
        ctx: The call's context.
        gate: Where the server remembers the clients that cannot be asked.
        question: What is asked.
        seconds: How long the answer may take.

    Returns:
        The answer, or None where this client could not be asked after all. A client that does not
        know the method is not asked again in this session.

    Raises:
        TimeoutError: There was no answer within `seconds`.
    """
    request = wire.ElicitRequest(params=question)
    metadata = ServerMessageMetadata(ctx.request_id)
    try:
        with anyio.fail_after(seconds):
            return await ctx.session.send_request(
                request, wire.ElicitResult, metadata=metadata
            )
    except ValidationError:
        return None
    except MCPError as error:
        if error.error.code == METHOD_NOT_FOUND:
            await gate.put(f"mute-{ctx.session_id}", {}, DAY)
        return None


def input_required(name: str, question: wire.ElicitRequestParams, state: str) -> Asked:
    """Make the question the result of a 2026-07-28 call; the SDK seals `state`, which comes back with the answer."""
    requests = {name: wire.ElicitRequest(params=question)}
    result = wire.InputRequiredResult(input_requests=requests, request_state=state)
    return Asked(InputRequiredToolResult(result))


def response_to(ctx: Context, name: str) -> object | None:
    """Return what this request answers to the question `name`; None when it brings no state that we sealed."""
    if not ctx.request_state:
        return None
    return (ctx.input_responses or {}).get(name)


def log_step(
    event: str, policy: Policy, ctx: Context, tool: str, details: dict[str, Any]
) -> None:
    """Log one step of asking; never an argument's value, a link, a user or a token."""
    era = "2026-07-28" if is_modern(ctx) else "handshake"
    line = json.dumps({"event": event, "tool": tool, "era": era, **details})
    policy.logger("confirmation").info(line)

"""Asking the person in front of a client: forms and links, what is answered, where questions wait.

Managed by the template. Until 2025-11-25 a server asks during the call (`elicit`); from 2026-07-28 it answers the
call with its question, and the client calls again with the answer (`input_required`).
"""

import contextlib
import dataclasses
import hashlib
import json
import logging
from collections.abc import Iterator, Mapping
from contextvars import ContextVar
from enum import StrEnum
from pathlib import Path, PosixPath
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar

import anyio
import mcp_types as wire
from fastmcp import Context
from fastmcp.exceptions import FastMCPError, ToolError
from fastmcp.server.dependencies import get_access_token
from fastmcp.tools.base import InputRequiredToolResult, ToolResult
from key_value.aio.protocols.key_value import AsyncCullProtocol, AsyncKeyValue
from key_value.aio.stores.memory import MemoryStore
from mcp.server.auth.provider import principal_components
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import BaseModel, Field, ValidationError
from pydantic_core import to_jsonable_python

from .errors import StartError
from .process import because, place

if TYPE_CHECKING:
    from .guarding import PolicyServer
    from .trail import Trail

logger = logging.getLogger(__name__)
METHOD_NOT_FOUND, DAY = -32601, 86_400
R = TypeVar("R")
Outcome = Literal["applied", "preview", "waiting", "declined", "cancelled", "timed_out"]
Approver = Literal["person", "client"]
MOST = 10_000  # a flood of questions pushes out old ones, never fills the memory
QUESTIONS = "confirmations"


class Gate:
    """The pending questions of one server, kept in `memory`, in a folder, or behind a `redis://` address.

    StartError: they cannot be kept there.
    """

    def __init__(self, where: str, seconds: float, trail: "Trail") -> None:
        self.seconds, self.trail, self._puts = seconds, trail, 0
        self.pages: Any = None  # where a server has them: see page.py
        try:
            if where == "memory":
                self.store: AsyncKeyValue = MemoryStore(max_entries_per_collection=MOST)
            elif where.startswith(("redis://", "rediss://")):
                from key_value.aio.stores.redis import RedisStore

                self.store = RedisStore(url=where)
            elif "://" in where:
                mend = "name memory, a folder, or a redis:// address"
                raise StartError(f"setting state: {place(where)!r}: {mend}")
            else:
                from key_value.aio.stores.filetree import FileTreeStore

                folder = Path(where).expanduser()
                folder.mkdir(mode=0o700, parents=True, exist_ok=True)  # who writes there, approves
                if isinstance(folder, PosixPath) and folder.stat().st_mode & 0o002:
                    raise PermissionError(f"anybody could approve; run `chmod o-w {folder}`")
                self.store = FileTreeStore(data_directory=folder)
        except (ImportError, OSError, ValueError, RuntimeError) as error:
            raise StartError(f"setting state: {place(where)!r}: {because(error, where)}") from error

    async def put(self, name: str, entry: Mapping[str, Any], seconds: float = 0) -> None:
        """Remember something until the time of a question, or so many seconds, are over."""
        with _reached():
            await self.store.put(name, entry, collection=QUESTIONS, ttl=seconds or self.seconds)
            self._puts += 1
            if self._puts % 500 == 1 and isinstance(self.store, AsyncCullProtocol):
                await self.store.cull()

    async def get(self, name: str) -> dict[str, Any] | None:
        """What was remembered, unless its time is over."""
        with _reached():
            return await self.store.get(name, collection=QUESTIONS)

    async def take(self, name: str) -> dict[str, Any] | None:
        """The entry, out of the store: when two take it at once, one of them gets it."""
        entry = await self.get(name)
        with _reached():
            deleted = entry is not None and await self.store.delete(name, collection=QUESTIONS)
        return entry if deleted else None


@contextlib.contextmanager
def _reached() -> Iterator[None]:
    """ToolError: the store is away. What it says names its address: that is for the log, not for models."""
    try:
        yield
    except Exception as error:
        logger.error("the store of setting state: %s", " ".join(str(error).split()))
        raise ToolError("approvals cannot be kept at the moment; try again later") from error


# The server of ours that a request came to, however deep it is mounted where it is answered.
SERVER: ContextVar["PolicyServer"] = ContextVar("server")


class ConfirmationSchema(BaseModel):
    """The form a person fills in."""

    confirm: bool = Field(description="Confirm the action (true to proceed)")


class ConfirmationResult(StrEnum):
    """The answer to a question."""

    CONFIRMED = "confirmed"
    DECLINED = "declined"
    CANCELLED = "cancelled"
    TIMED_OUT = "timed_out"


class Envelope(BaseModel, Generic[R]):
    """The result of every gated tool, on every path."""

    confirmed: bool = Field(description="Whether it was approved; approved_by says how")
    approved_by: Approver | None = Field(description="person: form or page; client: the call")
    outcome: Outcome = Field(description="Only applied changed anything")
    preview: dict[str, Any] | None = Field(default=None, description="The preview")
    result: R | None = Field(default=None, description="The result")


PROPERTIES = ConfirmationSchema.model_json_schema()["properties"]
FORM = {"type": "object", "properties": PROPERTIES, "required": ["confirm"]}
REFUSALS = {
    ConfirmationResult.DECLINED: "The answer was no",
    ConfirmationResult.CANCELLED: "The question was closed without an answer",
    ConfirmationResult.TIMED_OUT: "Nobody answered in time",
}


def envelope(text: str, outcome: str, **fields: Any) -> ToolResult:
    """An `Envelope` of values that are plain JSON already, with its text for clients that read no structure."""
    head = {"confirmed": outcome == "applied", "approved_by": None, "outcome": outcome}
    return ToolResult(text, head | {"preview": None, "result": None} | fields)


def applied(tool: str, told: ToolResult, by: Approver | None) -> ToolResult:
    """The envelope of what a tool answered; content that has no structure stays beside it."""
    text, result, blocks = f"{tool} was applied", told.structured_content, [*told.content]
    if blocks and isinstance(first := blocks[0], wire.TextContent):
        text, blocks = f"{text}: {first.text}", blocks[1:]
    meta = dict(told.meta or {})
    if result is not None and meta.get("fastmcp") == {"wrap_result": True}:
        del meta["fastmcp"]
        result = result.get("result")
    answer = envelope(text, "applied", approved_by=by, result=result)
    answer.content += blocks
    answer.meta = meta or None
    return answer


class Asked(FastMCPError):
    """Carries out of a body what the client gets instead, as while a person is asked."""

    def __init__(self, instead: ToolResult) -> None:
        told = getattr(instead.content[0], "text", "") if instead.content else ""
        super().__init__(told or "only what the policy declared can ask", log_level=logging.DEBUG)
        self.instead = instead


def is_modern(ctx: Context) -> bool:
    """Whether the connection speaks a protocol without server-initiated requests."""
    request = ctx.request_context
    return request is None or request.protocol_version in MODERN_PROTOCOL_VERSIONS


def capability(ctx: Context) -> wire.ElicitationCapability | None:
    """What this client declared of asking its person."""
    request = ctx.request_context
    declared = request.session.client_capabilities if request else None
    return declared.elicitation if declared else None


async def is_mute(ctx: Context) -> bool:
    """Whether this session's client declared that it can be asked, and then could not."""
    gate = SERVER.get().gate
    return not is_modern(ctx) and await gate.get(f"mute-{ctx.session_id}") is not None


async def shows_forms(ctx: Context) -> bool:
    """Whether this client can show a form; a bare `elicitation: {}` means one."""
    can = capability(ctx)
    form = can is not None and (can.form is not None or can.url is None)
    return form and not await is_mute(ctx)


def digest(*parts: object) -> str:
    """One name for a combination of values, whatever the order of their keys."""
    text = json.dumps(to_jsonable_python(parts, fallback=str), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def caller_of(ctx: Context) -> str:
    """The token's user, else the session, else the process (see the ADR for what that leaves open)."""
    token = get_access_token()
    if token is not None:
        return f"user:{digest(principal_components(token), token.claims.get('sub'))}"
    return "process" if is_modern(ctx) else f"session:{ctx.session_id}"


async def elicit(
    ctx: Context, question: wire.ElicitRequestParams, seconds: float
) -> wire.ElicitResult | None:
    """Ask during the call: the answer, or None where this client could not be asked after all.

    One that knows no such method is not asked again. TimeoutError: no answer within `seconds`.
    """
    request, about = wire.ElicitRequest(params=question), ServerMessageMetadata(ctx.request_id)
    try:
        with anyio.fail_after(seconds):
            return await ctx.session.send_request(request, wire.ElicitResult, metadata=about)
    except ValidationError:
        return None
    except MCPError as error:
        if error.error.code == METHOD_NOT_FOUND:
            await SERVER.get().gate.put(f"mute-{ctx.session_id}", {}, DAY)
        return None


def input_required(name: str, question: wire.ElicitRequestParams, state: str) -> Asked:
    """The question as the answer of a 2026-07-28 call; the SDK seals `state`, which comes back with the answer."""
    requests = {name: wire.ElicitRequest(params=question)}
    result = wire.InputRequiredResult(input_requests=requests, request_state=state)
    return Asked(InputRequiredToolResult(result))


def answer_to(ctx: Context, name: str) -> object | None:
    """What this request answers to the question `name`; None when it brings no state that we sealed."""
    return (ctx.input_responses or {}).get(name) if ctx.request_state else None


@contextlib.contextmanager
def own_round(ctx: Context, round_: Mapping[str, Any] | None) -> Iterator[None]:
    """What a tool sees of a request that answered a question: its own round, and nothing of ours."""
    request = ctx.request_context
    if request is None or round_ is None:
        yield
        return
    whole = request._srctx
    request._srctx = dataclasses.replace(whole, params={**(whole.params or {}), **round_})
    try:
        yield
    finally:
        request._srctx = whole


def log_step(event: str, ctx: Context, tool: str, details: dict[str, Any]) -> None:
    """One line for each step of asking; never an argument's value, a link, a user or a token."""
    era = "2026-07-28" if is_modern(ctx) else "handshake"
    logger.info(json.dumps({"event": event, "tool": tool, "era": era, **details}))

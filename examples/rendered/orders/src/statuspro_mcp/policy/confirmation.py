"""The gate: a person is asked before a tool that cannot be taken back.

Managed by the template. Which tools are gated says behaviors.py; which client gets what, and what a
gate does not protect against, says docs/adr/policy. Authors write `confirm=` and `preview=` in the
tool file, or call `require_confirmation`, and never code for one protocol era.
"""

import hashlib
import json
import logging
import re
import secrets
import time
from collections.abc import Awaitable, Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, Generic, Literal, TypeVar

import anyio
from fastmcp import Context
from fastmcp.exceptions import FastMCPError, ToolError
from fastmcp.server.dependencies import get_access_token
from fastmcp.tools.base import InputRequiredToolResult, ToolResult
from key_value.aio.protocols import AsyncCullProtocol, AsyncKeyValue
from key_value.aio.stores.memory import MemoryStore
from mcp.server.auth.provider import principal_components
from mcp.shared.exceptions import MCPError
from mcp_types import ElicitRequest, ElicitRequestFormParams, ElicitResult, InputRequiredResult
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from opentelemetry import metrics, trace
from pydantic import BaseModel, Field, ValidationError
from pydantic_core import to_jsonable_python

from .behaviors import CONFIRM_FALLBACK, PREVIEW_FIRST, Declaration

logger = logging.getLogger(__name__)
fallbacks = metrics.get_meter(__name__).create_counter("mcp.confirmation.fallbacks")

R = TypeVar("R")
Way = Literal["elicitation", "input_required", "two_step", "refuse"]
Outcome = Literal["applied", "preview", "declined", "cancelled", "timed_out"]
PENDING, MUTE = "confirmations", "cannot_be_asked"
MOST_PENDING = 10_000  # a flood of previews pushes out old previews, never fills the memory
LONGEST_VALUE, LONGEST_QUESTION, MOST_DETAILS = 80, 1000, 20


class ConfirmationSchema(BaseModel):
    """The form a person fills in."""

    confirm: bool = Field(description="Confirm the action (true to proceed)")


_schema = ConfirmationSchema.model_json_schema()
FORM: dict[str, Any] = {key: _schema[key] for key in ("type", "properties", "required")}


class ConfirmationResult(StrEnum):
    """What a person answered."""

    CONFIRMED = "confirmed"
    DECLINED = "declined"
    CANCELLED = "cancelled"
    TIMED_OUT = "timed_out"


REFUSALS = {
    ConfirmationResult.DECLINED: "The person said no",
    ConfirmationResult.CANCELLED: "The person closed the question without an answer",
    ConfirmationResult.TIMED_OUT: "Nobody answered in time",
}


class Envelope(BaseModel, Generic[R]):
    """What every gated tool answers, on every path."""

    confirmed: bool = Field(description="Whether a person agreed")
    outcome: Outcome = Field(description="What happened; only applied changed anything")
    preview: dict[str, Any] | None = Field(
        default=None, description="What would happen, and how to go on"
    )
    result: R | None = Field(default=None, description="What the tool answered, when applied")


class _Asked(FastMCPError):
    """Carries out of a body what the client gets while a person is asked."""

    def __init__(self, result: ToolResult) -> None:
        super().__init__("only a tool that the policy declared can ask", log_level=logging.DEBUG)
        self.result = result


@dataclass
class Gate:
    """Where pending questions live, and for how long."""

    store: AsyncKeyValue
    seconds: float
    pended: int = 0


@dataclass
class _Call:
    """One tool's run within a request. An answer is for one digest of tool, arguments, caller and question."""

    ctx: Context
    tool: str
    nested: bool = False  # in the body of another tool, with which it shares what follows
    answers: dict[str, ConfirmationResult] = field(default_factory=dict)
    applied: list[str] = field(default_factory=list)
    confirm: bool | None = None  # None: there is no such parameter for a client to set
    binding: str = ""
    questions: int = 0


_gate: Gate | None = None
_call: ContextVar[_Call | None] = ContextVar("gated_call", default=None)


def open_gate(where: str, seconds: float) -> None:
    """Keep pending questions in `where`: `memory`, a folder, or a `redis://` address."""
    global _gate
    store: AsyncKeyValue
    if where == "memory":
        store = MemoryStore(max_entries_per_collection=MOST_PENDING)
    elif where.startswith(("redis://", "rediss://")):
        from key_value.aio.stores.redis import RedisStore

        store = RedisStore(url=where)
    else:
        from key_value.aio.stores.filetree import FileTreeStore

        store = FileTreeStore(data_directory=Path(where).expanduser())
    _gate = Gate(store, seconds)


def gate() -> Gate:
    """The gate that `create_server` opened."""
    if _gate is None:
        raise RuntimeError("no gate is open; create_server() opens it")
    return _gate


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


def is_modern(ctx: Context) -> bool:
    """Whether the connection speaks a protocol without server-initiated requests."""
    request = ctx.request_context
    return request is None or request.protocol_version in MODERN_PROTOCOL_VERSIONS


def can_elicit(ctx: Context) -> bool:
    """Whether the client says that it can show a form."""
    request = ctx.request_context
    capabilities = request.session.client_capabilities if request else None
    elicitation = capabilities.elicitation if capabilities else None
    return elicitation is not None and (elicitation.form is not None or elicitation.url is None)


def plain(text: str, longest: int, keep: str = "") -> str:
    """A text with nothing in it that can steer a terminal, and not too long to read."""
    text = text if len(text) <= longest else text[: longest - 1] + "…"
    return "".join(c if c.isprintable() or c in keep else "\N{REPLACEMENT CHARACTER}" for c in text)


def shortened(value: object) -> str:
    """A value as one short line."""
    text = value if isinstance(value, str) else json.dumps(to_jsonable_python(value, fallback=str))
    return plain(text, LONGEST_VALUE)


def question_of(declaration: Declaration, arguments: Mapping[str, Any]) -> str:
    """The author's question with the arguments filled in, or one made from title and arguments."""
    if isinstance(declaration.confirm, str):
        return re.sub(
            r"\{([A-Za-z_][A-Za-z0-9_.-]*)\}",
            lambda found: shortened(arguments[found[1]]) if found[1] in arguments else found[0],
            declaration.confirm,
        )
    listed = ", ".join(f"{name}: {shortened(value)}" for name, value in arguments.items())
    return f"{declaration.title}?" + (f" ({listed})" if listed else "")


def _message(call: _Call, question: str, details: Mapping[str, Any]) -> str:
    lines = [f"{call.ctx.fastmcp.name} asks: {plain(question, LONGEST_QUESTION, keep='\n')}"]
    shown = list(details.items())[:MOST_DETAILS]
    lines += [f"{shortened(name)}: {shortened(value)}" for name, value in shown]
    return "\n".join(lines + ["…"] * (len(details) > MOST_DETAILS))


def _decided(call: _Call, way: Way, outcome: str, started: float) -> None:
    """One line and two span attributes for each decision; never an argument's value."""
    entry = {
        "event": "confirmation",
        "tool": call.tool,
        "era": "2026-07-28" if is_modern(call.ctx) else "handshake",
        "way": way,
        "outcome": outcome,
        "ms": round((time.perf_counter() - started) * 1000, 1),
    }
    logger.info(json.dumps(entry))
    trace.get_current_span().set_attributes(
        {"mcp.confirmation.way": way, "mcp.confirmation.outcome": outcome}
    )
    if way in ("two_step", "refuse"):
        fallbacks.add(1, {"tool": call.tool, "way": way})


def _read(answer: object) -> ConfirmationResult:
    """The person's answer; anything but an accepted form with `confirm: true` is no."""
    if not isinstance(answer, ElicitResult) or answer.action == "cancel":
        return ConfirmationResult.CANCELLED
    if answer.action == "accept" and (answer.content or {}).get("confirm") is True:
        return ConfirmationResult.CONFIRMED
    return ConfirmationResult.DECLINED


async def _pend(call: _Call, name: str, key: str) -> None:
    """Remember that `key` was asked, and what the same request had confirmed before."""
    store, entry = gate().store, {"asked": key, "confirmed": sorted(call.answers)}
    await store.put(name, entry, collection=PENDING, ttl=gate().seconds)
    gate().pended += 1
    if gate().pended % 500 == 1 and isinstance(store, AsyncCullProtocol):
        await store.cull()


async def _load(call: _Call, way: Way) -> None:
    """Take what this request answers out of the store: only what we asked for counts, and once."""
    if way == "input_required":
        # The SDK unsealed the state and found it made for this tool, these arguments and this user.
        state = call.ctx.request_state
        name = f"asked-{state}" if state else ""
    else:
        name = f"preview-{call.binding}" if call.confirm else ""
    entry = await gate().store.get(name, collection=PENDING) if name else None
    if entry is None or not await gate().store.delete(name, collection=PENDING):
        return
    answer = ConfirmationResult.CONFIRMED
    call.answers.update(dict.fromkeys(entry["confirmed"], answer))
    if way == "input_required":
        answer = _read((call.ctx.input_responses or {}).get("confirmation"))
    call.answers[entry["asked"]] = answer


async def _elicit(ctx: Context, message: str) -> ConfirmationResult | None:
    """Ask during the call. None: this client could not be asked after all."""
    try:
        with anyio.move_on_after(gate().seconds):
            return _read(await ctx.session.elicit_form(message, FORM, ctx.request_id))
    except (MCPError, ValidationError) as error:
        if isinstance(error, MCPError) and error.error.code == -32601:
            mute = digest(ctx.session_id)
            await gate().store.put(mute, {"mute": True}, collection=MUTE, ttl=86_400)
        return None
    return ConfirmationResult.TIMED_OUT


async def _way(call: _Call) -> Way:
    """What this client gets; one that could not show a form before is not asked again."""
    ctx = call.ctx
    if can_elicit(ctx):
        if is_modern(ctx):
            return "input_required"
        if not await gate().store.get(digest(ctx.session_id), collection=MUTE):
            return "elicitation"
    return _fallback(call)


def _fallback(call: _Call) -> Way:
    return "refuse" if call.confirm is None else CONFIRM_FALLBACK


async def _confirm(
    call: _Call, key: str, question: str, preview: Mapping[str, Any] | None
) -> ConfirmationResult:
    """Ask one question; comes back with the answer, or leaves with what the client gets instead."""
    started, way = time.perf_counter(), await _way(call)
    await _load(call, way)
    answer = call.answers.get(key)
    message = _message(call, question, preview or {})
    previews = PREVIEW_FIRST and call.confirm is False
    if answer is None and way == "elicitation" and not previews:
        answer = await _elicit(call.ctx, message)
        way = "elicitation" if answer else _fallback(call)
    if answer is not None:
        _decided(call, way, answer, started)
        return answer
    if call.applied:  # asking would run the body again, and with it what was confirmed once
        raise ToolError(f"{call.applied[0]} was applied; call {call.tool} by itself for the rest")
    if way == "input_required" and not previews:
        state = secrets.token_urlsafe(24)
        await _pend(call, f"asked-{state}", key)
        _decided(call, way, "asked", started)
        form = ElicitRequestFormParams(message=message, requested_schema=FORM)
        asked = InputRequiredResult(
            input_requests={"confirmation": ElicitRequest(params=form)}, request_state=state
        )
        raise _Asked(InputRequiredToolResult(asked))
    if way == "refuse":
        _decided(call, way, "refused", started)
        mend = "call it by itself" if call.nested else "use a client that supports elicitation"
        raise ToolError(
            f"{call.tool} needs a person's confirmation, which this client cannot ask for here; {mend}. "
            "Nothing was changed."
        )
    if way == "two_step":
        await _pend(call, f"preview-{call.binding}", key)
    _decided(call, way, "preview", started)
    following = (
        f"Nothing was changed. Show this to the person; when they agree, call {call.tool} again with "
        f"the same arguments and confirm=true within {max(1, round(gate().seconds / 60))} minutes."
    )
    shown = {"question": question, "details": preview, "next": following}
    envelope = Envelope[Any](confirmed=False, outcome="preview", preview=shown)
    raise _Asked(_result(envelope, f"{message}\n{following}"))


def _result(envelope: Envelope[Any], text: str) -> ToolResult:
    return ToolResult(content=text, structured_content=envelope.model_dump(mode="json"))


def _call_of(ctx: Context, tool: str) -> _Call:
    """The run that `ctx` belongs to; a context variable alone would follow into other requests."""
    call = _call.get()
    same = call is not None and call.ctx.request_context is ctx.request_context
    return call if call and same else _Call(ctx, tool)


async def serve(ctx: Context, tool: str, running: Awaitable[ToolResult]) -> ToolResult:
    """Await a tool's run; a question out of a body, however deep, is what the outermost tool answers."""
    outer = _call_of(ctx, "")
    nested = bool(outer.tool)
    token = _call.set(_Call(ctx, tool, nested, outer.answers, outer.applied))
    try:
        return await running
    except _Asked as asked:
        if nested:
            raise
        return asked.result
    finally:
        _call.reset(token)


async def gated(
    ctx: Context,
    tool: str,
    declaration: Declaration,
    arguments: Mapping[str, Any],
    confirm: bool,
    run: Callable[[], Awaitable[object]],
    preview: Callable[[], Awaitable[object]] | None,
) -> ToolResult:
    """Run `run` once a person agreed to exactly these validated `arguments`.

    Returns:
        The envelope, filled.

    Raises:
        ToolError: The preview refused, or this client cannot ask and the policy is `refuse`.
    """
    call, question = _call_of(ctx, tool), question_of(declaration, arguments)
    binding = digest(tool, arguments, caller_of(ctx))
    key, interrupted = digest(binding, question), False
    if not call.nested:
        call.confirm, call.binding = confirm, binding
    details = to_jsonable_python(await preview(), fallback=str) if preview else None
    answer = await _confirm(call, key, question, details)
    if answer is not ConfirmationResult.CONFIRMED:
        envelope = Envelope[Any](confirmed=False, outcome=answer.value)
        return _result(envelope, f"{REFUSALS[answer]}; {tool} changed nothing.")
    try:
        value = to_jsonable_python(await run())
    except _Asked:  # it will run again, with one answer more
        interrupted = True
        raise
    finally:
        if not interrupted:
            call.answers.pop(key, None)
            call.applied.append(tool)
    envelope = Envelope[Any](confirmed=True, outcome="applied", result=value)
    return _result(envelope, f"{tool} was applied: {json.dumps(value, ensure_ascii=False)}")


async def require_confirmation(
    ctx: Context, message: str, *, preview: Mapping[str, Any] | None = None
) -> ConfirmationResult:
    """Ask a question that only the body can word. Ask all of them before the first side effect.

    On 2026-07-28 the body runs again from its start with the answer, so what comes before must be
    safe to repeat. A client that cannot ask gets the preview when the tool is declared with
    `confirm=`, else an error.

    Args:
        ctx: The tool's own context parameter.
        message: The whole question, with the values it is about.
        preview: What would happen, shown below the question.

    Returns:
        CONFIRMED, DECLINED, CANCELLED or TIMED_OUT; only CONFIRMED allows the action.

    Raises:
        ToolError: This client cannot be asked.
    """
    call = _call_of(ctx, "this tool")
    call.questions += 1
    key = digest(call.questions, call.tool, call.binding, caller_of(ctx), message)
    return await _confirm(call, key, message, preview)

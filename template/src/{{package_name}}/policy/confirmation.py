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
from key_value.aio.protocols import AsyncKeyValue
from key_value.aio.stores.memory import MemoryStore
from mcp.shared.exceptions import MCPError
from mcp_types import ElicitRequest, ElicitRequestFormParams, ElicitResult, InputRequiredResult
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from opentelemetry import metrics, trace
from pydantic import BaseModel, Field
from pydantic_core import to_jsonable_python

from .behaviors import CONFIRM_FALLBACK, PREVIEW_FIRST, Declaration

logger = logging.getLogger(__name__)
fallbacks = metrics.get_meter(__name__).create_counter("mcp.confirmation.fallbacks")

R = TypeVar("R")
Outcome = Literal["applied", "preview", "declined", "cancelled", "timed_out"]
COLLECTION = "confirmations"
MOST_PENDING = 10_000  # a flood of previews pushes out old previews, never fills the memory
LONGEST_VALUE = 80


class ConfirmationSchema(BaseModel):
    """The form a person fills in."""

    confirm: bool = Field(description="Confirm the action (true to proceed)")


class ConfirmationResult(StrEnum):
    """What a person answered."""

    CONFIRMED = "confirmed"
    DECLINED = "declined"
    CANCELLED = "cancelled"
    TIMED_OUT = "timed_out"


class Envelope(BaseModel, Generic[R]):
    """What every gated tool answers, on every path."""

    confirmed: bool = Field(description="Whether a person agreed")
    outcome: Outcome = Field(description="What happened; only applied changed anything")
    preview: dict[str, Any] | None = Field(
        default=None, description="What would happen, and how to go on"
    )
    result: R | None = Field(default=None, description="What the tool answered, when applied")


class _Ask(FastMCPError):
    """Carries a result out of a body that has to wait for a person (`answer_of` takes it)."""

    def __init__(self, result: ToolResult) -> None:
        super().__init__("a person is asked first", log_level=logging.DEBUG)
        self.result = result


@dataclass
class Gate:
    """Where pending questions live, and for how long; one for each server."""

    store: AsyncKeyValue
    seconds: float


@dataclass
class _Call:
    """One call of one tool by one caller; `approved` holds the questions a person said yes to."""

    ctx: Context
    tool: str
    binding: str
    confirm: bool | None
    approved: set[str] = field(default_factory=set)
    loaded: bool = False


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

        Path(where).mkdir(parents=True, exist_ok=True)
        store = FileTreeStore(data_directory=where)
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
    """The token's subject, else the session, else the process (see the ADR for what that leaves open)."""
    token = get_access_token()
    if token is not None:
        return f"user:{token.claims.get('sub') or token.client_id}"
    return "process" if is_modern(ctx) else f"session:{ctx.session_id}"


def is_modern(ctx: Context) -> bool:
    """Whether the connection speaks a protocol without server-initiated requests."""
    request = ctx.request_context
    return request is not None and request.protocol_version in MODERN_PROTOCOL_VERSIONS


def can_elicit(ctx: Context) -> bool:
    """Whether the client says that it can show a form."""
    request = ctx.request_context
    capabilities = request.session.client_capabilities if request else None
    elicitation = capabilities.elicitation if capabilities else None
    return elicitation is not None and (elicitation.form is not None or elicitation.url is None)


def shortened(value: object) -> str:
    """A value as one short line a person can read, nothing in it able to steer a terminal."""
    text = value if isinstance(value, str) else json.dumps(to_jsonable_python(value, fallback=str))
    text = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)
    return text if len(text) <= LONGEST_VALUE else text[: LONGEST_VALUE - 1] + "…"


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


def _decided(call: _Call, way: str, outcome: str, started: float) -> None:
    """One line and one span attribute for each decision; never an argument's value."""
    milliseconds = round((time.perf_counter() - started) * 1000, 1)
    era = "2026-07-28" if is_modern(call.ctx) else "handshake"
    entry = {"event": "confirmation", "tool": call.tool, "era": era, "way": way, "outcome": outcome}
    logger.info(json.dumps(entry | {"ms": milliseconds}))
    trace.get_current_span().set_attributes(
        {"mcp.confirmation.way": way, "mcp.confirmation.outcome": outcome}
    )
    if way in ("two_step", "refuse"):
        fallbacks.add(1, {"tool": call.tool, "way": way})


def _read(answer: Any) -> ConfirmationResult:
    """The person's answer; anything but an accepted form with `confirm: true` is no."""
    if not isinstance(answer, ElicitResult) or answer.action == "cancel":
        return ConfirmationResult.CANCELLED
    if answer.action == "accept" and (answer.content or {}).get("confirm") is True:
        return ConfirmationResult.CONFIRMED
    return ConfirmationResult.DECLINED


async def _claim(call: _Call, key: str) -> dict[str, Any] | None:
    """Take a pending question out of the store; None unless this very call, once, is its owner."""
    found = await gate().store.get(key, collection=COLLECTION)
    if found is None or found.get("binding") != call.binding:
        return None
    return found if await gate().store.delete(key, collection=COLLECTION) else None


async def _pend(call: _Call, key: str, question: str) -> None:
    entry = {
        "binding": call.binding,
        "question": digest(question),
        "approved": sorted(call.approved),
    }
    await gate().store.put(key, entry, collection=COLLECTION, ttl=gate().seconds)


async def _load(call: _Call) -> ConfirmationResult | None:
    """Read what came back with this call: the answer to a question we asked, or `confirm=true`."""
    if call.loaded:
        return None
    call.loaded = True
    answer = ConfirmationResult.CONFIRMED
    if is_modern(call.ctx) and can_elicit(call.ctx):
        # Only sealed state that we issued counts: answers that come without it were never asked for.
        key = call.ctx.request_state
        if key is None:
            return None
        found = await _claim(call, key)
        if found is None:
            return None
        answer = _read((call.ctx.input_responses or {}).get("confirmation"))
    elif call.confirm is True:
        found = await _claim(call, f"preview-{call.binding}")
        if found is None:
            return None
    else:
        return None
    call.approved.update(found["approved"])
    if answer is not ConfirmationResult.CONFIRMED:
        return answer
    call.approved.add(found["question"])
    return None


async def _elicit(call: _Call, message: str) -> ConfirmationResult | None:
    """Ask during the call (handshake era). None: this client cannot be asked after all."""
    mute = f"mute-{digest(call.ctx.session_id)}"
    if await gate().store.get(mute, collection=COLLECTION):
        return None
    schema = ConfirmationSchema.model_json_schema()
    try:
        with anyio.move_on_after(gate().seconds):
            return _read(await call.ctx.session.elicit_form(message, schema, call.ctx.request_id))
    except MCPError as error:
        if error.error.code == -32601:
            await gate().store.put(mute, {"mute": True}, collection=COLLECTION, ttl=86_400)
        return None
    return ConfirmationResult.TIMED_OUT


async def _confirm(
    call: _Call, question: str, preview: dict[str, Any] | None
) -> ConfirmationResult:
    """Ask one question; comes back with the answer, or leaves by `_Ask` with what to tell the client."""
    started = time.perf_counter()
    answer = await _load(call)
    if answer is not None:
        _decided(call, "input_required", answer, started)
        return answer
    if digest(question) in call.approved:
        _decided(call, "approved", ConfirmationResult.CONFIRMED, started)
        return ConfirmationResult.CONFIRMED
    shown = {"question": question, "details": preview}
    if PREVIEW_FIRST and call.confirm is False:
        if not can_elicit(call.ctx):
            await _pend(call, f"preview-{call.binding}", question)
        _decided(call, "preview", "preview", started)
        raise _Ask(_preview(call, shown, "Show it to the person; to go on"))
    message = f"{call.ctx.fastmcp.name} asks: {question}"
    if preview is not None:
        message += "\n" + "\n".join(
            f"{name}: {shortened(value)}" for name, value in preview.items()
        )
    if can_elicit(call.ctx):
        if is_modern(call.ctx):
            key = secrets.token_urlsafe(24)
            await _pend(call, key, question)
            _decided(call, "input_required", "asked", started)
            params = ElicitRequestFormParams(
                message=message, requested_schema=ConfirmationSchema.model_json_schema()
            )
            asked = InputRequiredResult(
                input_requests={"confirmation": ElicitRequest(params=params)}, request_state=key
            )
            raise _Ask(InputRequiredToolResult(asked))
        answer = await _elicit(call, message)
        if answer is not None:
            _decided(call, "elicitation", answer, started)
            return answer
    if CONFIRM_FALLBACK == "refuse" or call.confirm is None:
        _decided(call, "refuse", "refused", started)
        raise ToolError(
            f"{call.tool} needs a person's confirmation, and this client cannot ask for one; "
            "use a client that supports elicitation. Nothing was changed."
        )
    await _pend(call, f"preview-{call.binding}", question)
    _decided(call, "two_step", "preview", started)
    raise _Ask(_preview(call, shown, "Ask the person; when they agree"))


def _preview(call: _Call, shown: dict[str, Any], how: str) -> ToolResult:
    minutes = max(1, round(gate().seconds / 60))
    following = (
        f"Nothing was changed. {how}, call {call.tool} again with the same arguments and "
        f"confirm=true within {minutes} minutes."
    )
    envelope = Envelope[Any](
        confirmed=False, outcome="preview", preview=shown | {"next": following}
    )
    return _result(envelope, f"{shown['question']}\n{following}")


def _result(envelope: Envelope[Any], text: str) -> ToolResult:
    return ToolResult(content=text, structured_content=envelope.model_dump(mode="json"))


async def gated(
    ctx: Context,
    tool: str,
    declaration: Declaration,
    arguments: Mapping[str, Any],
    confirm: bool,
    run: Callable[[], Awaitable[R]],
    preview: Callable[[], Awaitable[Any]] | None,
) -> Envelope[R] | ToolResult:
    """Run `run` once a person agreed to exactly these validated `arguments`.

    Returns:
        The envelope, or the result that asks the client to ask.

    Raises:
        ToolError: The preview refused, or the client cannot ask and the policy is `refuse`.
    """
    call = _Call(ctx, tool, digest(tool, arguments, caller_of(ctx)), confirm)
    question = question_of(declaration, arguments)
    token = _call.set(call)
    try:
        described = to_jsonable_python(await preview()) if preview else None
        answer = await _confirm(call, question, described)
        if answer is ConfirmationResult.CONFIRMED:
            return Envelope(confirmed=True, outcome="applied", result=await run())
    except _Ask as asked:
        return asked.result
    finally:
        _call.reset(token)
    envelope = Envelope[Any].model_validate({"confirmed": False, "outcome": answer.value})
    return _result(envelope, f"The person did not agree ({answer}); {tool} changed nothing.")


async def require_confirmation(
    ctx: Context, message: str, *, preview: Mapping[str, Any] | None = None
) -> ConfirmationResult:
    """Ask a question that only the body can word. Call it before the first side effect.

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
    call = _call.get()
    if call is None or call.ctx.request_id != ctx.request_id:
        call = _Call(ctx, "this tool", digest("body", message, caller_of(ctx)), None)
    return await _confirm(call, message, dict(preview) if preview is not None else None)


def answer_of(error: Exception) -> ToolResult | None:
    """The result that a body's question left with, when `error` is one."""
    return error.result if isinstance(error, _Ask) else None

"""The gate: a person is asked before a tool that cannot be taken back.

Managed by the template. Which tools are gated follows from declarations.py; which client gets what, and what
a gate does not protect against, is in docs/adr/policy. Authors write `confirm=` and `preview=` in the tool
file, or call `require_confirmation`, and never code for one protocol era.
"""

import hashlib
import json
import secrets
import time
from collections.abc import Awaitable, Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

from fastmcp import Context
from fastmcp.exceptions import ToolError
from fastmcp.server.dependencies import get_access_token, get_context
from fastmcp.tools.base import ToolResult
from mcp.server.auth.provider import principal_components
from mcp.shared.exceptions import MCPError
from mcp_types import ElicitRequestFormParams, ElicitResult
from opentelemetry import metrics, trace
from pydantic_core import to_jsonable_python

from . import asking
from .asking import ConfirmationResult, Gate
from .declarations import Declaration
from .profile import CONFIRM_FALLBACK, PREVIEW_FIRST
from .texts import message_of, question_of

fallbacks = metrics.get_meter(__name__).create_counter("mcp.confirmation.fallbacks")

Way = Literal["elicitation", "input_required", "two_step", "refuse"]


@dataclass
class Call:
    """One tool's run within a request, with its arguments as the client sent them."""

    ctx: Context
    tool: str
    declaration: Declaration | None = None
    arguments: Mapping[str, Any] = field(default_factory=dict)
    confirm: bool | None = None  # None: there is no such parameter for the client to set
    nested: bool = False  # in the body of another tool, with which it shares the next two
    answers: dict[str, ConfirmationResult] = field(default_factory=dict)
    applied: list[str] = field(default_factory=list)
    questions: int = 0
    request: object = field(init=False)

    def __post_init__(self) -> None:
        """Remember the request, which is another one in another task."""
        self.request = self.ctx.request_context

    @cached_property
    def key(self) -> str:
        """What an answer is bound to: this tool, these arguments, this caller."""
        literal = {name: value for name, value in self.arguments.items() if name != "confirm"}
        return digest(self.tool, literal, caller_of(self.ctx))

    @property
    def gate(self) -> Gate:
        """Where questions of this server wait."""
        return asking.GATES[self.ctx.fastmcp]

    async def way(self) -> Way:
        """What this client gets; one that could not show a form before is not asked again."""
        if "form" not in asking.shows(self.ctx) or await asking.is_mute(self.ctx):
            return self.fallback
        return "input_required" if asking.is_modern(self.ctx) else "elicitation"

    @property
    def fallback(self) -> Way:
        """What a client gets that cannot be asked."""
        return "refuse" if self.confirm is None else CONFIRM_FALLBACK


_running: ContextVar[Call | None] = ContextVar("gated_call", default=None)


def digest(*parts: object) -> str:
    """One name for a combination of values, whatever the order of their keys."""
    text = json.dumps(to_jsonable_python(parts, fallback=str), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def caller_of(ctx: Context) -> str:
    """The token's user, else the session, else the process (see the ADR for what that leaves open)."""
    token = get_access_token()
    if token is not None:
        return f"user:{digest(principal_components(token), token.claims.get('sub'))}"
    return "process" if asking.is_modern(ctx) else f"session:{ctx.session_id}"


def _read(answer: object) -> ConfirmationResult:
    """The person's answer; anything but an accepted form with `confirm: true` is no."""
    if not isinstance(answer, ElicitResult) or answer.action == "cancel":
        return ConfirmationResult.CANCELLED
    if answer.action == "accept" and (answer.content or {}).get("confirm") is True:
        return ConfirmationResult.CONFIRMED
    return ConfirmationResult.DECLINED


async def _load(call: Call, way: Way) -> None:
    """Take in what this request answers: only a question that we asked has an answer, and one."""
    if way == "input_required" and (state := call.ctx.request_state) is not None:
        # The SDK unsealed the state and found it made for this tool, these arguments, this user.
        name, answer = f"asked-{state}", _read(asking.answer_to(call.ctx, "confirmation"))
    elif way != "input_required" and call.confirm:
        name, answer = f"preview-{call.key}", ConfirmationResult.CONFIRMED
    else:
        return
    if entry := await call.gate.take(name):
        earlier = {key: ConfirmationResult(text) for key, text in entry["answers"].items()}
        call.answers.update(earlier | {entry["asked"]: answer})


async def _elicit(call: Call, message: str) -> ConfirmationResult | None:
    """Ask during the call. None: this client could not be asked after all."""
    form = ElicitRequestFormParams(message=message, requested_schema=asking.FORM)
    try:
        answer = await asking.elicit(call.ctx, form, call.gate.seconds)
    except TimeoutError:
        return ConfirmationResult.TIMED_OUT
    return None if answer is None else _read(answer)


def _decided(call: Call, way: Way, outcome: str, started: float) -> None:
    """One line and two span attributes for each decision."""
    ms = round((time.perf_counter() - started) * 1000, 1)
    asking.log_step("confirmation", call.ctx, call.tool, {"way": way, "outcome": outcome, "ms": ms})
    attributes = {"mcp.confirmation.way": way, "mcp.confirmation.outcome": outcome}
    trace.get_current_span().set_attributes(attributes)
    if way in ("two_step", "refuse"):
        fallbacks.add(1, {"tool": call.tool, "way": way})


async def _confirm(call: Call, key: str, question: str, details: Any) -> ConfirmationResult:
    """Ask the question `key`; comes back with its answer, or leaves with what the client gets instead."""
    started, way = time.perf_counter(), await call.way()
    await _load(call, way)
    answer = call.answers.get(key)
    message = message_of(call.ctx.fastmcp.name, question, details)
    previews = PREVIEW_FIRST and call.confirm is False
    if answer is None and way == "elicitation" and not previews:
        answer = await _elicit(call, message)
        way = way if answer else call.fallback
    if answer is not None:
        _decided(call, way, answer, started)
        return answer
    if call.applied:  # to ask would run the body again, and with it what was confirmed once
        _decided(call, "refuse", "refused", started)
        raise ToolError(f"{call.applied[0]} was applied; call {call.tool} by itself for the rest")
    if way == "input_required" and not previews:
        state = secrets.token_urlsafe(24)
        await call.gate.put(f"asked-{state}", {"asked": key, "answers": call.answers})
        _decided(call, way, "asked", started)
        form = ElicitRequestFormParams(message=message, requested_schema=asking.FORM)
        raise asking.input_required("confirmation", form, state)
    if way == "refuse":
        _decided(call, way, "refused", started)
        mend = "call it by itself" if call.nested else "use a client that supports elicitation"
        raise ToolError(
            f"{call.tool} needs a person's confirmation, which this client cannot ask for here; {mend}. "
            "Nothing was changed."
        )
    if way == "two_step":
        await call.gate.put(f"preview-{call.key}", {"asked": key, "answers": call.answers})
    _decided(call, way, "preview", started)
    following = (
        f"Nothing was changed. Show this to the person; when they agree, call {call.tool} again with "
        f"the same arguments and confirm=true within {max(1, round(call.gate.seconds / 60))} minutes."
    )
    shown = {"question": question, "details": details, "next": following}
    raise asking.Asked(asking.envelope(f"{message}\n{following}", "preview", preview=shown))


def _call_of(ctx: Context) -> Call | None:
    """The run that `ctx` belongs to; a context variable alone would follow into other requests."""
    call = _running.get()
    return call if call and call.request is ctx.request_context else None


async def serve(call: Call, running: Awaitable[ToolResult]) -> ToolResult:
    """Await a tool's run; a question out of a body, however deep, becomes the result of the outermost tool."""
    if outer := _call_of(call.ctx):
        call.nested, call.confirm = True, None
        call.answers, call.applied = outer.answers, outer.applied
    token = _running.set(call)
    try:
        return await running
    except asking.Asked as asked:
        if outer or isinstance(asked.instead, MCPError):
            raise
        return asked.instead
    finally:
        _running.reset(token)


async def gated(
    declaration: Declaration,
    arguments: Mapping[str, Any],
    run: Callable[[], Awaitable[object]],
    preview: Callable[[], Awaitable[object]] | None,
) -> ToolResult:
    """Run `run` once a person agreed to these arguments, as the client sent them; ToolError: nobody can be asked."""
    call = _call_of(get_context())
    if call is None or call.declaration is not declaration:  # the function left its tool
        raise ToolError("a gated tool runs through its server only; nothing was changed")
    question = question_of(declaration, arguments)
    details = to_jsonable_python(await preview(), fallback=str) if preview else None
    answer = await _confirm(call, call.key, question, details)
    if answer is not ConfirmationResult.CONFIRMED:
        refusal = f"{asking.REFUSALS[answer]}; {call.tool} changed nothing."
        return asking.envelope(refusal, answer.value)
    try:
        value = to_jsonable_python(await run())
    finally:
        call.answers.pop(call.key, None)
        call.applied.append(call.tool)
    text = f"{call.tool} was applied: {json.dumps(value, ensure_ascii=False)}"
    return asking.envelope(text, "applied", result=value)


async def require_confirmation(
    ctx: Context, message: str, *, preview: Mapping[str, Any] | None = None
) -> ConfirmationResult:
    """Ask a question that only the body can word. Ask all of them before the first side effect.

    On 2026-07-28 the body runs again from its start with the answer, so what comes before must be
    safe to repeat. A client that cannot ask gets the preview when the tool is declared with
    `confirm=`, else an error. `preview`, what would happen, is shown below the question.
    Only the answer CONFIRMED allows the action; ToolError: this client cannot be asked.
    """
    call = _call_of(ctx) or Call(ctx, "this tool")
    call.questions += 1
    key = digest(call.key, call.questions, message)
    return await _confirm(call, key, message, to_jsonable_python(preview, fallback=str))

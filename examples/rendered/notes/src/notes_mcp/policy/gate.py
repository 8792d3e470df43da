"""The gate: a person is asked before a tool that cannot be taken back.

Managed by the template. Which tools are gated follows from declarations.py; which client gets what, and what
a gate does not protect against, is in docs/adr/policy. Authors write `confirm=` and `preview=` in the tool
file, or call `require_confirmation`, and never code for one protocol era.
"""

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
from fastmcp.server.dependencies import get_context
from fastmcp.tools.base import ToolResult
from mcp_types import ElicitRequestFormParams, ElicitResult
from opentelemetry import metrics, trace
from pydantic_core import to_jsonable_python

from . import asking
from .asking import Approver, ConfirmationResult, Gate, caller_of, digest
from .declarations import Declaration
from .profile import CONFIRM_FALLBACK, PREVIEW_FIRST
from .texts import changed, filled, message_of, question_of

fallbacks = metrics.get_meter(__name__).create_counter("mcp.confirmation.fallbacks")

Way = Literal["elicitation", "input_required", "two_step", "page", "refuse"]
# What a yes that came in a way shows: a form is not the model's to fill in, `confirm=true` is.
APPROVERS: dict[Way, Approver] = {
    "elicitation": "person",
    "input_required": "person",
    "two_step": "client",
}


@dataclass
class Call:
    """One tool's run within a request, with its arguments as the client sent them."""

    ctx: Context
    tool: str
    declaration: Declaration | None = None
    arguments: Mapping[str, Any] = field(default_factory=dict)
    confirm: bool | None = None  # None: there is no such parameter for the client to set
    schema: Mapping[str, Any] = field(default_factory=dict)  # of the arguments
    nested: bool = False  # in the body of another tool, with which it shares the next two
    answers: dict[str, ConfirmationResult] = field(default_factory=dict)
    applied: list[str] = field(default_factory=list)
    questions: int = 0
    mend: str = "use a client that supports elicitation"
    loaded: Way | None = None  # how the answers came that an earlier call asked for
    loaded_by: Approver | None = None
    approved_by: Approver | None = None
    request: object = field(init=False)
    gate: Gate = field(init=False)

    def __post_init__(self) -> None:
        """Remember the request, which is another one in another task, and where its questions wait."""
        self.request = self.ctx.request_context
        self.gate = asking.SERVER.get().gate

    @cached_property
    def key(self) -> str:
        """What an answer is bound to: this tool, these arguments, this caller."""
        return digest(self.tool, self.arguments, caller_of(self.ctx))

    @property
    def shown(self) -> dict[str, object]:
        """What the client sent, but for defaults."""
        return changed(self.arguments, self.schema)

    async def way(self) -> Way:
        """What this client gets; one that could not show a form before is not asked again."""
        if "form" not in asking.shows(self.ctx) or await asking.is_mute(self.ctx):
            return self.fallback
        return "input_required" if asking.is_modern(self.ctx) else "elicitation"

    @property
    def fallback(self) -> Way:
        """What a client gets that cannot be asked."""
        if CONFIRM_FALLBACK == "page":
            return "page" if self.gate.pages.reaches(self.ctx) else "refuse"
        return "refuse" if self.confirm is None else CONFIRM_FALLBACK


_running: ContextVar[Call | None] = ContextVar("gated_call", default=None)


def _read(answer: object) -> ConfirmationResult:
    """The person's answer; anything but an accepted form with `confirm: true` is no."""
    if not isinstance(answer, ElicitResult) or answer.action == "cancel":
        return ConfirmationResult.CANCELLED
    if answer.action == "accept" and (answer.content or {}).get("confirm") is True:
        return ConfirmationResult.CONFIRMED
    return ConfirmationResult.DECLINED


async def _load(call: Call, way: Way) -> None:
    """Take in what this request answers: only a question that we asked has an answer, and one."""
    if way == "input_required" and call.ctx.request_state is not None:
        # The SDK unsealed the state and found it made for this tool, these arguments, this user.
        name = f"asked-{call.ctx.request_state}"
        answer = _read(asking.answer_to(call.ctx, "confirmation"))
    elif way == "two_step" and call.confirm:
        name, answer = f"preview-{call.key}", ConfirmationResult.CONFIRMED
    elif way == "page" and (entry := await call.gate.pages.said(call.key)):
        _answered(call, way, entry, entry["answer"], entry["by"])
        return
    else:
        return
    if entry := await call.gate.take(name):
        _answered(call, way, entry, answer, APPROVERS[way])


def _answered(call: Call, way: Way, entry: Mapping[str, Any], answer: str, by: Approver) -> None:
    """Keep what an earlier call was answered."""
    answers = {**entry["answers"], entry["asked"]: answer}
    call.answers.update((key, ConfirmationResult(text)) for key, text in answers.items())
    call.loaded, call.loaded_by = way, by


async def _elicit(call: Call, message: str) -> ConfirmationResult | None:
    """Ask during the call. None: this client could not be asked after all."""
    form = ElicitRequestFormParams(message=message, requested_schema=asking.FORM)
    try:
        answer = await asking.elicit(call.ctx, form, call.gate.seconds)
    except TimeoutError:
        return ConfirmationResult.TIMED_OUT
    return None if answer is None else _read(answer)


def _decided(call: Call, way: Way, outcome: str, started: float) -> None:
    """One line and the span's attributes for each decision."""
    by = call.loaded_by or APPROVERS.get(way)
    call.approved_by = by if outcome == ConfirmationResult.CONFIRMED else None
    facts = {"way": way, "outcome": outcome, "approved_by": call.approved_by}
    ms = round((time.perf_counter() - started) * 1000, 1)
    asking.log_step("confirmation", call.ctx, call.tool, facts | {"ms": ms})
    known = {f"mcp.confirmation.{name}": value for name, value in facts.items() if value}
    trace.get_current_span().set_attributes(known)
    if way in ("two_step", "page", "refuse"):
        fallbacks.add(1, {"tool": call.tool, "way": way})


async def _confirm(call: Call, key: str, question: str, details: Any) -> ConfirmationResult:
    """Ask the question `key`; comes back with its answer, or leaves with what the client gets instead."""
    started, way = time.perf_counter(), await call.way()
    await _load(call, way)
    message = message_of(call.ctx.fastmcp.name, question, call.shown, details)
    previews = PREVIEW_FIRST and call.confirm is False
    if key not in call.answers and way == "elicitation" and not previews:
        if answer := await _elicit(call, message):
            await call.gate.take(f"preview-{call.key}")
            _decided(call, way, answer, started)
            return answer
        way = call.fallback
        await _load(call, way)
    if answer := call.answers.get(key):
        way = call.loaded or way
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
    if way == "two_step" and call.confirm and not call.loaded:
        _decided(call, way, "refused", started)
        raise ToolError(await _nothing_pending(call))
    if way == "refuse":
        _decided(call, way, "refused", started)
        mend = "call it by itself" if call.nested else call.mend
        raise ToolError(
            f"{call.tool} needs a person's confirmation, which this client cannot ask for here; {mend}. "
            "Nothing was changed."
        )
    outcome, waiting = "preview", {"asked": key, "answers": call.answers}
    preview = {"question": question, "arguments": call.shown, "details": details}
    minutes = max(1, round(call.gate.seconds / 60))
    following = f"Nothing was changed. This waits {minutes} minutes for your decision."
    if way == "page":
        told = await call.gate.pages.ask(call, waiting | preview)
        if not isinstance(told, str):
            _answered(call, way, told, told["answer"], told["by"])
            _decided(call, way, call.answers[key], started)
            return call.answers[key]
        outcome, following = "waiting", told
    elif call.fallback == "two_step" and way != "input_required":
        await call.gate.put(f"preview-{call.key}", waiting)
    _decided(call, way, outcome, started)
    if call.confirm is None:  # and so no envelope
        raise ToolError(following)
    text, shown = f"{message}\n{following}", preview | {"next": following}
    raise asking.Asked(asking.envelope(text, outcome, preview=shown))


async def applied_before(call: Call) -> str | None:
    """That the same call was applied on the word of an earlier one."""
    done = await call.gate.get(f"done-{call.key}")
    again = "was applied before with these arguments, and is not applied twice"
    return f"{call.tool} {again}" if done else None


async def _nothing_pending(call: Call) -> str:
    """Why `confirm=true` applies nothing."""
    return await applied_before(call) or (
        f"nothing is pending for {call.tool} with these arguments: they were not previewed, or that "
        "preview is used up or over. Nothing was changed."
    )


def _call_of(ctx: Context) -> Call | None:
    """The run that `ctx` belongs to; a context variable alone would follow into other requests."""
    call = _running.get()
    return call if call and call.request is ctx.request_context else None


async def serve(call: Call, running: Awaitable[ToolResult]) -> ToolResult:
    """Await a tool's run; a question out of a body, however deep, becomes the result of the outermost tool."""
    if outer := _call_of(call.ctx):
        call.nested = True
        call.confirm = None
        call.answers, call.applied = outer.answers, outer.applied
    token = _running.set(call)
    try:
        return await running
    except asking.Asked as asked:
        if outer:
            raise
        return asked.instead
    finally:
        _running.reset(token)


async def gated(
    declaration: Declaration,
    run: Callable[[], Awaitable[object]],
    preview: Callable[[], Awaitable[object]] | None,
) -> ToolResult:
    """Run `run` once the call's arguments, as the client sent them, are approved; ToolError: they cannot be."""
    call = _call_of(get_context())
    if call is None or call.declaration is not declaration:  # the function left its tool
        raise ToolError("a gated tool runs through its server only; nothing was changed")
    question = question_of(declaration, filled(call.arguments, call.schema))
    details = to_jsonable_python(await preview(), fallback=str) if preview else None
    answer = await _confirm(call, call.key, question, details)
    if answer is not ConfirmationResult.CONFIRMED:
        refusal = f"{asking.REFUSALS[answer]}; {call.tool} changed nothing."
        return asking.envelope(refusal, answer.value)
    by, used = call.approved_by, f"done-{call.key}"
    if steps := call.loaded in ("two_step", "page"):
        await call.gate.put(used, {"applied": call.tool})
    try:
        value = to_jsonable_python(await run())
    except Exception:
        if steps:
            await call.gate.take(used)
        raise
    finally:
        call.answers.pop(call.key, None)
        call.applied.append(call.tool)
    text = f"{call.tool} was applied: {json.dumps(value, ensure_ascii=False)}"
    return asking.envelope(text, "applied", approved_by=by, result=value)


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

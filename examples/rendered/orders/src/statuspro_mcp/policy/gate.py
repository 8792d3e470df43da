"""The gate: a person is asked before a tool that cannot be taken back.

Managed by the template. Which tools are gated follows from declarations.py; which client gets what, and what a gate does
not protect against, is in docs/adr/policy. Authors write `confirm=` and `preview=`, or call `require_confirmation`.
"""

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
from fastmcp.tools.base import InputRequiredToolResult, Tool, ToolResult
from mcp_types import ElicitRequestFormParams, ElicitResult, InputRequiredResult
from opentelemetry import metrics, trace
from pydantic_core import to_jsonable_python

from . import asking
from .asking import Approver, ConfirmationResult, Gate, caller_of, digest
from .declarations import Declaration
from .profile import CONFIRM_FALLBACK, PREVIEW_FIRST
from .schemas import confused
from .texts import changed, filled, message_of, question_of
from .trail import recorded

fallbacks = metrics.get_meter(__name__).create_counter("mcp.confirmation.fallbacks")

NOTHING = "nothing is pending for {} with these arguments: they were not previewed, or that preview is used up or over. Nothing was changed."
Way = Literal["elicitation", "input_required", "two_step", "page", "refuse"]
# What waits: the question `asked`, `answers` to earlier ones; once it is answered `answer`, its `way` and `by` whom
Entry = Mapping[str, Any]


@dataclass
class Call:
    """One tool's run within a request, with its arguments as the client sent them."""

    ctx: Context
    tool: str
    declaration: Declaration | None = None
    arguments: Mapping[str, Any] = field(default_factory=dict)
    confirm: bool | None = None  # None: there is no such parameter for the client to set
    schema: Mapping[str, Any] = field(default_factory=dict)  # of the arguments
    mend: str = "use a client that supports elicitation"
    enveloped: bool = True  # whether its output schema is that of an envelope
    nested: bool = False  # in the body of another tool, with which it shares the next two
    answers: dict[str, ConfirmationResult] = field(default_factory=dict)
    applied: list[str] = field(default_factory=list)
    questions: int = 0
    loaded: Entry = field(default_factory=dict)  # what this request answered
    approved_by: Approver | None = None
    left: tuple[Exception | None, str] = (None, "")  # what a question left the body with, and why

    def __post_init__(self) -> None:
        """Remember the request, which is another one in another task, and where its questions wait."""
        self.request = self.ctx.request_context
        self.gate: Gate = asking.SERVER.get().gate

    @cached_property
    def key(self) -> str:
        """What an answer is bound to: this tool, these arguments, this caller."""
        return digest(self.tool, self.arguments, caller_of(self.ctx))

    @property
    def fallback(self) -> Way:
        """What a client gets that cannot be asked."""
        return "refuse" if self.confirm is None else CONFIRM_FALLBACK

    def answered(self, way: Way, entry: Entry) -> None:
        """Keep what an earlier call was answered."""
        answers = {**entry["answers"], entry["asked"]: entry["answer"]}
        self.answers.update((key, ConfirmationResult(text)) for key, text in answers.items())
        hidden = {"requestState": None, "inputResponses": None}
        self.loaded = {"way": way, "round": hidden, **entry}


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
    entry: Entry | None = None
    state = call.ctx.request_state  # unsealed: made for this tool, these arguments, this user
    if state is not None and (asked := await call.gate.take(f"asked-{state}")):
        answer = _read(asking.answer_to(call.ctx, "confirmation"))
        entry = {"way": "input_required", "by": "person", "answer": answer} | asked
    elif way == "two_step" and call.confirm:
        entry = await call.gate.take(f"preview-{call.key}")
        entry = entry and entry | {"by": "client", "answer": ConfirmationResult.CONFIRMED}
    if entry:
        call.answered(way, entry)


async def _confirm(call: Call, key: str, question: str, details: Any) -> ConfirmationResult:
    """Ask the question `key`; comes back with its answer, or leaves with what the client gets instead.

    Each decision is one line and the span's attributes.
    """
    started = time.perf_counter()
    way, outcome, instead = await _settled(call, key, question, details)
    told: Approver = "person" if way in ("elicitation", "input_required") else "client"
    by = call.loaded.get("by", told) if outcome == ConfirmationResult.CONFIRMED else None
    call.approved_by = by or call.approved_by  # a no to a body's next question takes back no yes
    facts = {"way": way, "outcome": outcome, "approved_by": by}
    ms = round((time.perf_counter() - started) * 1000, 1)
    asking.log_step("confirmation", call.ctx, call.tool, facts | {"ms": ms})
    known = {f"mcp.confirmation.{name}": value for name, value in facts.items() if value}
    trace.get_current_span().set_attributes(known)
    if way in ("two_step", "page", "refuse"):
        fallbacks.add(1, {"tool": call.tool, "way": way})
    if instead:
        call.left = instead, outcome
        raise instead
    return ConfirmationResult(outcome)


async def _settled(
    call: Call, key: str, question: str, details: Any
) -> tuple[Way, str, Exception | None]:
    """In which way a question is settled, how, and what leaves the body instead of an answer."""
    asked: Way = "input_required" if asking.is_modern(call.ctx) else "elicitation"
    way = asked if await asking.shows_forms(call.ctx) else call.fallback
    await _load(call, way)
    shown = changed(call.arguments, call.schema)
    message = message_of(call.ctx.fastmcp.name, question, shown, details)
    form = ElicitRequestFormParams(message=message, requested_schema=asking.FORM)
    previews = PREVIEW_FIRST and call.confirm is False
    if key not in call.answers and way == "elicitation" and not previews:
        try:
            given = await asking.elicit(call.ctx, form, call.gate.seconds)
            answer = None if given is None else _read(given)
        except TimeoutError:
            answer = ConfirmationResult.TIMED_OUT
        if answer:
            await call.gate.take(f"preview-{call.key}")
            return way, answer, None
        way = call.fallback
        await _load(call, way)
    if found := call.answers.get(key):
        return call.loaded.get("way", way), found, None
    if call.applied:  # to ask would run the body again, and with it what was confirmed once
        why = f"{call.applied[0]} was applied; call {call.tool} by itself for the rest"
        return "refuse", "refused", ToolError(why)
    waiting = {"asked": key, "answers": call.answers}
    if way == "input_required" and not previews:
        state = secrets.token_urlsafe(24)
        await call.gate.put(f"asked-{state}", waiting)
        return way, "asked", asking.input_required("confirmation", form, state)
    if way == "two_step" and call.confirm and not call.loaded:
        return way, "refused", ToolError(await applied_before(call) or NOTHING.format(call.tool))
    if way == "refuse":
        why = "needs a person's confirmation, which this client cannot ask for here"
        mend = "call it by itself" if call.nested else call.mend
        return way, "refused", ToolError(f"{call.tool} {why}; {mend}. Nothing was changed.")
    preview = {"question": question, "arguments": shown, "details": details}
    outcome, minutes = "preview", max(1, round(call.gate.seconds / 60))
    following = f"Nothing was changed. This waits {minutes} minutes for your decision."
    if call.fallback == "two_step" and way != "input_required":
        await call.gate.put(f"preview-{call.key}", waiting)
    if call.confirm is None:  # and so no envelope
        return way, outcome, ToolError(following)
    told = asking.envelope(
        f"{message}\n{following}", outcome, preview=preview | {"next": following}
    )
    return way, outcome, asking.Asked(told)


async def applied_before(call: Call) -> str | None:
    """That the same call was applied on the word of an earlier one."""
    done = await call.gate.get(f"done-{call.key}")
    again = "was applied before with these arguments, and is not applied twice"
    return f"{call.tool} {again}" if done else None


def _call_of(ctx: Context) -> Call | None:
    """The run that `ctx` belongs to; a context variable alone would follow into other requests."""
    call = _running.get()
    return call if call and call.request is ctx.request_context else None


async def serve(
    tool: Tool,
    declaration: Declaration,
    arguments: dict[str, Any],
    run: Callable[[dict[str, Any]], Awaitable[ToolResult]],
    *,
    confirms: bool,
    own: bool = False,
    **about: Any,
) -> ToolResult:
    """Run a tool as a `Call`; a question out of a body, however deep, becomes the result of the outermost tool.

    `confirms`: it has the gate's argument; `own`: so has what it runs. ToolError: an argument has a wrong type.
    """
    confirm = arguments.get("confirm", False) if confirms else None
    given = {name: it for name, it in arguments.items() if not (confirms and name == "confirm")}
    name = tool.key.partition(":")[2].removesuffix("@")  # with its version, if it has one
    call = Call(get_context(), name, declaration, given, confirm, tool.parameters, **about)
    if outer := _call_of(call.ctx):
        call.nested, call.confirm = True, None
        call.answers, call.applied = outer.answers, outer.applied
    token = _running.set(call)
    try:
        with recorded(call, tool) as ended:
            if mistake := confused(arguments, tool.parameters):
                raise ToolError(mistake)
            if not isinstance(confirm, bool | None):
                raise ToolError(f"confirm is true or false, not {confirm!r}")
            return ended(await run(given | ({"confirm": True} if confirms and own else {})))
    except asking.Asked as asked:
        if outer:
            raise
        return asked.instead
    finally:
        _running.reset(token)


async def gated(
    declaration: Declaration,
    run: Callable[[], Awaitable[ToolResult]],
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
        call.left = None, answer.value
        refusal = f"{asking.REFUSALS[answer]}; {call.tool} changed nothing."
        if not call.enveloped:
            raise ToolError(refusal)
        return asking.envelope(refusal, answer.value)
    by, used = call.approved_by, f"done-{call.key}"
    if steps := call.loaded.get("way") in ("two_step", "page"):
        await call.gate.put(used, {"applied": call.tool})
    done = False
    try:
        with asking.own_round(call.ctx, call.loaded.get("round")):
            told = await run()
        if isinstance(told, InputRequiredToolResult):
            raise await _another_round(call, told.input_required)
        done = not told.is_error
    finally:
        if steps and not done:
            await call.gate.take(used)
        call.answers.pop(call.key, None)
        call.applied.append(call.tool)
    return asking.applied(call.tool, told, by) if done and call.enveloped else told


async def _another_round(call: Call, theirs: InputRequiredResult) -> asking.Asked:
    """What a tool asks the client itself; the answer comes with our approval, which is not used up yet."""
    state, way = secrets.token_urlsafe(24), call.loaded.get("way")
    entry = {"asked": call.key, "answers": call.answers, "answer": ConfirmationResult.CONFIRMED}
    more = {"way": way, "by": call.approved_by, "round": {"requestState": theirs.request_state}}
    await call.gate.put(f"asked-{state}", entry | more)
    return asking.Asked(InputRequiredToolResult(theirs.model_copy(update={"request_state": state})))


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

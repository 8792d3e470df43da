"""The gate: a person is asked before a tool that cannot be taken back.

Which tools are gated follows from the policy; which client gets what, and what a gate does not protect against, is in
docs/adr/policy. Authors write `confirm=` and `preview=`, or call `require_confirmation`.

A call passes from top to bottom: `serve` validates its arguments and runs it, `run_gated` previews and asks, `settle`
chooses the way of asking, and each way of asking is one function that returns a `Settlement`.
"""

import json
import logging
import secrets
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Any, Literal

from fastmcp import Context
from fastmcp.exceptions import ToolError
from fastmcp.server.dependencies import get_context
from fastmcp.tools.base import InputRequiredToolResult, Tool, ToolResult
from mcp_types import ElicitRequestFormParams, ElicitResult, InputRequiredResult
from opentelemetry import metrics, trace
from pydantic_core import to_jsonable_python

from ..arguments import find_type_mistakes, spell_numbers
from ..audit_log import recording
from ..declarations import Declaration
from ..private_api import replaced_round
from ..runtime import Runtime, current_frame, current_server, running
from . import elicitation
from .elicitation import Asked, caller_of, digest
from .envelope import (
    FORM_SCHEMA,
    REFUSALS,
    Approver,
    ConfirmationResult,
    applied_result,
    envelope_result,
)
from .pending import PendingStore
from .wording import (
    changed_arguments,
    filled_arguments,
    format_message,
    format_question,
)

NOTHING_PENDING = (
    "No pending confirmation for {0} with these arguments. Call {0} without `confirm` to preview it first. "
    "Nothing was changed."
)
Method = Literal["elicitation", "input_required", "two_step", "page", "refuse"]
# A pending confirmation: the question `asked`, `answers` to earlier ones; once it is answered also `answer`, its `way`,
# `by` whom, and whether the call `is_marked` as applied already
Entry = Mapping[str, Any]


@dataclass(frozen=True)
class Interruption:
    """The result that a question returns in place of a body's, and the outcome for the audit log."""

    error: Exception | None
    outcome: str


# A decision, or the values of a form that was filled in
Answer = ConfirmationResult | dict[str, Any]


@dataclass(frozen=True)
class Settlement:
    """The settlement of a question.

    Attributes:
        method: The method of asking that settled it.
        outcome: With what outcome; `answered` where a form was filled in.
        instead: What interrupts the body instead of an answer.
        values: The values of the form.
    """

    method: Method
    outcome: str
    instead: Exception | None = None
    values: dict[str, Any] | None = None


@dataclass(frozen=True)
class Question:
    """One question of a call. It is worded only where it is shown: a call that answers one shows nothing.

    Attributes:
        key: Its name among those of the call.
        own_text: The sentence of a body that asks itself; empty for the one of the declaration.
        details: What would happen, if that is known.
        is_preview: Whether the call only previews, whatever its client can show.
        schema: The form to fill in; None where the answer is yes or no.
        refusal: The message to a client that cannot show the form.
    """

    call: "Call"
    key: str
    details: Any = None
    own_text: str = ""
    is_preview: bool = False
    schema: dict[str, Any] | None = None
    refusal: str = ""

    @cached_property
    def values(self) -> dict[str, object]:
        """The values of all arguments, as they may be shown."""
        return filled_arguments(self.call.arguments, self.call.schema)

    @cached_property
    def text(self) -> str:
        """The sentence that a body asks, else the one that its declaration asks."""
        declaration = self.call.declaration
        if self.own_text or declaration is None:
            return self.own_text
        return format_question(declaration, self.values)

    @cached_property
    def arguments(self) -> dict[str, object]:
        """The arguments that it shows."""
        return changed_arguments(self.call.arguments, self.call.schema, self.values)

    @cached_property
    def message(self) -> str:
        """All that a person reads."""
        server = self.call.ctx.fastmcp.name
        return format_message(server, self.text, self.arguments, self.details)

    @property
    def form(self) -> ElicitRequestFormParams:
        """The question as a form."""
        schema = FORM_SCHEMA if self.schema is None else self.schema
        return ElicitRequestFormParams(message=self.message, requested_schema=schema)


@dataclass
class Call:
    """One tool's run within a request, with its arguments as the client sent them.

    Attributes:
        ctx: The request's context.
        server: The server that runs the tool.
        tool: The tool's name as its server serves it, with its version if it has one.
        path: The names under which the servers around its own serve it, where it is mounted.
        confirm: The client's `confirm`; None where the tool has no such parameter to set.
        schema: The schema of the arguments.
        remedy: What a refusal tells the client to do.
        has_envelope: Whether the tool's output schema is that of an envelope.
        is_code: Whether it runs code of the client, which calls other tools.
        is_nested: Whether it runs in the body of another tool, with which it shares `answers` and `applied`.
        questions: How many questions the body has asked so far.
        loaded: The pending confirmation that this request answered.
        interruption: What a question interrupted the body with.
    """

    ctx: Context
    server: Runtime
    tool: str
    path: tuple[str, ...] = ()
    declaration: Declaration | None = None
    arguments: Mapping[str, Any] = field(default_factory=dict)
    confirm: bool | None = None
    schema: Mapping[str, Any] = field(default_factory=dict)
    remedy: str = "use a client that supports elicitation"
    has_envelope: bool = True
    is_code: bool = False
    is_nested: bool = False
    answers: dict[str, Answer] = field(default_factory=dict)
    applied: list[str] = field(default_factory=list)
    questions: int = 0
    loaded: Entry = field(default_factory=dict)
    approved_by: Approver | None = None
    interruption: Interruption | None = None

    def __post_init__(self) -> None:
        """Remember the request, which is another one in another task, and where its questions wait."""
        self.request = self.ctx.request_context
        self.gate: PendingStore = self.server.gate

    @cached_property
    def key(self) -> str:
        """The digest that a confirmation is bound to: of this tool of this server, these arguments and this caller."""
        place = [self.gate.policy.server_name, *self.path, self.tool]
        return digest(place, self.arguments, caller_of(self.ctx))

    @property
    def applied_marker(self) -> str:
        """The name of the entry that says that this call was applied."""
        return f"done-{self.key}"

    @property
    def fallback(self) -> Method:
        """The method for a client that cannot ask its user."""
        if self.gate.policy.confirm_fallback == "page":
            return "page" if self.gate.pages.reaches(self.ctx) else "refuse"
        return "refuse" if self.confirm is None else self.gate.policy.confirm_fallback

    def accept_answer(self, method: Method, entry: Entry) -> None:
        """Keep what an earlier request was answered."""
        answers = {**entry["answers"], entry["asked"]: entry["answer"]}
        for key, answer in answers.items():
            is_values = isinstance(answer, dict)
            self.answers[key] = answer if is_values else ConfirmationResult(answer)
        hidden_round = {"requestState": None, "inputResponses": None}
        self.loaded = {"way": method, "round": hidden_round, **entry}


# 1. Validate and run --------------------------------------------------------------------------------------------------


async def serve(
    server: Runtime,
    tool: Tool,
    declaration: Declaration,
    arguments: dict[str, Any],
    run: Callable[[dict[str, Any]], Awaitable[ToolResult]],
    *,
    has_gate: bool,
    passes_confirm: bool,
    **options: Any,
) -> ToolResult:
    """Run a tool as a `Call`; a question out of a body, however deep, becomes the result of the outermost tool.

    Args:
        server: The server that serves it.
        tool: The tool as it is served.
        declaration: What it declares.
        arguments: The arguments as the client sent them.
        run: Runs it with its own arguments.
        has_gate: Whether it has the gate's argument `confirm`.
        passes_confirm: Whether what it runs has such an argument too.
        options: Further fields of `Call`.

    Raises:
        ToolError: An argument has a wrong type, or what the tool itself raises.
    """
    if server.spells_numbers:
        arguments = spell_numbers(arguments, tool.parameters)
    confirm = arguments.get("confirm", False) if has_gate else None
    own_arguments = dict(arguments)
    if has_gate:
        own_arguments.pop("confirm", None)
    frame = current_frame()
    call = Call(
        ctx=get_context(),
        server=server,
        tool=_served_name(server, tool),
        path=frame.path if frame else (),
        declaration=declaration,
        arguments=own_arguments,
        confirm=confirm,
        schema=tool.parameters,
        **options,
    )
    outer = find_call(call.ctx)
    if outer:
        call.is_nested = True
        call.confirm = None
        call.answers = outer.answers
        call.applied = outer.applied
    try:
        with running(server, call), recording(call, tool) as record_outcome:
            if mistake := find_type_mistakes(arguments, tool.parameters):
                raise ToolError(mistake)
            if not isinstance(confirm, bool | None):
                raise ToolError(f"confirm is true or false, not {confirm!r}")
            if passes_confirm and has_gate:
                own_arguments = {**own_arguments, "confirm": True}
            return record_outcome(await run(own_arguments))
    except Asked as interruption:
        if outer and outer.is_code:
            problem = "asks before it goes on, and code cannot be answered"
            raise ToolError(
                f"{call.tool} {problem}; call it by itself."
            ) from interruption
        if outer:
            raise
        return interruption.instead


def _served_name(server: Runtime, tool: Tool) -> str:
    """Return the name under which a server serves a tool, which may be mounted there, with its version."""
    frame = current_frame()
    if frame and frame.served_as and frame.server is server:
        return frame.served_as
    return versioned_name(tool)


def versioned_name(tool: Tool) -> str:
    """Return a tool's name, with its version if it has one."""
    return tool.key.partition(":")[2].removesuffix("@")


def find_call(ctx: Context) -> Call | None:
    """Return the run that `ctx` belongs to; a context variable alone would follow into other requests."""
    frame = current_frame()
    call = frame.call if frame else None
    if call and call.request is ctx.request_context:
        return call
    return None


def outside_of_tools(ctx: Context) -> Call:
    """Return the call of a function that no tool runs: that of a resource or a prompt."""
    server, frame = current_server(), current_frame()
    return Call(ctx, server, "this tool", path=frame.path if frame else ())


# 2. Preview, ask, apply -----------------------------------------------------------------------------------------------


async def run_gated(
    declaration: Declaration,
    run: Callable[[], Awaitable[ToolResult]],
    preview: Callable[[], Awaitable[object]] | None,
) -> ToolResult:
    """Run `run` once the call's arguments, as the client sent them, are approved.

    Raises:
        ToolError: They are not approved and the tool has no envelope, or nobody can be asked.
    """
    call = find_call(get_context())
    # The function left its tool
    if call is None or call.declaration is not declaration:
        raise ToolError(
            "a gated tool runs through its server only; nothing was changed"
        )
    details = to_jsonable_python(await preview(), fallback=str) if preview else None
    question = _build_question(call, call.key, details)
    decision = await confirm(call, question)
    if decision is not ConfirmationResult.CONFIRMED:
        call.interruption = Interruption(None, decision.value)
        refusal = f"{REFUSALS[decision]}; {call.tool} changed nothing."
        if not call.has_envelope:
            raise ToolError(refusal)
        shown = _describe_question(question)
        return envelope_result(refusal, decision.value, preview=shown)
    return await _apply(call, run)


async def _apply(call: Call, run: Callable[[], Awaitable[ToolResult]]) -> ToolResult:
    """Run an approved call once; a later call with the same approval learns that it was applied."""
    approved_by = call.approved_by
    has_steps = call.loaded.get("way") in ("two_step", "page")
    if has_steps and not call.loaded.get("is_marked"):
        await call.gate.put(call.applied_marker, {"applied": call.tool})
    is_done = False
    try:
        with replaced_round(call.ctx, call.loaded.get("round")):
            result = await run()
        if isinstance(result, InputRequiredToolResult):
            raise await _continue_round(call, result.input_required)
        is_done = not result.is_error
    finally:
        if has_steps and not is_done:
            await call.gate.take(call.applied_marker)
        call.answers.pop(call.key, None)
        call.applied.append(call.tool)
    if is_done and call.has_envelope:
        return applied_result(call.tool, result, approved_by)
    return result


async def _continue_round(call: Call, required: InputRequiredResult) -> Asked:
    """Hand on what a tool asks the client itself; the answer comes with our approval, which is not used up yet."""
    entry = {
        "asked": call.key,
        "answers": call.answers,
        "answer": ConfirmationResult.CONFIRMED,
        "way": call.loaded.get("way"),
        "by": call.approved_by,
        "round": {"requestState": required.request_state},
    }
    state = await _store_round(call, entry)
    result = required.model_copy(update={"request_state": state})
    return Asked(InputRequiredToolResult(result))


async def require_confirmation(
    ctx: Context, message: str, *, preview: Mapping[str, Any] | None = None
) -> ConfirmationResult:
    """Ask a question that only the body can word. Ask all of them before the first side effect.

    On 2026-07-28 the body runs again from its start with the answer, so what comes before must be
    safe to repeat. A client that cannot ask gets the preview when the tool is declared with
    `confirm=`, else an error. `preview`, what would happen, is shown below the question.
    Only the answer CONFIRMED allows the action; ToolError: this client cannot be asked.
    """
    call = find_call(ctx) or outside_of_tools(ctx)
    call.questions += 1
    key = digest(call.key, call.questions, message)
    details = to_jsonable_python(preview, fallback=str)
    return await confirm(call, _build_question(call, key, details, message))


# 3. Ask ---------------------------------------------------------------------------------------------------------------


def _build_question(call: Call, key: str, details: Any, text: str = "") -> Question:
    """Return the question whether a call may go on; the declaration's, where the body has none of its own."""
    is_preview = call.gate.policy.preview_first and call.confirm is False
    return Question(call, key, details=details, own_text=text, is_preview=is_preview)


async def confirm(call: Call, question: Question) -> ConfirmationResult:
    """Ask whether a call may go on, and return the decision.

    Raises:
        Exception: What the client gets instead, while there is no decision.
    """
    settlement = await pose(call, question)
    return ConfirmationResult(settlement.outcome)


async def pose(call: Call, question: Question) -> Settlement:
    """Ask one question; each answer is one log line and the span's attributes.

    Raises:
        Exception: What the client gets instead, while there is no answer.
    """
    started = time.perf_counter()
    settlement = await settle(call, question)
    _report(call, settlement, started)
    if settlement.instead:
        call.interruption = Interruption(settlement.instead, settlement.outcome)
        raise settlement.instead
    return settlement


def _report(call: Call, settlement: Settlement, started: float) -> None:
    """Note who approved, and log, trace and count how a question was settled."""
    approved_by: Approver | None = None
    if settlement.outcome == ConfirmationResult.CONFIRMED:
        is_form = settlement.method in ("elicitation", "input_required")
        approved_by = call.loaded.get("by", "person" if is_form else "client")
    # A no to a later question of the body takes back no earlier yes
    call.approved_by = approved_by or call.approved_by
    facts = {
        "way": settlement.method,
        "outcome": settlement.outcome,
        "approved_by": approved_by,
    }
    milliseconds = round((time.perf_counter() - started) * 1000, 1)
    elicitation.log_step(
        "confirmation",
        call.server.policy,
        call.ctx,
        call.tool,
        {**facts, "ms": milliseconds},
    )
    attributes = {
        f"mcp.confirmation.{name}": value for name, value in facts.items() if value
    }
    trace.get_current_span().set_attributes(attributes)
    if settlement.method in ("two_step", "page", "refuse"):
        counter = _fallback_counter(call.gate.policy.server_name)
        counter.add(1, {"tool": call.tool, "way": settlement.method})


@cache
def _fallback_counter(server_name: str) -> metrics.Counter:
    """Return the counter of questions that a client could not show, on the meter of a server."""
    return metrics.get_meter(server_name).create_counter("mcp.confirmation.fallbacks")


async def settle(call: Call, question: Question) -> Settlement:
    """Decide how a question is settled in this request: by an earlier answer, or in one of the ways of asking."""
    is_modern = elicitation.is_modern(call.ctx)
    method: Method = "input_required" if is_modern else "elicitation"
    if not await elicitation.shows_forms(call.ctx, call.gate):
        method = call.fallback
    await _load_answer(call, method)
    if (
        question.key not in call.answers
        and method == "elicitation"
        and not question.is_preview
    ):
        answer = await _ask_during_call(call, question)
        if answer is not None:
            return _build_settlement(method, answer)
        # The client declared a form and could not show it
        method = call.fallback
        await _load_answer(call, method)
    if question.key in call.answers:
        method = call.loaded.get("way", method)
        return _build_settlement(method, call.answers[question.key])
    if call.applied:
        return _refuse_rest(call)
    return await _ask(call, question, method)


async def _ask(call: Call, question: Question, method: Method) -> Settlement:
    """Ask in a way that answers the call without a decision, or with that of a page."""
    if method == "input_required" and not question.is_preview:
        return await _ask_by_result(call, question)
    if method == "page":
        return await _ask_on_page(call, question)
    if question.refusal:
        return Settlement("refuse", "refused", ToolError(question.refusal))
    if method == "refuse":
        return _refuse(call)
    return await _preview(call, question, method)


def _build_settlement(method: Method, answer: Answer) -> Settlement:
    """Return how an answered question is settled."""
    if isinstance(answer, dict):
        return Settlement(method, "answered", values=answer)
    return Settlement(method, answer)


async def _load_answer(call: Call, method: Method) -> None:
    """Take in what this request answers: only a question that we asked has an answer, and one."""
    entry: Entry | None = None
    if pending := await _take_round(call):
        response = elicitation.response_to(call.ctx, "confirmation")
        answer = _parse_response(response, has_form=bool(pending.get("has_form")))
        entry = {"way": "input_required", "by": "person", "answer": answer, **pending}
    elif method == "two_step" and call.confirm:
        previewed = await call.gate.exchange(
            f"preview-{call.key}", call.applied_marker, {"applied": call.tool}
        )
        if previewed:
            entry = {
                **previewed,
                "by": "client",
                "answer": ConfirmationResult.CONFIRMED,
                "is_marked": True,
            }
    elif method == "page":
        entry = await call.gate.pages.answer_for(call.key)
    if entry:
        call.accept_answer(method, entry)


async def _store_round(call: Call, entry: Entry) -> str:
    """Store a pending confirmation, and return the state with which the client calls again.

    The values of forms are in that state only, which the SDK seals: the store holds none.
    """
    nonce = secrets.token_urlsafe(24)
    decisions: dict[str, Answer] = {}
    values: dict[str, Answer] = {}
    for key, answer in entry["answers"].items():
        (values if isinstance(answer, dict) else decisions)[key] = answer
    await call.gate.put(f"asked-{nonce}", {**entry, "answers": decisions})
    return f"{nonce}.{json.dumps(values)}" if values else nonce


async def _take_round(call: Call) -> dict[str, Any] | None:
    """Return the pending confirmation that this request answers, once."""
    # Unsealed: for this tool, these arguments, this user
    state = call.ctx.request_state
    if state is None:
        return None
    nonce, _, values = state.partition(".")
    entry = await call.gate.take(f"asked-{nonce}")
    if entry and values:
        entry["answers"] = {**entry["answers"], **json.loads(values)}
    return entry


def _parse_response(response: object, *, has_form: bool) -> Answer:
    """Return the values of a form that was filled in, or the person's decision.

    Anything but an accepted form with `confirm: true` is no where nothing is to be filled in.
    """
    if not isinstance(response, ElicitResult) or response.action == "cancel":
        return ConfirmationResult.CANCELLED
    if response.action == "accept" and has_form:
        return dict(response.content or {})
    if response.action == "accept" and (response.content or {}).get("confirm") is True:
        return ConfirmationResult.CONFIRMED
    return ConfirmationResult.DECLINED


async def _ask_during_call(call: Call, question: Question) -> Answer | None:
    """Show a form while the call waits (up to 2025-11-25); None where the client could not show it."""
    try:
        response = await elicitation.elicit(
            call.ctx, call.gate, question.form, call.gate.seconds
        )
    except TimeoutError:
        return ConfirmationResult.TIMED_OUT
    if response is None:
        return None
    await call.gate.take(f"preview-{call.key}")
    return _parse_response(response, has_form=question.schema is not None)


async def _ask_by_result(call: Call, question: Question) -> Settlement:
    """Answer the call with a form (2026-07-28); the client calls again with what was filled in."""
    state = await _store_round(call, _pending_entry(call, question))
    required = elicitation.input_required("confirmation", question.form, state)
    return Settlement("input_required", "asked", required)


async def _ask_on_page(call: Call, question: Question) -> Settlement:
    """Ask on a page outside the conversation, for a client that cannot show a form."""
    shown = {**_describe_question(question), "schema": question.schema}
    about = {**_pending_entry(call, question), **shown}
    decided = await call.gate.pages.ask(call, about)
    if not isinstance(decided, str):
        call.accept_answer("page", decided)
        return _build_settlement("page", call.answers[question.key])
    return _preview_settlement(call, question, "page", "waiting", decided)


async def _preview(call: Call, question: Question, method: Method) -> Settlement:
    """Show what would happen; with `two_step` the same call with `confirm=true` then applies it."""
    if call.confirm and not call.loaded:
        refusal = await applied_before(call) or NOTHING_PENDING.format(call.tool)
        return Settlement(method, "refused", ToolError(refusal))
    if call.fallback == "two_step" and method != "input_required":
        await call.gate.put(f"preview-{call.key}", _pending_entry(call, question))
    minutes = max(1, round(call.gate.seconds / 60))
    following = f"Nothing was changed. This waits {minutes} minutes for your decision."
    return _preview_settlement(call, question, method, "preview", following)


def _refuse(call: Call) -> Settlement:
    """Refuse a call whose user cannot be asked."""
    reason = "needs a person's confirmation, which this client cannot ask for here"
    remedy = "call it by itself" if call.is_nested else call.remedy
    error = ToolError(f"{call.tool} {reason}; {remedy}. Nothing was changed.")
    return Settlement("refuse", "refused", error)


def _refuse_rest(call: Call) -> Settlement:
    """Refuse a question after a part was applied: asking would run the body, and that part, again."""
    error = ToolError(
        f"{call.applied[0]} was applied; call {call.tool} by itself for the rest"
    )
    return Settlement("refuse", "refused", error)


def _pending_entry(call: Call, question: Question) -> dict[str, Any]:
    has_form = question.schema is not None
    return {"asked": question.key, "answers": call.answers, "has_form": has_form}


def _describe_question(question: Question) -> dict[str, Any]:
    return {
        "question": question.text,
        "arguments": question.arguments,
        "details": question.details,
    }


def _preview_settlement(
    call: Call, question: Question, method: Method, outcome: str, following: str
) -> Settlement:
    """Answer with what would happen and what follows; without `confirm`, and so without an envelope, as an error."""
    if call.confirm is None:
        # FastMCP logs the errors of resources, and this one may have a link
        error = ToolError(following, log_level=logging.DEBUG)
        return Settlement(method, outcome, error)
    preview = {**_describe_question(question), "next": following}
    result = envelope_result(
        f"{question.message}\n{following}", outcome, preview=preview
    )
    return Settlement(method, outcome, Asked(result))


async def applied_before(call: Call) -> str | None:
    """Tell that the same call was applied on the word of an earlier one."""
    if not await call.gate.get(call.applied_marker):
        return None
    return (
        f"{call.tool} was applied before with these arguments, and is not applied twice"
    )

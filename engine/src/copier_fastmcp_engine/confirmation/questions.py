"""The questions that a tool's body asks for itself: a choice, a text, or the fields of a form."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar, overload

from fastmcp import Context
from fastmcp.exceptions import ToolError
from fastmcp.server.elicitation import get_elicitation_schema
from pydantic import BaseModel, ValidationError

from ..arguments import describe_errors
from . import gate
from .elicitation import digest
from .envelope import REFUSALS, ConfirmationResult
from .gate import Call, Question

M = TypeVar("M", bound=BaseModel)
ANSWER = "answer"  # the field of a form with one question


@overload
async def ask(
    ctx: Context,
    question: str,
    model: None = None,
    *,
    choices: Sequence[str] = (),
    parameter: str = "",
) -> str: ...


@overload
async def ask(
    ctx: Context, question: str, model: type[M], *, parameter: str = ""
) -> M: ...


async def ask(
    ctx: Context,
    question: str,
    model: type[M] | None = None,
    *,
    choices: Sequence[str] = (),
    parameter: str = "",
) -> str | M:
    """Ask the user something that the call does not say. Ask all questions before the first side effect.

    A client that shows forms shows one; else a page in a browser asks, where the policy has pages. On 2026-07-28 the body
    runs again from its start with each answer, so what comes before must be safe to repeat; earlier answers, and an
    approval that was given, are kept.

    Args:
        ctx: The context of the call.
        question: The question, in one sentence.
        model: A Pydantic model of the answer; its fields are texts, numbers, yes or no, or choices.
        choices: The answers to choose from; any text is an answer where there is neither this nor a model.
        parameter: The parameter of the tool that answers the question instead, for clients that cannot be asked.

    Returns:
        The choice or the text, or the filled model.

    Raises:
        ToolError: The user gave no answer, or nobody can be asked.
        TypeError: The model has other fields, or there are choices as well as a model.
    """
    if model is not None and choices:
        raise TypeError("ask() takes a model or choices, not both")
    call = gate.find_call(ctx) or gate.outside_of_tools(ctx)
    call.questions += 1
    schema = _form_schema(question, model, choices)
    settlement = await gate.pose(
        call,
        Question(
            call,
            key=digest(call.key, call.questions, question, schema),
            own_text=question,
            schema=schema,
            refusal=_describe_refusal(call, question, choices, parameter),
        ),
    )
    if settlement.method == "page" and not _is_gated(call):
        await call.gate.take(call.applied_marker)  # nothing was approved by the answer
    if settlement.values is None:
        refusal = REFUSALS[ConfirmationResult(settlement.outcome)]
        raise ToolError(f"{refusal}: {question} Nothing was changed.")
    return _parse_answer(settlement.values, question, model, choices)


def _is_gated(call: Call) -> bool:
    declaration = call.declaration
    return declaration is not None and call.gate.policy.is_gated(declaration)


def _form_schema(
    question: str, model: type[BaseModel] | None, choices: Sequence[str]
) -> dict[str, Any]:
    """Return the form of a question; TypeError where a client could not show it."""
    if model is not None:
        return dict(get_elicitation_schema(model))
    field: dict[str, Any] = {"type": "string", "title": question}
    if choices:
        field["enum"] = [*choices]
    return {"type": "object", "properties": {ANSWER: field}, "required": [ANSWER]}


def _describe_refusal(
    call: Call, question: str, choices: Sequence[str], parameter: str
) -> str:
    """Return the message to a client that cannot show the question."""
    one_of = f", one of {', '.join(choices)}" if choices else ""
    if parameter:
        remedy = f"call it again with {parameter}{one_of}"
    else:
        remedy = f"use a client that shows forms, or give {call.tool} a parameter for the answer{one_of}"
    reason = f"{call.tool} asks {question!r}, which this client cannot show"
    return f"{reason}; {remedy}. Nothing was changed."


def _parse_answer(
    values: Mapping[str, Any],
    question: str,
    model: type[M] | None,
    choices: Sequence[str],
) -> str | M:
    """Return the answer; ToolError where a client sent something else than it was asked for."""
    if model is not None:
        try:
            return model.model_validate(dict(values))
        except ValidationError as error:
            mistake = describe_errors(error)
            raise ToolError(f"the answer to {question!r}: {mistake}") from error
    answer = values.get(ANSWER)
    if not isinstance(answer, str) or (choices and answer not in choices):
        expected = f"one of {', '.join(choices)}" if choices else "a text"
        raise ToolError(f"the answer to {question!r} is {answer!r}, not {expected}")
    return answer

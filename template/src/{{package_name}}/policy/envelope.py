"""What a person is asked and what a gated tool answers, as the wire shows them. Managed by the template."""

from enum import StrEnum
from typing import Any, Generic, Literal, TypeVar

from fastmcp.tools.base import ToolResult
from pydantic import BaseModel, Field

R = TypeVar("R")
Outcome = Literal["applied", "preview", "declined", "cancelled", "timed_out"]


class ConfirmationSchema(BaseModel):
    """The form a person fills in."""

    confirm: bool = Field(description="Confirm the action (true to proceed)")


class ConfirmationResult(StrEnum):
    """The answer of a person."""

    CONFIRMED = "confirmed"
    DECLINED = "declined"
    CANCELLED = "cancelled"
    TIMED_OUT = "timed_out"


class Envelope(BaseModel, Generic[R]):
    """The result of every gated tool, on every path."""

    confirmed: bool = Field(description="Whether a person agreed")
    outcome: Outcome = Field(description="What happened; only applied changed anything")
    preview: dict[str, Any] | None = Field(
        default=None, description="What would happen, and how to continue"
    )
    result: R | None = Field(default=None, description="Result of the tool, when applied")


FORM: dict[str, Any] = {
    "type": "object",
    "properties": ConfirmationSchema.model_json_schema()["properties"],
    "required": ["confirm"],
}
REFUSALS = {
    ConfirmationResult.DECLINED: "The person said no",
    ConfirmationResult.CANCELLED: "The person closed the question without an answer",
    ConfirmationResult.TIMED_OUT: "Nobody answered in time",
}


def envelope(text: str, outcome: str, *, preview: Any = None, result: Any = None) -> ToolResult:
    """An `Envelope` of values that are plain JSON already, with its text for clients that read no structure."""
    content = {"confirmed": outcome == "applied", "outcome": outcome}
    content |= {"preview": preview, "result": result}
    return ToolResult(content=text, structured_content=content)

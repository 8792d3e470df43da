"""The one result of every gated tool, on every path."""

from enum import StrEnum
from typing import Any, Generic, Literal, TypeVar

import mcp_types as wire
from fastmcp.tools.base import ToolResult
from pydantic import BaseModel, Field

R = TypeVar("R")
Outcome = Literal["applied", "preview", "waiting", "declined", "cancelled", "timed_out"]
Approver = Literal["person", "client"]


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
    approved_by: Approver | None = Field(
        description="person: form or page; client: the call"
    )
    outcome: Outcome = Field(description="Only applied changed anything")
    preview: dict[str, Any] | None = Field(default=None, description="The preview")
    result: R | None = Field(default=None, description="The result")


ENVELOPE_SCHEMA = Envelope[Any].model_json_schema(mode="serialization")
FORM_SCHEMA = {
    "type": "object",
    "properties": ConfirmationSchema.model_json_schema()["properties"],
    "required": ["confirm"],
}
REFUSALS = {
    ConfirmationResult.DECLINED: "The answer was no",
    ConfirmationResult.CANCELLED: "The question was closed without an answer",
    ConfirmationResult.TIMED_OUT: "Nobody answered in time",
}


def envelope_result(text: str, outcome: str, **fields: Any) -> ToolResult:
    """Build an `Envelope` of plain JSON, with a text for clients that read no structured content."""
    content = {
        "confirmed": outcome == "applied",
        "approved_by": None,
        "outcome": outcome,
        "preview": None,
        "result": None,
    }
    content.update(fields)
    return ToolResult(text, content)


def applied_result(
    tool: str, result: ToolResult, approved_by: Approver | None
) -> ToolResult:
    """Wrap what a tool returned; content without structure stays next to the envelope."""
    text = f"{tool} was applied"
    blocks = [*result.content]
    if blocks and isinstance(first := blocks[0], wire.TextContent):
        text = f"{text}: {first.text}"
        blocks = blocks[1:]
    value: Any = result.structured_content
    meta = dict(result.meta or {})
    if value is not None and meta.get("fastmcp") == {"wrap_result": True}:
        del meta["fastmcp"]
        value = value.get("result")
    wrapped = envelope_result(text, "applied", approved_by=approved_by, result=value)
    wrapped.content += blocks
    wrapped.meta = meta or None
    return wrapped

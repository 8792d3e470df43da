"""The envelope of a gated tool's result."""

from dataclasses import dataclass
from typing import Any

import pytest
from fastmcp.tools.base import ToolResult
from mcp_types import TextContent

from copier_fastmcp_engine.confirmation.envelope import applied_result, envelope_result

NOTHING = {"approved_by": None, "preview": None, "result": None}
WRAPPED: dict[str, Any] = {"fastmcp": {"wrap_result": True}}


@pytest.mark.parametrize(
    ("outcome", "confirmed"),
    [
        ("applied", True),
        ("wait", False),
    ],
)
def test_an_envelope_has_all_its_fields(outcome: str, confirmed: bool) -> None:
    content = envelope_result("text", outcome).structured_content
    assert content == {"confirmed": confirmed, "outcome": outcome, **NOTHING}


def test_fields_of_an_envelope_replace_its_defaults() -> None:
    content = envelope_result("text", "preview", preview={"a": 1}).structured_content
    assert content is not None
    assert content["preview"] == {"a": 1}


def apply(*texts: str, value: Any = None, meta: Any = None) -> ToolResult:
    """Return the envelope for what a tool returned."""
    blocks = [TextContent(type="text", text=text) for text in texts]
    result = ToolResult(blocks, value, meta)
    return applied_result("drop", result, "person")


def test_an_applied_result_names_the_approver_and_keeps_further_content() -> None:
    result = apply("a", "b", "c", value={"x": 1}, meta={"m": 2})
    assert result.structured_content == {
        "confirmed": True,
        "outcome": "applied",
        "approved_by": "person",
        "preview": None,
        "result": {"x": 1},
    }
    texts = []
    for block in result.content:
        assert isinstance(block, TextContent)
        texts.append(block.text)
    first, *others = texts
    assert first.startswith("drop")
    assert first.endswith("a")
    assert others == ["b", "c"]
    assert result.meta == {"m": 2}


@dataclass(frozen=True)
class Row:
    """What a tool returned, and what the envelope holds of it.

    Attributes:
        value: The structured content that the tool returned.
        meta: The metadata that the tool returned.
        result: The field `result` of the envelope.
        kept_meta: The metadata of the envelope.
    """

    value: Any
    meta: Any
    result: Any
    kept_meta: Any


NOT_WRAPPED: dict[str, Any] = {"fastmcp": {"wrap_result": False}}
ROWS = {
    "wrapped": Row(
        value={"result": 3},
        meta=WRAPPED,
        result=3,
        kept_meta=None,
    ),
    "wrapped-with-meta": Row(
        value={"result": 3},
        meta=WRAPPED | {"m": 2},
        result=3,
        kept_meta={"m": 2},
    ),
    "plain": Row(
        value={"result": 3},
        meta=None,
        result={"result": 3},
        kept_meta=None,
    ),
    "not-wrapped": Row(
        value={"result": 3},
        meta=NOT_WRAPPED,
        result={"result": 3},
        kept_meta=NOT_WRAPPED,
    ),
    "no-value": Row(
        value=None,
        meta=WRAPPED,
        result=None,
        kept_meta=WRAPPED,
    ),
}


@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS)
def test_a_value_that_fastmcp_wrapped_is_unwrapped(row: Row) -> None:
    envelope = apply("a", value=row.value, meta=row.meta)
    assert envelope.structured_content is not None
    assert envelope.structured_content["result"] == row.result
    assert envelope.meta == row.kept_meta

"""The envelope of a gated tool's result."""

from typing import Any

import pytest
from fastmcp.tools.base import ToolResult
from mcp_types import TextContent

from copier_fastmcp_engine.confirmation.envelope import applied_result, envelope_result

NOTHING = {"approved_by": None, "preview": None, "result": None}
WRAPPED = {"fastmcp": {"wrap_result": True}}


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
    texts = [block.text for block in result.content if isinstance(block, TextContent)]
    assert texts[0].startswith("drop")
    assert texts[0].endswith("a")
    assert texts[1:] == ["b", "c"]
    assert result.meta == {"m": 2}


@pytest.mark.parametrize(
    ("value", "meta", "expected"),
    [
        ({"result": 3}, WRAPPED, (3, None)),
        (
            {"result": 3},
            {**WRAPPED, "m": 2},
            (3, {"m": 2}),
        ),
        ({"result": 3}, None, ({"result": 3}, None)),
        (
            {"result": 3},
            {"fastmcp": {"wrap_result": False}},
            ({"result": 3}, {"fastmcp": {"wrap_result": False}}),
        ),
        (None, WRAPPED, (None, WRAPPED)),
    ],
    ids=["wrapped", "wrapped-with-meta", "plain", "not-wrapped", "no-value"],
)
def test_a_value_that_fastmcp_wrapped_is_unwrapped(
    value: Any, meta: Any, expected: tuple[Any, Any]
) -> None:
    result = apply("a", value=value, meta=meta)
    assert result.structured_content is not None
    assert (result.structured_content["result"], result.meta) == expected

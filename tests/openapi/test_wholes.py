"""What an operation becomes that chooses what it does, answers anything, or only adds."""

from typing import Any

import pytest
from openapi.documents_of import (
    convert_operation,
    make_json_body,
    make_operation,
    make_responses,
)

from copier_fastmcp.openapi.converting import convert
from copier_fastmcp.openapi.tools import Options


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object"},
        {"type": "object", "additionalProperties": {"type": "integer"}},
        {"type": "array", "items": {"type": "string"}},
        {"type": "integer"},
        {},
    ],
)
def test_what_has_no_fields_is_answered_whole(schema: dict[str, Any]) -> None:
    """Nothing is said of it, so that it comes as the API has it."""
    result = convert_operation(
        "QUERY /a",
        requestBody=make_json_body(q={"type": "string"}),
        responses=make_responses(schema),
    )
    assert result.tool is not None
    assert result.tool["behavior"] == "read"
    assert "returns" not in result.tool
    assert result.left_out == []


def test_what_only_adds_loses_nothing() -> None:
    star = (
        convert_operation(
            "PUT /user/starred/{owner}/{repo}", operationId="activity/star-repo"
        ).tool
        or {}
    )
    assert star["exceptions"][0]["hint"] == "destructive"
    assert star["exceptions"][0]["value"] is False
    assert "exceptions" not in (
        convert_operation("PUT /pages/{id}/published", operationId="setIt").tool or {}
    )


def test_what_chooses_what_it_does_is_a_tool_for_each_choice() -> None:
    body = make_json_body(
        action={"enum": ["start", "stop", "delete", "frob"]}, force={"type": "boolean"}
    )
    item = make_operation(
        "POST /servers/{id}/actions", requestBody=body, summary="Act on a server"
    )
    result = {}
    for row in convert([item], Options()):
        if row.tool:
            result[row.tool["name"]] = row
    behaviors = {}
    for name, row in result.items():
        behaviors[name] = row.derived.behavior
    assert behaviors == {
        "start_server": "action",
        "stop_server": "action",
        "delete_server": "delete",
        "frob_server": "action",
    }
    assert result["frob_server"].derived.asked
    assert {row.row()["operation"] for row in result.values()} == {item.name}
    sent = result["stop_server"].tool or {}
    assert sent["description"] == "Stop Server. Act on a server."
    assert {"choices": ["stop"], "default": "stop"}.items() <= sent["params"][1].items()
    patch = make_operation(
        "PATCH /users/{id}", requestBody=make_json_body(op={"enum": ["add", "remove"]})
    )
    assert len(convert([patch], Options())) == 1, "what is removed is a part of it"


@pytest.mark.parametrize(
    ("inner", "expected"),
    [
        ({"type": "object", "additionalProperties": {}}, "The keys. Any fields."),
        ({"type": "array", "items": {"type": "object"}}, "The keys. Any fields."),
        ({"type": "string"}, "The keys."),
    ],
)
def test_an_input_that_is_any_object_says_so(
    inner: dict[str, Any], expected: str
) -> None:
    """The suite of a server refuses a tool of which nothing says what to pass."""
    result = convert_operation("PATCH /me/keys", requestBody=make_json_body(keys=inner))
    assert result.tool is not None
    assert result.tool["params"][0]["description"] == expected


def test_an_object_next_to_other_inputs_keeps_its_text() -> None:
    body = make_json_body(keys={"type": "object"}, name={"type": "string"})
    result = convert_operation("PATCH /me/keys", requestBody=body)
    assert result.tool is not None
    texts = [param["description"] for param in result.tool["params"]]
    assert texts == ["The keys.", "The name."]

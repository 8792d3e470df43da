"""What an import says of sending: the type of a body, null, pages, how callers are let in."""

from typing import Any

import pytest
from openapi.documents_of import (
    convert_operation,
    make_document,
    make_json_body,
    make_operation,
    make_responses,
)

from copier_fastmcp.openapi.converting import convert
from copier_fastmcp.openapi.server import about
from copier_fastmcp.openapi.tools import Options


def test_a_body_keeps_its_type_of_json() -> None:
    schema = {"schema": {"type": "object", "properties": {"title": {"type": "string"}}}}
    for kinds, sent in (
        (["application/merge-patch+json"], " application/merge-patch+json"),
        (["application/merge-patch+json", "application/json"], ""),
        (
            ["application/json-patch+json", "application/vnd.a.v1+json;v=1"],
            " application/vnd.a.v1+json",
        ),
        (["application/*+json"], ""),
    ):
        body = {"content": dict.fromkeys(kinds, schema)}
        result = convert_operation("PATCH /notes/{id}", requestBody=body).tool
        assert result is not None
        assert result["http"] == f"PATCH /notes/{{id}}{sent}"


def test_null_is_sent_by_the_name_of_its_field() -> None:
    text = "Its name. Null removes it."
    body = make_json_body(
        name={"type": ["string", "null"], "description": text}, a={"type": "string"}
    )
    result = convert_operation("PATCH /notes/{id}", requestBody=body)
    assert result.tool is not None
    printed = {row["name"]: row for row in result.tool["params"]}
    assert printed["name"]["description"] == "Its name.", "which null would not do"
    assert printed["clear"] == {
        "name": "clear",
        "in": "nulls",
        "choices": ["name"],
        "description": "Fields to set to null.",
    }
    assert result.left_out == []
    assert "clear" not in str(
        convert_operation("PUT /notes/{id}", requestBody=body).tool
    )


def test_a_field_that_costs_too_much_is_not_emptied() -> None:
    many = {}
    for n in range(200):
        many[f"f{n}"] = {"type": ["string", "null"], "description": "x" * 100}
    result = convert_operation(
        "PATCH /notes/{id}", requestBody=make_json_body(**many)
    ).tool
    assert result is not None
    *names, clear = result["params"]
    assert clear["choices"] == [row["name"] for row in names[1:]]
    assert len(names) < 200


def test_a_page_that_is_a_number_stays_one() -> None:
    schema = make_responses(
        {
            "type": "array",
            "items": {"type": "object", "properties": {"id": {"type": "integer"}}},
        }
    )
    number = {"in": "query", "name": "page", "schema": {"type": "integer"}}
    result = convert_operation("GET /notes", parameters=[number], responses=schema).tool
    assert result is not None
    built = {
        "name": "page",
        "type": "int",
        "required": False,
        "description": "The page.",
    }
    assert result["params"] == [built], "who calls counts the pages"
    text = {"in": "query", "name": "page_token", "schema": {"type": "string"}}
    result = convert_operation("GET /notes", parameters=[text], responses=schema).tool
    assert result is not None
    about = "The `next_cursor` of the previous page."
    assert result["params"] == [
        {"name": "cursor", "required": False, "description": about}
    ]


def test_a_why_is_short_and_counts_right() -> None:
    raw: dict[str, Any] = {"operationId": "cancelOrder", "summary": "Cancel an order"}
    result = convert_operation("POST /orders/{id}/cancel", **raw).tool
    assert result is not None
    assert (
        result["why"]
        == "POST: its path, operationId and summary say 'cancel' (three signals)."
    )


SECRETS: list[tuple[dict[str, Any], str | None, str]] = [
    ({"type": "http", "scheme": "bearer"}, None, "a bearer token: set NOTES_MCP_API_TOKEN"),
    ({"type": "oauth2", "flows": {}}, None, "a bearer token: set NOTES_MCP_API_TOKEN"),
    ({"type": "apiKey", "in": "header", "name": "Authorization", "description": "Bearer TOKEN"}, None, "a bearer token"),
    ({"type": "http", "scheme": "basic"}, "basic", "set NOTES_MCP_API_TOKEN=user:password"),
    ({"type": "apiKey", "in": "header", "name": "X-Key"}, "header:X-Key", "in the header X-Key: set NOTES_MCP_API_TOKEN"),
    ({"type": "apiKey", "in": "query", "name": "key"}, "query:key", "in the query as key: set NOTES_MCP_API_TOKEN"),
    ({"type": "apiKey", "in": "cookie", "name": "sid"}, "cookie:sid", "in the cookie as sid: set NOTES_MCP_API_TOKEN"),
]  # fmt: skip


@pytest.mark.parametrize(("scheme", "api_auth", "line"), SECRETS)
def test_how_the_api_lets_callers_in_is_answered_and_said(
    scheme: dict[str, Any], api_auth: str | None, line: str
) -> None:
    extra: dict[str, Any] = {"components": {"securitySchemes": {"one": scheme}}}
    servers = [{"url": "https://api.example.com"}]
    ways: list[Any] = [[{"one": []}], None]
    for security in ways:
        answers, notes = about(
            make_document({}, servers=servers, security=security, **extra)
        )
        assert line in notes[0]
        assert answers.get("api_auth") == api_auth


def test_a_form_is_sent_as_one() -> None:
    """As whole APIs for payments and messages want it."""
    form, text = "application/x-www-form-urlencoded", {"type": "string"}
    schema: dict[str, Any] = {
        "type": "object",
        "required": ["amount"],
        "properties": {
            "amount": {"type": "integer", "minimum": 1},
            "note": {"type": ["string", "null"]},
            "expand": {"type": "array", "items": text},
            "metadata": {"type": "object"},
            "items[0]": text,
        },
    }
    body = {"content": {form: {"schema": schema}}}
    result = convert_operation("POST /charges", requestBody=body)
    assert result.tool is not None
    assert result.tool["request"] == "form"
    names = [row["name"] for row in result.tool["params"]]
    assert names == ["amount", "note", "expand", "metadata"]
    assert result.left_out == ["field items[0] (its name)"]
    changed = convert_operation("PATCH /charges/{id}", requestBody=body).tool
    assert changed is not None
    for row in changed["params"]:
        assert row.get("in") != "nulls"
    both = {"content": {**body["content"], "application/json": {"schema": schema}}}
    assert (convert_operation("POST /charges", requestBody=both).tool or {})[
        "http"
    ] == "POST /charges"
    empty = {"content": {form: {"schema": {"type": "object", "properties": {}}}}}
    assert convert_operation("GET /charges", requestBody=empty).left_out == []
    choice = {"type": "object", "properties": {"action": {"enum": ["start", "stop"]}}}
    act = make_operation(
        "POST /jobs", requestBody={"content": {form: {"schema": choice}}}
    )
    assert len(convert([act], Options())) == 2

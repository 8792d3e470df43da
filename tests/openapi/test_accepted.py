"""The template accepts what import writes; each row is a former defect."""

from typing import Any

import pytest
from openapi.documents_of import make_document, make_responses
from support import complete_answers

from copier_fastmcp.openapi.converting import answers_of, convert
from copier_fastmcp.openapi.operations import operations
from copier_fastmcp.openapi.tools import Options
from copier_fastmcp.tables import load_tables
from copier_fastmcp_engine.testing.rules import find_contradiction

TEXT: dict[str, Any] = {"type": "string"}


def _in(
    place: str, name: str, schema: dict[str, Any] = TEXT, **extra: Any
) -> dict[str, Any]:
    return {"parameters": [{"in": place, "name": name, "schema": schema, **extra}]}


def _object(*names: str, **extra: Any) -> dict[str, Any]:
    return {"type": "object", "properties": dict.fromkeys(names, TEXT), **extra}


def _body(schema: dict[str, Any], kind: str = "application/json") -> dict[str, Any]:
    return {"requestBody": {"content": {kind: {"schema": schema}}}}


MIXED = {"enum": ["list", "delete"]}
# An operation, what the document says of it, and the requests of the tools that come of it.
ROWS: list[tuple[str, dict[str, Any], list[str]]] = [
    ("POST /given", {"operationId": "given"}, ["POST /given"]),
    ("POST /api", {"operationId": "api"}, ["POST /api"]),
    ("DELETE /notes", _in("header", "confirm", required=True), []),
    ("DELETE /notes", _in("query", "confirm"), ["DELETE /notes?confirm={confirm_with}"]),
    ("DELETE /notes/{confirm}", _in("path", "confirm"), ["DELETE /notes/{confirm_1}"]),
    ("POST /notes", _body(_object("from", "from_", "a-b", "a_b")), ["POST /notes"]),
    ("GET /notes/{id}", {"responses": make_responses(_object("_", "__", "_id", "field_id"))}, ["GET /notes/{id}"]),
    ("HEAD /notes/{id}", {"responses": make_responses(_object("id"))}, ["HEAD /notes/{id}"]),
    ("HEAD /notes", _body({"type": "object", "properties": {"a": {"type": "object"}}}), ["HEAD /notes"]),
    ("GET /notes", _body(_object("a"), "application/vnd.a+json"), ["GET /notes"]),
    ("PATCH /notes/{id}", _body(_object("ETag")), ["PATCH /notes/{id}"]),
    ("GET /notes", _in("query", "action", MIXED), ["GET /notes"]),
    ("GET /notes", _in("query", "action", MIXED, required=True), []),
    ("POST /notes/{action}", _in("path", "action", MIXED), []),
    ("GET /notes", _in("query", "a", {**TEXT, "pattern": "^[a-z]{90}[0-9]{90}[a-z]{90}$"}), ["GET /notes"]),
    ("GET /notes", _in("query", "a", {**TEXT, "pattern": "^a~~b$"}), ["GET /notes"]),
]  # fmt: skip


@pytest.mark.parametrize(("call", "raw", "sent"), ROWS)
def test_what_an_operation_becomes_is_taken(
    call: str, raw: dict[str, Any], sent: list[str]
) -> None:
    method, path = call.split(" ")
    built = make_document({path: {method.lower(): {"responses": {}, **raw}}})
    rows = convert(list(operations(built)), Options())
    result, _ = answers_of(built, rows)
    assert [tool["http"] for tool in result["tools"]] == sent
    for row in rows:
        assert row.tool or row.left_out
    if sent:
        complete_answers(result)


def test_a_query_names_nothing_twice() -> None:
    deep = {"in": "query", "name": "a", "style": "deepObject", "schema": _object("b")}
    twice = [{"in": "query", "name": "a[b]", "schema": TEXT}, deep]
    built = make_document({"/notes": {"get": {"parameters": twice, "responses": {}}}})
    result, _ = answers_of(built, convert(list(operations(built)), Options()))
    assert result["tools"][0]["http"] == "GET /notes?a[b]={a_b}"
    complete_answers(result)


def test_no_text_begins_with_the_contrary_of_its_tool() -> None:
    hints = {"x-mcp": {"annotations": {"readOnlyHint": False}}}
    built = make_document(
        {"/notes/{id}": {"get": {"summary": "List all.", "responses": {}, **hints}}}
    )
    tool = answers_of(built, convert(list(operations(built)), Options()))[0]["tools"][0]
    assert (tool["behavior"], tool["title"]) == ("action", "Call Note")
    assert tool["description"] == "A GET request. List all."
    assert not find_contradiction(
        tool["description"], tool["name"], load_tables(), reads=False
    )


@pytest.mark.parametrize("title", ["MCP", "The mcp API", "🙂", "src", "1st"])
def test_a_server_has_a_name_whatever_the_title(title: str) -> None:
    built = make_document({"/notes": {"get": {"responses": {}}}}, info={"title": title})
    result, _ = answers_of(built, convert(list(operations(built)), Options()))
    complete_answers(result)

"""What an import keeps of an operation: its place, its slash, its choices; and that none is dropped in silence."""

from typing import Any

from openapi.documents_of import (
    convert_operation,
    make_document,
    make_json_body,
    make_responses,
)

from copier_fastmcp.openapi.converting import convert
from copier_fastmcp.openapi.operations import operations
from copier_fastmcp.openapi.server import about
from copier_fastmcp.openapi.tools import Options

BASE = "https://api.example.com/v1"
NOTE: dict[str, Any] = {
    "type": "object",
    "required": ["id"],
    "properties": {"id": {"type": "integer"}, "title": {"type": ["string", "null"]}},
}


def test_a_request_keeps_its_last_slash_and_its_place() -> None:
    """Frameworks that want the slash refuse a POST without it."""
    assert (
        convert_operation("POST /notes/", responses=make_responses(NOTE, "201")).tool
        or {}
    )["http"] == "POST /notes/"
    paths = {
        "/a": {"get": {}},
        "/b": {"get": {}, "servers": [{"url": "https://api.example.com/v1/beta"}]},
        "/c": {"get": {"servers": [{"url": "https://eu.example.com"}, {"url": BASE}]}},
    }
    rows = convert(
        list(operations(make_document(paths, servers=[{"url": BASE}]))), Options()
    )
    calls = []
    for row in rows:
        calls.append((row.tool or {})["http"])
    assert calls == [
        "GET /a",
        "GET /beta/b",
        "GET /c",
    ]
    away = {"/a": {"get": {}, "servers": [{"url": "https://uploads.example.com"}]}}
    (row,) = convert(
        list(operations(make_document(away, servers=[{"url": BASE}]))), Options()
    )
    assert row.left_out == ["it is on another server (https://uploads.example.com)"]
    alone = {"/a": {"get": {}, "servers": [{"url": BASE}]}, "/b": {"get": {}}}
    assert about(make_document(alone))[0]["api"] == BASE
    for row in convert(list(operations(make_document(alone))), Options()):
        assert row.tool


def test_no_operation_is_dropped_in_silence() -> None:
    result = make_document({"/a": {"GET": {}}, "b": {"get": {}}, "x-note": {}})
    rows = convert(list(operations(result)), Options())
    reasons = []
    for row in rows:
        reasons.append((row.operation.name, row.left_out))
    assert reasons == [
        ("GET /a", []),
        ("ANY b", ["its path does not begin with /"]),
    ]
    arguments = [{"in": "path", "name": "id"}, {"in": "query"}]
    assert convert_operation("GET /a", parameters=arguments).left_out == [
        "path parameter id (not in the path)",
        "a parameter without a name",
    ]


def test_a_head_answers_whether_it_is_there() -> None:
    result = convert_operation(
        "HEAD /notes/{id}",
        responses=make_responses(NOTE),
        requestBody=make_json_body(a={}),
    )
    assert result.tool is not None
    assert "returns" not in result.tool
    assert [row["name"] for row in result.tool["params"]] == ["id"]
    assert (
        convert_operation(
            "HEAD /f", responses={"200": {"content": {"image/png": {}}}}
        ).tool
        is not None
    )


def test_servers_on_one_host_share_what_they_begin_with() -> None:
    """Each path says the rest, so that one address serves them all."""
    servers = [{"url": "https://api.example.com/rest/v1"}]
    own_rows = [{"url": "https://api.example.com/rest/v2"}]
    paths = {"/notes": {"get": {}}, "/parts": {"get": {"servers": own_rows}}}
    result = make_document(paths, servers=servers)
    tools = []
    for row in convert(list(operations(result)), Options()):
        if row.tool:
            tools.append(row.tool)
    assert [item["http"] for item in tools] == ["GET /v1/notes", "GET /v2/parts"]
    assert about(result)[0]["api"] == "https://api.example.com/rest"


def test_choices_of_safe_and_unsafe_actions_have_another_name() -> None:
    """The tool language refuses them under such a name; a filter on what happened has them."""
    choice = {"in": "query", "name": "action", "schema": {"enum": ["list", "delete"]}}
    result = convert_operation(
        "GET /logs", operationId="listLogs", parameters=[choice]
    ).tool
    assert result is not None
    assert result["http"] == "GET /logs?action={action_filter}"
    assert result["params"][0]["name"] == "action_filter"
    assert result["params"][0]["choices"] == ["list", "delete"]


def test_a_key_that_repeats_a_call_is_explained_where_it_is_needed() -> None:
    key: dict[str, Any] = {
        "in": "header",
        "name": "Idempotency-Key",
        "schema": {"type": "string"},
    }
    built = (
        convert_operation(
            "POST /notes", parameters=[key], responses=make_responses(NOTE, "201")
        ).tool
        or {}
    )
    assert built["params"][0]["description"].startswith("A text of your own choice")


def test_results_say_their_choices_and_what_is_in_them() -> None:
    schema = {
        "type": "object",
        "properties": {
            "state": {"enum": ["open", "closed"], "description": "Where it stands"},
            "owner": {"type": "object", "properties": {"id": {}, "name": {}}},
            "parts": {
                "type": "array",
                "items": {"type": "object", "properties": {"n": {}}},
            },
        },
    }
    result = (
        convert_operation("PUT /notes/{id}", responses=make_responses(schema)).tool
        or {}
    )["returns"]
    descriptions = {}
    for name, row in result.items():
        descriptions[name] = row["description"]
    assert descriptions == {
        "state": "Where it stands. One of: open, closed.",
        "owner": "Fields: id, name.",
        "parts": "Fields: n.",
    }

"""What an operation becomes: name, inputs, results, and what is left out of them."""

from typing import Any

import pytest
from openapi.documents_of import (
    convert_operation,
    make_document,
    make_json_body,
    make_responses,
)

from copier_fastmcp.openapi.converting import convert
from copier_fastmcp.openapi.operations import operations
from copier_fastmcp.openapi.tools import Options

NOTE: dict[str, Any] = {
    "type": "object",
    "required": ["id"],
    "properties": {"id": {"type": "integer"}, "title": {"type": ["string", "null"]}},
}
PLACED = {"operationId": "placeNote", "responses": make_responses(NOTE, "201")}
NAMES = [
    ("GET /notes", {"operationId": "listNotes"}, "list_notes"),
    ("GET /notes", {}, "list_notes"),
    ("GET /notes/{id}", {}, "get_note"),
    ("GET /notes/{id}", {"operationId": "retrieve-a-note"}, "get_note"),
    (
        "POST /notes",
        {"operationId": "notes_create", "responses": make_responses(NOTE, "201")},
        "create_note",
    ),
    ("POST /notes", {"responses": make_responses(NOTE, "201")}, "create_note"),
    ("GET /notes/{id}", {"operationId": "notes_retrieve"}, "get_note"),
    (
        "PUT /notes/{id}",
        {"operationId": "notes_update", "requestBody": make_json_body(a={})},
        "update_note",
    ),
    ("GET /notes", {"operationId": "notes_list"}, "list_notes"),
    ("GET /v1/notes", {"operationId": "GetNotes"}, "list_notes"),
    ("POST /dags/{dag}/runs", {"responses": make_responses(NOTE, "201")}, "create_run"),
    (
        "POST /notes/{note}/archive",
        {"operationId": "PostNotesNoteArchive"},
        "archive_note",
    ),
    (
        "POST /notes/{note}",
        {"operationId": "PostNotesNote", "summary": "Updates it"},
        "update_note",
    ),
    (
        "GET /repos/{owner}/{repo}/issues",
        {"operationId": "issues/list-for-repo", "tags": ["issues"]},
        "list_issues_for_repo",
    ),
    (
        "GET /repos/{owner}/{repo}",
        {"operationId": "repos/get", "tags": ["repos"]},
        "get_repo",
    ),
    (
        "GET /search/repos",
        {"operationId": "search/repos", "tags": ["search"]},
        "search_repos",
    ),
    (
        "GET /items/{item_id}",
        {"operationId": "read_item_items__item_id__get"},
        "get_item",
    ),
    ("POST /posts/{id}/publish", {}, "publish_post"),
    ("POST /notes", {**PLACED, "summary": "Place a note"}, "place_note"),
    ("POST /notes", {**PLACED, "summary": "Place notes"}, "create_place_note"),
    (
        "POST /a/{id}/shelve",
        {"operationId": "Notes_Shelve", "tags": ["Notes"]},
        "shelve_note",
    ),
    ("POST /quotes", {"operationId": "quote"}, "quote"),
    (
        "GET /x",
        {"operationId": "getThing", "x-speakeasy-mcp": {"name": "find-thing"}},
        "find_thing",
    ),
]


@pytest.mark.parametrize(("call", "raw", "name"), NAMES)
def test_names_begin_with_their_verb(call: str, raw: dict[str, Any], name: str) -> None:
    result = convert_operation(call, **raw).tool
    assert result is not None
    assert result["name"] == name
    assert result["behavior"], (
        "a behavior is said, never guessed from a name that we made"
    )


def test_names_are_unique_and_short() -> None:
    long = "getTheVeryLongConfigurationOfTheOrganizationsRepositoriesForTheAuthenticatedUserAgain"
    paths = {f"/v{n}/a": {"get": {"operationId": long}} for n in range(30)}
    for n, word in enumerate(["list", "class", "create", "notes.get", "notes_get"]):
        paths[f"/x{n}"] = {"get": {"operationId": word}}
    names = []
    for row in convert(list(operations(make_document(paths))), Options()):
        if row.tool:
            names.append(row.tool["name"])
    squeezed = set()
    for name in names:
        squeezed.add(name.replace("_", ""))
    assert len(squeezed) == 35
    assert max(map(len, names)) <= 64
    assert not {"list", "class", "create"} & set(names)


def test_inputs_keep_types_limits_choices_and_texts() -> None:
    query = [
        {
            "in": "query",
            "name": "state",
            "schema": {"enum": ["open", "closed"], "default": "open"},
        },
        {
            "in": "query",
            "name": "size",
            "schema": {
                "type": "integer",
                "minimum": 1,
                "exclusiveMaximum": 9,
                "default": 3,
            },
        },
        {
            "in": "query",
            "name": "since",
            "required": True,
            "schema": {"type": "string", "format": "date-time"},
        },
        {
            "in": "query",
            "name": "filter[tag]",
            "schema": {"type": "array", "items": {"type": "string"}, "maxItems": 5},
        },
        {
            "in": "query",
            "name": "deep",
            "style": "deepObject",
            "schema": {"type": "object"},
        },
        {
            "in": "query",
            "name": "by",
            "style": "deepObject",
            "schema": {"properties": {"color": {"type": "string"}}},
        },
        {"in": "query", "name": "$top", "schema": {"type": "integer"}},
        {
            "in": "query",
            "name": "fields",
            "explode": False,
            "schema": {"type": "array", "items": {"type": "string"}},
        },
        {"in": "cookie", "name": "session", "schema": {"type": "string"}},
        {"in": "header", "name": "X-Trace", "schema": {"type": "string"}},
        {
            "in": "header",
            "name": "Authorization",
            "required": True,
            "schema": {"type": "string"},
        },
        {
            "in": "header",
            "name": "X-Version",
            "required": True,
            "schema": {"type": "string", "pattern": "^v[0-9]+$"},
        },
    ]
    result = convert_operation("GET /notes/{noteId}/parts", parameters=query)
    assert result.tool is not None
    assert result.tool["http"] == (
        "GET /notes/{note_id}/parts?filter[tag]={filter_tag}&by[color]={by_color}&$top={top}"
    )
    by_name = {row.pop("name"): row for row in result.tool["params"]}
    texts = {}
    for name, row in by_name.items():
        texts[name] = row.pop("description")
    for text in texts.values():
        assert text.endswith(".")
    assert by_name == {
        "note_id": {},
        "state": {"choices": ["open", "closed"], "default": "open"},
        "size": {"type": "int", "ge": 1, "lt": 9, "default": 3},
        "since": {"type": "datetime"},
        "filter_tag": {"type": "list[str]", "max_items": 5, "required": False},
        "by_color": {"required": False},
        "top": {"type": "int", "required": False},
        "fields": {
            "type": "list[str]",
            "style": "form",
            "explode": False,
            "required": False,
        },
        "deep": {"type": "dict", "style": "deepObject", "required": False},
        "X-Trace": {"in": "header", "required": False},
        "X-Version": {"in": "header", "pattern": "^v[0-9]+$"},
    }
    assert result.left_out == [
        "cookie session (sent only where the API's key is set as cookie:session)"
    ]


def test_a_body_is_flattened() -> None:
    place = {
        "city": {"type": "string"},
        "floor": {"type": "integer"},
        "to": {"enum": ["door", "shop"]},
    }
    schema = {
        "type": "object",
        "required": ["title", "note_id"],
        "properties": {
            "note_id": {"type": "string"},
            "title": {"type": "string", "minLength": 1},
            "made": {"type": "string", "readOnly": True},
            "old": {"type": "string", "deprecated": True},
            "password": {"type": "string"},
            "kind": {"oneOf": [{"const": "a", "type": "string"}, {"type": "null"}]},
            "either": {"anyOf": [{"type": "string"}, {"type": "object"}]},
            "a b": {"type": "string"},
            "owner": {"type": "object", "properties": {"id": {"type": "integer"}}},
            "at": {"type": "object", "required": ["city", "to"], "properties": place},
        },
    }
    body = {
        "content": {
            "application/json": {"schema": {"allOf": [schema, {"required": ["kind"]}]}}
        }
    }
    result = convert_operation("PUT /notes/{note_id}", requestBody=body)
    assert result.tool is not None
    rows = {row["name"]: row for row in result.tool["params"]}
    assert [*rows] == ["note_id", "title", "kind", "password", "either", "owner", "at"]
    assert rows["note_id"]["in"] == "body", "sent in the path and in the body"
    assert rows["kind"]["choices"] == ["a"]
    assert (rows["owner"]["type"], rows["at"]["type"]) == ("object", "object")
    assert rows["owner"]["fields"][0]["name"] == "id"
    city, floor, to = rows["at"]["fields"]
    assert city == {"name": "city", "description": "The city."}
    assert floor["required"] is False
    assert to["choices"] == ["door", "shop"]
    assert result.left_out == [
        "field old (deprecated)",
        "either: one of 2 forms cannot be recognized",
        "field a b (its name)",
    ]
    assert "secret" in result.findings[0]


def test_lists_are_pages_of_ours() -> None:
    query = []
    for name in ("per_page", "page"):
        query.append({"in": "query", "name": name, "schema": {"type": "integer"}})
    for schema in (
        {"type": "array", "items": NOTE},
        {
            "type": "object",
            "properties": {
                "data": {"type": "array", "items": NOTE},
                "total_count": {"type": "integer"},
            },
        },
    ):
        result = convert_operation(
            "GET /notes", parameters=query, responses=make_responses(schema)
        ).tool
        assert result is not None
        assert result["http"] == "GET /notes?per_page={limit}"
        row = {"id": "int", "title": {"type": "str", "default": None}}
        assert result["returns"] == (
            [row] if schema["type"] == "array" else {"data": [row]}
        )


def test_a_large_tool_loses_descriptions_before_inputs() -> None:
    many = {}
    for n in range(40):
        many[f"field_{n}"] = {"type": "string", "description": "A text. " * 9}
    inner = {}
    for name in ("a", "b"):
        inner[name] = {"type": "string", "description": "A text. " * 9}
    owner = {"type": "object", "properties": inner, "description": "Who owns it."}
    schema = {
        "type": "object",
        "required": ["id"],
        "properties": {**many, **NOTE["properties"]},
    }
    body = make_json_body(owner=owner, **many)
    raw: dict[str, Any] = {
        "responses": make_responses(schema),
        "requestBody": body,
        "parameters": [],
    }
    result = convert_operation("PUT /notes/{id}", **raw)
    assert result.tool is not None
    rows = {row["name"]: row for row in result.tool["params"]}
    assert len(rows) == 1 + 41, "no input is lost"
    assert result.left_out == []
    assert rows["owner"]["type"] == "dict"
    assert rows["owner"]["description"] == "Who owns it. Fields: a, b."
    lengths = []
    for row in rows.values():
        lengths.append(len(row["description"]))
    assert max(lengths) <= 70
    assert [*result.tool["returns"]] == ["id"], (
        "the others arrive without a description"
    )
    wide = convert_operation("PUT /notes/{id}", Options(budget=100_000), **raw)
    assert next(row for row in (wide.tool or {})["params"] if row["name"] == "owner")[
        "fields"
    ]
    assert len((wide.tool or {})["returns"]) == 42


def test_inputs_of_a_tool_that_is_many_times_too_large_are_listed() -> None:
    many: dict[str, Any] = {f"field_{n}": {"type": "string"} for n in range(400)}
    body = make_json_body(**many)
    result = convert_operation("PUT /notes/{id}", requestBody=body)
    assert result.tool is not None
    assert result.bytes <= 4 * 3000
    assert len(result.left_out) + len(result.tool["params"]) == 401


def test_a_list_with_nulls_takes_them() -> None:
    texts = {"type": "array", "items": {"type": ["string", "null"]}}
    result = convert_operation(
        "POST /notes", requestBody=make_json_body(texts=texts)
    ).tool
    assert result is not None
    assert result["params"][0]["type"] == "list[any]"


LEFT_OUT: list[tuple[str, dict[str, Any], str]] = [
    ("GET /a", {"deprecated": True}, "deprecated"),
    ("POST /a", {"requestBody": {"content": {"multipart/form-data": {}}}}, "no fields"),
    (
        "GET /a",
        {"responses": {"200": {"content": {"text/event-stream": {}}}}},
        "has no end",
    ),
    ("GET /a", {"x-speakeasy-mcp": {"disabled": True}}, "not a tool"),
    ("GET /a", {"parameters": [{"$ref": "#/none"}]}, "leads nowhere"),
    (
        "GET /a",
        {"requestBody": {**make_json_body(a={}), "required": True}},
        "a GET does not send",
    ),
    (
        "GET /a/{b}",
        {"parameters": [{"in": "path", "name": "b", "style": "matrix"}]},
        "matrix style",
    ),
    ("GET /#X-Amz-Target=List", {}, "its path holds a #"),
    ("TRACE /a", {}, "not sent"),
    ("OPTIONS /a", {}, "not sent"),
]


def make_request_body(
    kind: str, schema: dict[str, Any], *, required: bool = True
) -> dict[str, Any]:
    """An operation with a body of one media type."""
    return {
        "requestBody": {"required": required, "content": {kind: {"schema": schema}}}
    }


JSON = "application/json"
OBJECT = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
OBJECT_FIELDS = [{"name": "n", "type": "int", "description": "The n."}]
BINARY = {"type": "string", "format": "binary"}
FORMS: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    (
        "POST /lines",
        make_request_body(JSON, {"type": "array", "items": OBJECT}),
        {
            "name": "lines",
            "type": "list[object]",
            "fields": OBJECT_FIELDS,
            "whole": True,
        },
    ),
    (
        "POST /lines",
        make_request_body(
            JSON, {"type": "array", "items": {"type": "string"}}, required=False
        ),
        {"name": "lines", "type": "list[str]", "required": False, "whole": True},
    ),
    (
        "PUT /a/labels",
        make_request_body(JSON, {"type": "object"}),
        {"name": "body", "type": "dict", "whole": True},
    ),
    (
        "POST /a",
        make_request_body(JSON, {"type": "string"}),
        {"name": "text", "whole": True},
    ),
    (
        "PUT /a",
        make_request_body("application/octet-stream", BINARY),
        {"name": "file", "type": "file", "whole": True},
    ),
    (
        "POST /a",
        make_request_body("text/plain", {"type": "string"}),
        {"name": "text", "whole": True},
    ),
    ("PATCH /a", {}, {"name": "changes", "type": "dict", "whole": True}),
    (
        "PATCH /a",
        make_request_body(
            "application/json-patch+json",
            {"type": "array", "items": {"type": "object"}},
        ),
        {"name": "a", "type": "list[dict]", "whole": True},
    ),
    (
        "POST /a",
        make_request_body(
            "multipart/form-data", {"type": "object", "properties": {"picture": BINARY}}
        ),
        {"name": "picture", "type": "file", "required": False},
    ),
    (
        "POST /a",
        make_request_body(
            "application/x-www-form-urlencoded",
            {"properties": {"tags": {"type": "array", "items": {"type": "string"}}}},
        ),
        {"name": "tags", "type": "list[str]", "required": False},
    ),
    (
        "POST /a",
        {"requestBody": make_json_body(rows={"type": "array", "items": OBJECT})},
        {
            "name": "rows",
            "type": "list[object]",
            "fields": OBJECT_FIELDS,
            "required": False,
        },
    ),
]


@pytest.mark.parametrize(("call", "raw", "param"), FORMS)
def test_every_form_of_body_has_its_parameter(
    call: str, raw: dict[str, Any], param: dict[str, Any]
) -> None:
    result = convert_operation(call, **raw).tool
    assert result is not None
    [built] = result["params"]
    built.pop("description")
    assert built == param
    kinds = raw.get("requestBody", {}).get("content", {})
    if {*kinds} & {"multipart/form-data", "application/x-www-form-urlencoded"}:
        assert result["request"] in ("multipart", "form")
    elif kinds and JSON not in kinds:
        assert result["http"].endswith(f" {next(iter(kinds))}")


@pytest.mark.parametrize(
    ("kind", "returns"),
    [
        ("text/plain", None),
        ("application/yaml", None),
        ("text/csv", None),
        ("image/*", "file"),
        ("application/pdf", "file"),
        ("application/octet-stream", "file"),
    ],
)
def test_no_media_type_of_a_response_excludes_a_tool(
    kind: str, returns: str | None
) -> None:
    result = convert_operation(
        "GET /a/{id}", responses={"200": {"content": {kind: {}}}}
    ).tool
    assert result is not None
    assert result.get("returns") == returns


def test_results_stay_whatever_the_behavior() -> None:
    """So that an answer changed from action to read restores the whole tool."""
    raw: dict[str, Any] = {
        "responses": make_responses({"type": "array", "items": NOTE})
    }
    row = [{"id": "int", "title": {"type": "str", "default": None}}]
    for call in ("POST /notes/filter", "DELETE /notes/{id}", "PUT /notes/{id}"):
        assert (convert_operation(call, **raw).tool or {})["returns"] == row


def test_nothing_is_returned_that_the_document_does_not_say() -> None:
    values_kept: list[dict[str, Any]] = [
        {},
        {"responses": make_responses({})},
        {"responses": make_responses({"type": "object"})},
    ]
    for raw in values_kept:
        for call in ("GET /a", "POST /a/{id}/archive", "DELETE /a/{id}"):
            assert "returns" not in (convert_operation(call, **raw).tool or {})


@pytest.mark.parametrize(("call", "raw", "reason"), LEFT_OUT)
def test_what_cannot_be_said_is_left_out_with_its_reason(
    call: str, raw: dict[str, Any], reason: str
) -> None:
    row = convert_operation(call, **raw).row()
    assert row["tool"] is None
    assert reason in row["left_out"][0]


def test_a_text_never_contradicts_its_behavior() -> None:
    """A suite refuses a tool that says it reads and does not."""
    result = convert_operation(
        "GET /unsubscribe", operationId="unsubscribe", summary="Get out of the list"
    ).tool
    assert result is not None
    assert result["behavior"] == "action"
    assert not result["title"].startswith("Get")
    assert not result["description"].startswith("Get")
    assert result["why"].endswith("(asked).")


def test_scopes_come_only_when_they_are_wanted() -> None:
    raw: dict[str, Any] = {"security": [{"oauth": ["notes:read"]}]}
    assert "scopes" not in (convert_operation("GET /a", **raw).tool or {})
    assert (convert_operation("GET /a", Options(scopes=True), **raw).tool or {})[
        "scopes"
    ] == ["notes:read"]

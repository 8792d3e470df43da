"""Changes that neither the method nor the verb of an operation names: no read is false."""

from pathlib import Path
from typing import Any

import pytest

from copier_fastmcp.openapi.behavior import derive
from copier_fastmcp.openapi.derived import Derived
from copier_fastmcp.openapi.document import Document
from copier_fastmcp.openapi.operations import operations

OK = {"200": {"description": ""}}
CODE = [{"in": "query", "name": "code", "schema": {"type": "string"}}]


def derive_operation(name: str, **raw: Any) -> Derived:
    """Derive the behavior of one operation."""
    method, path = name.split(" ")
    item = {method.lower(): {"responses": OK, **raw}}
    root = {"openapi": "3.1.0", "paths": {path: item}}
    return derive(next(operations(Document(Path("api"), root))))


def make_body(**fields: str) -> dict[str, Any]:
    """A JSON body of texts with descriptions."""
    properties = {}
    for name, text in fields.items():
        properties[name] = {"type": "string", "description": text}
    schema = {"type": "object", "properties": properties}
    return {"content": {"application/json": {"schema": schema}}}


@pytest.mark.parametrize(
    ("name", "raw"),
    [
        ("GET /auth/oauth/{provider}/callback", {"summary": "OAuth callback"}),
        ("GET /sso/acs", {"summary": "Assertion consumer"}),
        ("GET /account/verify", {"summary": "Email verification", "parameters": CODE}),
        ("GET /oauth/{provider}", {"summary": "Provider", "parameters": CODE}),
        ("GET /go/{key}", {"summary": "Short link", "responses": {"302": {}}}),
        ("GET /mail", {"description": "New mail. This will also reset the counter."}),
        ("GET /mail", {"description": "New mail. The mails are then marked as read."}),
        ("GET /mail", {"description": "New mail. Note that it has side effects."}),
        (
            "POST /codes/validate",
            {"summary": "Validate a code", "requestBody": make_body(code="It")},
        ),
        (
            "POST /query",
            {
                "summary": "Query data",
                "requestBody": make_body(query="A Cypher query."),
            },
        ),
    ],
)
def test_a_step_or_a_side_effect_is_asked_about(name: str, raw: Any) -> None:
    result = derive_operation(name, **raw)
    assert (result.behavior, result.asked) == ("action", True)


@pytest.mark.parametrize(
    ("name", "raw"),
    [
        ("GET /oauth/clients", {"summary": "List OAuth clients"}),
        ("GET /login/providers", {"summary": "Providers for a login"}),
        ("GET /invitation/{code}", {"summary": "Get an invitation by its code"}),
        ("GET /mail", {"description": "New mail. It will be sorted by date."}),
        ("GET /files/{key}", {"summary": "Download a file", "responses": {"302": {}}}),
        (
            "POST /notes/query",
            {
                "summary": "Query notes",
                "requestBody": make_body(query="Words to find."),
            },
        ),
        (
            "POST /notes/validate",
            {"summary": "Validate a note", "requestBody": make_body(text="Its text.")},
        ),
    ],
)
def test_what_only_reads_is_a_read(name: str, raw: Any) -> None:
    result = derive_operation(name, **raw)
    assert (result.behavior, result.asked) == ("read", False)


def test_a_put_that_creates_in_a_collection_is_no_replacement() -> None:
    created = {"201": {"description": ""}}
    raw = {"summary": "Create a task", "requestBody": make_body(title="Its title.")}
    assert derive_operation("PUT /tasks", responses=created, **raw).behavior == "create"
    assert derive_operation("PUT /tasks", **raw).behavior == "put"
    item = "PUT /tasks/{id}"
    assert derive_operation(item, responses=created, **raw).behavior == "put"

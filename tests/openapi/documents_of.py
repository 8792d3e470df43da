"""Small documents for tests."""

from pathlib import Path
from typing import Any

from copier_fastmcp.openapi.converting import convert
from copier_fastmcp.openapi.document import Document
from copier_fastmcp.openapi.operations import Operation, operations
from copier_fastmcp.openapi.tools import Imported, Options

OK: dict[str, Any] = {"200": {"description": ""}}


def make_document(paths: dict[str, Any], **extra: Any) -> Document:
    """Make a document from paths and further top-level keys."""
    return Document(
        Path("api.yaml"),
        {"openapi": "3.1.0", "info": {"title": "Notes"}, "paths": paths, **extra},
    )


def make_operation(call: str, **raw: Any) -> Operation:
    """Make an operation from a call such as `POST /a/{b}`."""
    method, path = call.split(" ")
    siblings = raw.pop("others", {})
    item = {**siblings.pop(path, {}), method.lower(): {"responses": OK, **raw}}
    result = operations(make_document({path: item, **siblings}))
    return next(row for row in result if row.name == call)


def convert_operation(
    call: str, options: Options | None = None, **raw: Any
) -> Imported:
    """Convert one operation."""
    return convert([make_operation(call, **raw)], options or Options())[0]


def make_json_body(**properties: Any) -> dict[str, Any]:
    """Make a JSON request body with properties."""
    schema = {"type": "object", "properties": properties}
    return {"content": {"application/json": {"schema": schema}}}


def make_responses(schema: dict[str, Any], code: str = "200") -> dict[str, Any]:
    """Make responses with one JSON schema."""
    return {
        code: {"description": "", "content": {"application/json": {"schema": schema}}}
    }

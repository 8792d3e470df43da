"""Small documents for tests."""

from pathlib import Path
from typing import Any

from copier_fastmcp.openapi.converting import convert
from copier_fastmcp.openapi.document import Document
from copier_fastmcp.openapi.operations import Operation, operations
from copier_fastmcp.openapi.tools import Imported, Options

OK: dict[str, Any] = {"200": {"description": ""}}


def document(paths: dict[str, Any], **extra: Any) -> Document:
    """A document of paths; `more` are its other keys."""
    return Document(
        Path("api.yaml"),
        {"openapi": "3.1.0", "info": {"title": "Notes"}, "paths": paths, **extra},
    )


def operation(call: str, **raw: Any) -> Operation:
    """The operation `POST /a/{b}` of a document that has only it."""
    method, path = call.split(" ")
    siblings = raw.pop("others", {})
    item = {**siblings.pop(path, {}), method.lower(): {"responses": OK, **raw}}
    result = operations(document({path: item, **siblings}))
    return next(row for row in result if row.name == call)


def tool(call: str, options: Options | None = None, **raw: Any) -> Imported:
    """What one operation comes to."""
    return convert([operation(call, **raw)], options or Options())[0]


def fields(**properties: Any) -> dict[str, Any]:
    """A body in JSON of such fields."""
    schema = {"type": "object", "properties": properties}
    return {"content": {"application/json": {"schema": schema}}}


def answers(schema: dict[str, Any], code: str = "200") -> dict[str, Any]:
    """Responses of one JSON answer."""
    return {
        code: {"description": "", "content": {"application/json": {"schema": schema}}}
    }

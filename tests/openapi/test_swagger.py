"""Swagger 2.0 documents are read as OpenAPI 3."""

import json
from pathlib import Path
from typing import Any

from copier_fastmcp.openapi.converting import convert
from copier_fastmcp.openapi.document import read
from copier_fastmcp.openapi.operations import operations
from copier_fastmcp.openapi.server import about
from copier_fastmcp.openapi.tools import Options

NOTE = {
    "type": "object",
    "properties": {"id": {"type": "integer"}, "title": {"type": "string"}},
}
DOCUMENT: dict[str, Any] = {
    "swagger": "2.0",
    "info": {"title": "Notes", "version": "1"},
    "host": "notes.example.com",
    "basePath": "/v1/",
    "schemes": ["http", "https"],
    "securityDefinitions": {"key": {"type": "apiKey", "in": "header", "name": "X-Key"}},
    "security": [{"key": []}],
    "parameters": {
        "limit": {"in": "query", "name": "limit", "type": "integer", "maximum": 50}
    },
    "responses": {
        "note": {"description": "", "schema": {"$ref": "#/definitions/Note"}}
    },
    "definitions": {"Note": NOTE},
    "paths": {
        "/notes": {
            "get": {
                "parameters": [
                    {"$ref": "#/parameters/limit"},
                    {
                        "in": "query",
                        "name": "tags",
                        "type": "array",
                        "items": {"type": "string"},
                        "collectionFormat": "pipes",
                    },
                ],
                "responses": {
                    "200": {
                        "schema": {
                            "type": "array",
                            "items": {"$ref": "#/definitions/Note"},
                        }
                    }
                },
            },
            "post": {
                "parameters": [
                    {
                        "in": "body",
                        "name": "note",
                        "schema": {"$ref": "#/definitions/Note"},
                    }
                ],
                "responses": {"201": {"$ref": "#/responses/note"}},
            },
        },
        "/notes/{id}": {
            "parameters": [
                {"in": "path", "name": "id", "type": "integer", "required": True}
            ],
            "put": {
                "consumes": ["application/x-www-form-urlencoded"],
                "parameters": [
                    {
                        "in": "formData",
                        "name": "title",
                        "type": "string",
                        "required": True,
                    }
                ],
                "responses": {"200": {"$ref": "#/responses/note"}},
            },
        },
        "/notes/{id}/picture": {
            "parameters": [
                {"in": "path", "name": "id", "type": "integer", "required": True}
            ],
            "put": {
                "parameters": [{"in": "formData", "name": "picture", "type": "file"}],
                "responses": {"204": {"description": "done"}},
            },
        },
    },
}


def test_a_swagger_document_becomes_tools(tmp_path: Path) -> None:
    file = tmp_path / "api.json"
    file.write_text(json.dumps(DOCUMENT), encoding="utf-8")
    document = read(file)
    answers, notes = about(document)
    assert answers["api"] == "https://notes.example.com/v1"
    assert "X-Key" in " ".join(notes)
    rows = convert(list(operations(document)), Options())
    tools = {}
    for row in rows:
        if row.tool:
            tools[row.tool["name"]] = row.tool
    assert [*tools] == ["list_notes", "create_note", "set_note", "set_picture"]
    listed = {param["name"]: param for param in tools["list_notes"]["params"]}
    assert listed["limit"]["le"] == 50
    assert listed["tags"]["style"] == "pipeDelimited"
    names = []
    for param in tools["create_note"]["params"]:
        names.append(param["name"])
    assert names == [
        "id",
        "title",
    ]
    assert [*tools["create_note"]["returns"]] == ["id", "title"]
    assert tools["set_note"]["request"] == "form"
    assert tools["set_note"]["params"][0]["type"] == "int"
    assert tools["set_picture"]["request"] == "multipart"
    assert tools["set_picture"]["params"][1]["type"] == "file"

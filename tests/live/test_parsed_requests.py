"""Queries, headers, forms and uploads arrive at a server that parses them by its own reading of OpenAPI: Connexion from PyPI."""

import base64
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
import yaml
from live.calling import ERAS, Person, served, unwrap
from live.services import Service, UnavailableError, free_port, install, launch
from support import ROOT, render

pytestmark = pytest.mark.nightly

# What Connexion made of the query is returned.
HANDLERS = """
from connexion import request


def search(**values):
    return values


def submit(body, **values):
    return {"body": body, "color": request.headers.get("X-Color")}


async def upload(body, file, **values):
    parts = file if isinstance(file, list) else [file]
    contents = [[part.filename, (await part.read()).decode()] for part in parts]
    return {"body": body, "files": contents}
"""
PROGRAM = """
import connexion

app = connexion.AsyncApp(__name__, specification_dir=".")
app.add_api("document.json")
app.run(host="127.0.0.1", port=PORT)
"""
TEXTS = {"type": "array", "items": {"type": "string"}}
FILTER = {
    "type": "object",
    "properties": {"state": {"type": "string"}, "size": {"type": "integer"}},
}
PARAMETERS = [
    {"name": "filter", "style": "deepObject", "explode": True, "schema": FILTER},
    {"name": "ids", "style": "pipeDelimited", "explode": False, "schema": TEXTS},
    {"name": "words", "style": "spaceDelimited", "explode": False, "schema": TEXTS},
    {"name": "columns", "style": "form", "explode": False, "schema": TEXTS},
    {"name": "tags", "style": "form", "explode": True, "schema": TEXTS},
]
ARGUMENTS: dict[str, Any] = {
    "filter": {"state": "a&b=c", "size": 3},
    "ids": ["a", "b c"],
    "words": ["d", "ä"],
    "columns": ["e", "f"],
    "tags": ["g|h", "i j"],
}


def build_document(address: str) -> dict[str, Any]:
    """Return the document that Connexion serves, and the import reads."""
    operation = {
        "operationId": "handlers.search",
        "summary": "Search everything",
        "parameters": [{"in": "query", **row} for row in PARAMETERS],
        "responses": {
            "200": {
                "description": "What arrived",
                "content": {"application/json": {"schema": {"type": "object"}}},
            }
        },
    }
    form = {
        "type": "object",
        "required": ["name"],
        "properties": {
            "name": {"type": "string"},
            "size": {"type": "integer"},
            "tags": TEXTS,
        },
    }
    submit = {
        "operationId": "handlers.submit",
        "summary": "Create a form",
        "parameters": [
            {"in": "header", "name": "X-Color", "schema": {"type": "string"}}
        ],
        "requestBody": {
            "content": {"application/x-www-form-urlencoded": {"schema": form}}
        },
        "responses": operation["responses"],
    }
    file = {"type": "string", "format": "binary"}
    upload_form = {
        "type": "object",
        "required": ["file"],
        "properties": {
            "file": file,
            "note": {"type": "string"},
            "count": {"type": "integer"},
        },
    }
    upload = {
        "operationId": "handlers.upload",
        "summary": "Create an upload",
        "requestBody": {"content": {"multipart/form-data": {"schema": upload_form}}},
        "responses": operation["responses"],
    }
    return {
        "openapi": "3.0.3",
        "info": {"title": "Styles", "version": "1"},
        "servers": [{"url": address}],
        "paths": {
            "/search": {"get": operation},
            "/forms": {"post": submit},
            "/uploads": {"post": upload},
        },
    }


@pytest.fixture(scope="module")
def connexion(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A running server; skipped with one line where Connexion cannot be installed."""
    folder = tmp_path_factory.mktemp("connexion")
    remaining = os.environ.get("LIVE_ENVIRONMENTS")
    environments = Path(remaining) if remaining else folder
    port = free_port()
    address = f"http://127.0.0.1:{port}"
    document = folder / "document.json"
    document.write_text(json.dumps(build_document(address)))
    (folder / "handlers.py").write_text(HANDLERS)
    (folder / "program.py").write_text(PROGRAM.replace("PORT", str(port)))
    try:
        programs = install(environments / "connexion", "connexion[flask,uvicorn]")
        command = [str(programs / "python"), "program.py"]
        process = launch("connexion", command, folder, f"{address}/search")
    except UnavailableError as error:
        pytest.skip(str(error))
    service = Service("connexion", address, "", document, {}, process)
    yield service
    service.stop()


@pytest.fixture(scope="module")
def tools_and_project(
    connexion: Service, tmp_path_factory: pytest.TempPathFactory
) -> tuple[dict[str, dict[str, Any]], Path]:
    """The tools of the document by their requests, and a server with them."""
    folder = tmp_path_factory.mktemp("project")
    answers = folder / "answers.yml"
    command = [sys.executable, "-m", "copier_fastmcp", "import"]
    words = [str(connexion.document), "--out", str(answers), "--unattended"]
    subprocess.run([*command, *words], check=True, capture_output=True)
    data = yaml.safe_load(answers.read_text(encoding="utf-8"))
    tools = {}
    for tool in data["tools"]:
        tools[" ".join(tool["http"].split(" ")[:2]).partition("?")[0]] = tool
    return tools, render(ROOT, folder / "server", data)


Called = tuple[dict[str, dict[str, Any]], Path]


def call_in_both_eras(
    service: Service, project: Path, tool: str, arguments: dict[str, Any]
) -> list[Any]:
    """Return what a call results in, in both eras."""

    async def run(era: str) -> Any:
        async with served(project, era, Person(), {"API": service.address}) as client:
            result = await client.call_tool(tool, arguments)
            return unwrap(result.structured_content)[0]

    return [anyio.run(run, era) for era in ERAS]


def test_each_style_is_parsed_to_what_was_passed(
    connexion: Service, tools_and_project: Called
) -> None:
    tools, project = tools_and_project
    tool = tools["GET /search"]
    arguments = dict(ARGUMENTS)
    if "filter" not in {param["name"] for param in tool["params"]}:
        for name, value in arguments.pop("filter").items():
            arguments[f"filter_{name}"] = value
    results = call_in_both_eras(connexion, project, tool["name"], arguments)
    assert results == [ARGUMENTS, ARGUMENTS]


def test_a_form_and_a_header_are_parsed_to_what_was_passed(
    connexion: Service, tools_and_project: Called
) -> None:
    tools, project = tools_and_project
    tool = tools["POST /forms"]
    form = {"name": "ä & b=c", "size": 3, "tags": ["d", "e f"]}
    (color,) = (p["name"] for p in tool["params"] if "color" in p["name"].lower())
    arguments = {**form, "size": 3.0, color: "red"}
    results = call_in_both_eras(connexion, project, tool["name"], arguments)
    assert results == [{"body": form, "color": "red"}] * 2


def test_an_upload_is_parsed_to_what_was_passed(
    connexion: Service, tools_and_project: Called
) -> None:
    tools, project = tools_and_project
    content = base64.b64encode("Grüße\r\n--x".encode()).decode()
    file = {"filename": "a b.txt", "content_base64": content}
    arguments = {"file": file, "note": "ä", "count": 2}
    results = call_in_both_eras(
        connexion, project, tools["POST /uploads"]["name"], arguments
    )
    expected = {
        "body": {"note": "ä", "count": 2},
        "files": [["a b.txt", "Grüße\r\n--x"]],
    }
    assert results == [expected, expected]

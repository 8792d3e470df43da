"""Each style of a query arrives at a server that parses it by its own reading of OpenAPI: Connexion from PyPI."""

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
from live.calling import ERAS, Person, served
from live.services import Service, UnavailableError, free_port, install, launch
from support import ROOT, render

pytestmark = pytest.mark.nightly

# What Connexion made of the query is returned.
HANDLERS = """
def search(**values):
    return values
"""
PROGRAM = """
import connexion

app = connexion.FlaskApp(__name__, specification_dir=".")
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
    return {
        "openapi": "3.0.3",
        "info": {"title": "Styles", "version": "1"},
        "servers": [{"url": address}],
        "paths": {"/search": {"get": operation}},
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


def test_each_style_is_parsed_to_what_was_passed(
    connexion: Service, tmp_path: Path
) -> None:
    answers = tmp_path / "answers.yml"
    command = [sys.executable, "-m", "copier_fastmcp", "import"]
    words = [str(connexion.document), "--out", str(answers), "--unattended"]
    subprocess.run([*command, *words], check=True, capture_output=True)
    data = yaml.safe_load(answers.read_text(encoding="utf-8"))
    project = render(ROOT, tmp_path / "server", data)
    (tool,) = data["tools"]
    arguments = dict(ARGUMENTS)
    if "filter" not in {param["name"] for param in tool["params"]}:
        for name, value in arguments.pop("filter").items():
            arguments[f"filter_{name}"] = value

    async def run(era: str) -> Any:
        settings = {"API": connexion.address}
        async with served(project, era, Person(), settings) as client:
            result = await client.call_tool(tool["name"], arguments)
            return result.structured_content

    for era in ERAS:
        assert anyio.run(run, era) == ARGUMENTS

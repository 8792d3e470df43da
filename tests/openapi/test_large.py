"""Documents with more tools than a model should read: bytes, folders by tag, and a search."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from copier_fastmcp.cli import main
from copier_fastmcp.openapi.sizes import SERVER_BYTES, model_bytes
from copier_fastmcp_engine.testing.lock import count_bytes

MANY = 210  # tools, of more bytes than a model should read
LISTED = {
    "name": "delete_parcel",
    "description": "Delete a parcel that was not sent. Two-step confirmation.",
    "inputSchema": {
        "additionalProperties": False,
        "properties": {
            "parcel_id": {
                "description": "The ID of the parcel.",
                "minimum": 1,
                "type": "integer",
            },
            "confirm": {
                "default": False,
                "description": "True applies what was previewed.",
                "type": "boolean",
            },
        },
        "type": "object",
        "required": ["parcel_id"],
    },
}


def write_document(folder: Path, operations: int) -> Path:
    """Write a document with so many reads, in two tags."""
    paths: dict[str, Any] = {}
    for number in range(operations):
        get = {
            "operationId": f"getThing{number}",
            "summary": f"Get thing {number}",
            "description": "Words about it. " * 12,
            "tags": ["Big Things" if number % 2 else "small"],
            "responses": {"200": {"description": "It."}},
        }
        paths[f"/things{number}"] = {"get": get}
    info = {"title": "Things", "version": "1"}
    servers = [{"url": "https://things.example.com"}]
    values_kept = {"openapi": "3.1.0", "info": info, "servers": servers, "paths": paths}
    file = folder / "things.yaml"
    file.write_text(yaml.safe_dump(values_kept))
    return file


def import_document(folder: Path, operations: int) -> dict[str, Any]:
    """Return the answers of a document with so many operations."""
    out = folder / "answers.yml"
    file = write_document(folder, operations)
    assert main(["import", str(file), "--out", str(out), "--unattended"]) == 0
    answers = yaml.safe_load(out.read_text())
    assert isinstance(answers, dict)
    return answers


def test_a_tool_has_the_bytes_that_its_server_lists() -> None:
    param = {
        "name": "parcel_id",
        "type": "int",
        "ge": 1,
        "description": "The ID of the parcel.",
    }
    tool = {
        "name": "delete_parcel",
        "behavior": "delete",
        "description": "Delete a parcel that was not sent.",
        "params": [param],
    }
    assert model_bytes(tool) == count_bytes(LISTED)


def test_a_large_document_gets_folders_and_a_search(tmp_path: Path) -> None:
    answers = import_document(tmp_path, MANY)
    sizes = sum(model_bytes(tool) for tool in answers["tools"])
    assert sizes > SERVER_BYTES
    assert answers["search"] is True
    modules = set()
    for tool in answers["tools"]:
        modules.add(tool["module"])
    assert modules == {"big_things", "small"}


def test_a_later_document_keeps_the_folders(tmp_path: Path) -> None:
    import_document(tmp_path, MANY)
    answers = import_document(tmp_path, MANY + 1)
    for tool in answers["tools"]:
        assert "module" in tool
    assert answers["search"] is True


def test_a_small_document_gets_neither(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    answers = import_document(tmp_path, 3)
    assert "search" not in answers
    for tool in answers["tools"]:
        assert "module" not in tool
    assert "bytes" not in capsys.readouterr().err

"""Overrides of texts, end to end: what a file says is what a client reads, and no hint moves.

Managed by the template. No test reads your own file: each server here is given one of its own, or none.
"""

import json
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from fastmcp import Client, FastMCP

from notes_mcp.policy import metadata
from notes_mcp.policy.registry import StartError
from notes_mcp.server import create_server

from .conftest import SERVER, SETTINGS


def overridden(path: Path, said: dict[str, Any]) -> FastMCP:
    path.write_text(json.dumps(said), encoding="utf-8")
    path.chmod(0o600)
    return create_server(SETTINGS.model_copy(update={"metadata": path}))


async def read(mcp: FastMCP, era: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Every text on the wire in the shape of a metadata file, and the hints by tool."""
    async with Client(mcp, mode=era) as client:
        tools, resources = await client.list_tools(), await client.list_resources()
        templates = await client.list_resource_templates()
    texts: dict[str, Any] = {"tools": {}, "resources": {}, "resource_templates": {}}
    hints = {}
    for tool in tools:
        properties = tool.input_schema["properties"].items()
        texts["tools"][tool.name] = {
            "title": tool.title,
            "description": tool.description,
            "arguments": {n: {"description": of.get("description")} for n, of in properties},
        }
        found = tool.annotations.model_dump(exclude_none=True) if tool.annotations else {}
        assert found.pop("title", None) == tool.title
        hints[tool.name] = found
    for section, items in {"resources": resources, "resource_templates": templates}.items():
        for item in items:
            uri = str(getattr(item, "uri", "")) or getattr(item, "uri_template", "")
            texts[section][uri] = {"name": item.name, "description": item.description}
    return texts, hints


@pytest.mark.anyio
async def test_every_text_can_be_overridden_and_no_hint_moves(
    tmp_path: Path, era: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(metadata, "MOST_BYTES", 2**24)  # hundreds of tools are more than one file
    numbers = count()

    def renamed(texts: Any) -> Any:
        if not isinstance(texts, dict):
            return f"Text {next(numbers)}"
        return {key: renamed(text) for key, text in texts.items()}

    before, hints = await read(SERVER, era)
    said = renamed(before)
    assert await read(overridden(tmp_path / "texts.yaml", said), era) == (said, hints)


def test_a_name_that_the_server_does_not_have_stops_the_start(tmp_path: Path) -> None:
    with pytest.raises(StartError, match="Unknown tool: no_such_tool"):
        overridden(tmp_path / "texts.yaml", {"tools": {"no_such_tool": {"title": "Mine"}}})

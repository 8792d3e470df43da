"""A metadata file reaches every text of this server and no hint. Managed by the template."""

import json
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from fastmcp import Client, FastMCP

from nextcloud_login_mcp.policy import metadata_file
from nextcloud_login_mcp.policy.errors import StartError
from nextcloud_login_mcp.server import create_server

from .conftest import SERVER, SETTINGS


def overridden(path: Path, texts: object) -> FastMCP:
    path.write_text(json.dumps(texts), encoding="utf-8")
    path.chmod(0o600)
    return create_server(SETTINGS.model_copy(update={"metadata": path}))


async def wire(mcp: FastMCP, era: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Every text that a client reads in the form of a metadata file, and the hints by tool."""
    texts: dict[str, Any] = {"tools": {}, "resources": {}, "resource_templates": {}}
    async with Client(mcp, mode=era) as client:
        tools = await client.list_tools()
        for one in await client.list_resources():
            texts["resources"][str(one.uri)] = {"name": one.name, "description": one.description}
        for each in await client.list_resource_templates():
            about = {"name": each.name, "description": each.description}
            texts["resource_templates"][each.uri_template] = about
    for tool in tools:
        schemas = tool.input_schema["properties"].items()
        arguments = {name: {"description": it.get("description")} for name, it in schemas}
        about = {"title": tool.title, "description": tool.description}
        texts["tools"][tool.name] = about | {"arguments": arguments}
    hints = {tool.name: dict(tool.annotations or {}) for tool in tools}
    assert [hints[tool.name].pop("title") for tool in tools] == [tool.title for tool in tools]
    return texts, hints


@pytest.mark.anyio
async def test_every_text_can_be_overridden_and_no_hint_moves(
    tmp_path: Path, era: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(metadata_file, "MOST_BYTES", 2**24)  # for servers with hundreds of tools
    before, hints = await wire(SERVER, era)
    numbers = count()

    def renamed(texts: Any) -> Any:
        nested = isinstance(texts, dict) and {key: renamed(text) for key, text in texts.items()}
        return f"Text {next(numbers)}" if nested is False else nested

    texts = renamed(before)
    assert await wire(overridden(tmp_path / "texts.yaml", texts), era) == (texts, hints)


def test_a_name_that_the_server_does_not_have_stops_the_start(tmp_path: Path) -> None:
    with pytest.raises(StartError, match="Unknown tool: no_such_tool"):
        overridden(tmp_path / "texts.yaml", {"tools": {"no_such_tool": {"title": "Mine"}}})

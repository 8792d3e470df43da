"""A search in place of a list: two tools with true hints, and the same gate behind them."""

import json
from typing import Any

import pytest
from fastmcp import Client

from copier_fastmcp_engine.declarations import delete, read
from copier_fastmcp_engine.search import ToolSearch
from engine.tests.engine_support.servers import (
    client_of,
    make_policy,
    make_server,
    outcome_of,
)

DONE: list[str] = []


@delete(title="Wipe Note")
async def wipe_note(name: str) -> None:
    """Wipe a note from the board."""
    DONE.append(name)


@read(title="Get Note")
async def get_note(name: str) -> str:
    """Get a note."""
    return name


def make_search_server(*, read_only: bool = False) -> Any:
    """Return a server that lists a search."""
    DONE.clear()
    server = make_server(make_policy("notes-mcp"), wipe_note, get_note)
    server.add_transform(ToolSearch({"board"}, read_only=read_only))
    return server


async def list_tools(client: Client[Any]) -> dict[str, Any]:
    """Return the tools that a client lists, by name."""
    return {tool.name: tool for tool in await client.list_tools()}


@pytest.mark.anyio
async def test_two_tools_are_listed_with_hints_that_hold(era: str) -> None:
    async with client_of(make_search_server(), era) as client:
        tools = await list_tools(client)
    assert tools.keys() == {"search_tools", "call_tool"}
    search = tools["search_tools"]
    call = tools["call_tool"]
    assert search.annotations.read_only_hint is True
    assert call.annotations.read_only_hint is False
    assert call.annotations.destructive_hint is True
    assert "board" in search.description
    definitions = [
        search.model_dump(mode="json"),
        call.model_dump(mode="json"),
    ]
    assert len(json.dumps(definitions)) < 8_000


@pytest.mark.anyio
async def test_a_search_of_reads_calls_reads_only(era: str) -> None:
    async with client_of(make_search_server(read_only=True), era) as client:
        tools = await list_tools(client)
    assert tools["call_tool"].annotations.read_only_hint is True


@pytest.mark.anyio
async def test_a_delete_behind_the_search_asks(era: str) -> None:
    call = {"name": "wipe_note", "arguments": {"name": "a"}}
    async with client_of(make_search_server(), era, agrees=False) as client:
        assert await outcome_of(client, "call_tool", **call) == "declined"
    assert DONE == []
    async with client_of(make_search_server(), era, agrees=True) as client:
        assert await outcome_of(client, "call_tool", **call) == "applied"
    assert DONE == ["a"]


@pytest.mark.anyio
async def test_a_search_finds_a_tool_by_its_description(era: str) -> None:
    async with client_of(make_search_server(), era) as client:
        matches = await client.call_tool("search_tools", {"query": "wipe from board"})
        call = {"name": "get_note", "arguments": {"name": "a"}}
        result = await client.call_tool("call_tool", call)
    assert matches.structured_content["result"][0]["name"] == "wipe_note"
    assert result.structured_content == {"result": "a"}


@pytest.mark.anyio
@pytest.mark.parametrize("name", ["search_tools", "call_tool"])
async def test_wrong_arguments_are_one_line(era: str, name: str) -> None:
    async with client_of(make_search_server(), era) as client:
        result = await client.call_tool(name, {"pattern": "x"}, raise_on_error=False)
    assert result.is_error
    (content,) = result.content
    assert "\n" not in content.text
    assert "https://" not in content.text
    assert "pattern: Unexpected keyword argument" in content.text

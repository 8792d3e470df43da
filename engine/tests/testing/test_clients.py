"""The client for an author's own tests: in memory, with or without scopes."""

from typing import Any

import pytest
from fastmcp import Client, FastMCP
from fastmcp.exceptions import ToolError
from fastmcp.server.context import reset_transport, set_transport

from copier_fastmcp_engine.declarations import read
from copier_fastmcp_engine.testing.plugin.clients import connect_client
from engine.tests.engine_support.servers import make_policy, make_server

pytestmark = pytest.mark.anyio


@read(title="Look", scopes=["notes:read"])
async def look() -> str:
    """Look at what needs a scope."""
    return "seen"


@pytest.fixture
def server() -> FastMCP[Any]:
    """A server with a tool that needs a scope."""
    return make_server(make_policy(), look)


async def names_of(client: Client[Any]) -> list[str]:
    """Return the names of the tools that a client sees."""
    return [tool.name for tool in await client.list_tools()]


async def test_a_plain_client_in_memory_sees_no_tool_with_scopes(
    server: FastMCP[Any], era: str
) -> None:
    token = set_transport("streamable-http")  # as outside of these tests: not stdio
    try:
        async with Client(server, mode=era) as client:
            assert await names_of(client) == []
    finally:
        reset_transport(token)


async def test_connect_client_lists_and_calls_scoped_tools(
    server: FastMCP[Any], era: str
) -> None:
    async with connect_client(server, mode=era) as client:
        assert await names_of(client) == ["look"]
        assert (await client.call_tool("look", {})).data == "seen"


async def test_connect_client_with_a_scope_calls_the_tool(
    server: FastMCP[Any], era: str
) -> None:
    async with connect_client(server, ["notes:read"], mode=era) as client:
        assert await names_of(client) == ["look"]
        assert (await client.call_tool("look", {})).data == "seen"


async def test_connect_client_without_the_scope_is_refused(
    server: FastMCP[Any], era: str
) -> None:
    async with connect_client(server, ["notes:write"], mode=era) as client:
        assert await names_of(client) == []
        with pytest.raises(ToolError):
            await client.call_tool("look", {})


async def test_connect_client_restores_the_transport(server: FastMCP[Any]) -> None:
    async with connect_client(server, []) as client:
        assert await names_of(client) == []
    async with Client(server) as client:  # these tests run as over stdio
        assert await names_of(client) == ["look"]

"""What an owner adds in extend.py and settings.py is served; runs in a project with the two files beside this one."""

from importlib import import_module

import httpx2
import pytest
from fastmcp import Client
from notes_mcp.server import create_server
from notes_mcp.settings import Settings


@pytest.mark.anyio
async def test_lifespan_middleware_prompt_and_route(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("NOTES_MCP_GREETING", "good day")
    server = create_server(Settings(database=":memory:"))
    async with Client(server) as client:
        await client.list_tools()
        (message,) = (await client.get_prompt("greet")).messages
        assert getattr(message.content, "text", None) == "good day"
    transport = httpx2.ASGITransport(server.http_app(host_origin_protection="auto"))
    async with httpx2.AsyncClient(
        transport=transport, base_url="http://localhost"
    ) as client:
        assert (await client.get("/health")).text == "mine"
        headers = {"Host": "another.example.com"}
        assert (await client.get("/health", headers=headers)).status_code == 421
    assert import_module("notes_mcp.extend").HAPPENED == ["opened", "listed", "closed"]

"""A rendered server in front of an API that gives prepared responses; it does not pause between attempts."""

import importlib
from pathlib import Path
from typing import Any

import httpx2
import pytest
from fastmcp import Client, FastMCP
from notes_mcp.server import create_server

# The server that these tests run in is another one than mypy knows by this name.
backend: Any = importlib.import_module("notes_mcp.backend")
Settings: Any = importlib.import_module("notes_mcp.settings").Settings


class Scripted:
    """An API that gives prepared responses in turn, the last one again and again, and the server in front of it."""

    def __init__(self) -> None:
        """Answer everything with one record, until told otherwise."""
        self.responses: list[Any] = [httpx2.Response(200, json={"id": 1})]
        self.requests: list[httpx2.Request] = []
        settings = Settings(
            metadata=Path("none"), api="http://api.invalid/v1", api_token="s3cret-t0ken"
        )
        self.server: FastMCP = create_server(settings)
        backend.api().transport = httpx2.MockTransport(self)

    def __call__(self, request: httpx2.Request) -> httpx2.Response:
        """Return the next response."""
        self.requests.append(request)
        last = len(self.responses) == 1
        response = self.responses[0] if last else self.responses.pop(0)
        return httpx2.Response(
            response.status_code, headers=response.headers, content=response.content
        )

    async def call(self, tool: str, **arguments: Any) -> tuple[bool, str]:
        """Return whether a call failed, and its text."""
        async with Client(self.server) as client:
            result = await client.call_tool(tool, arguments, raise_on_error=False)
        texts = [getattr(block, "text", "") for block in result.content]
        return result.is_error, " ".join(texts)


@pytest.fixture
def scripted(monkeypatch: pytest.MonkeyPatch) -> Scripted:
    """The API, and the server in front of it."""

    async def do_not_sleep(client: object, seconds: float) -> None:
        pass

    monkeypatch.setattr(backend.Api, "_sleep", do_not_sleep)
    return Scripted()

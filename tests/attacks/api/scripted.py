"""An API that gives prepared answers, and a server before it."""

import importlib
from pathlib import Path
from typing import Any

import httpx2
from fastmcp import Client, FastMCP
from notes_mcp.server import create_server

# The server that these tests run in is another one than mypy knows by this name.
backend: Any = importlib.import_module("notes_mcp.backend")
Settings: Any = importlib.import_module("notes_mcp.settings").Settings
SECRET = "s3cret-t0ken"


class Scripted:
    """An API that gives prepared answers in turn, the last one again and again."""

    def __init__(self) -> None:
        """Answer everything with one record, until told otherwise."""
        self.answers: list[Any] = [httpx2.Response(200, json={"id": 1})]
        self.requests: list[httpx2.Request] = []
        self.pauses: list[float] = []

    def __call__(self, request: httpx2.Request) -> httpx2.Response:
        self.requests.append(request)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        assert isinstance(answer, httpx2.Response)
        return httpx2.Response(
            answer.status_code, headers=answer.headers, content=answer.content
        )


def served(script: Scripted, **more: Any) -> FastMCP:
    more = {"api": "http://api.invalid/v1", "api_token": SECRET} | more
    server = create_server(Settings(metadata=Path("none"), **more))
    backend.api().transport = httpx2.MockTransport(script)
    return server


async def called(server: FastMCP, tool: str, **arguments: Any) -> tuple[bool, str]:
    """Whether a call failed, and what a model reads."""
    async with Client(server) as client:
        result = await client.call_tool(tool, arguments, raise_on_error=False)
    return result.is_error, " ".join(
        getattr(block, "text", "") for block in result.content
    )

"""Every seam of extend.py in use: lifespan, middleware, a prompt, a route, a command."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from cyclopts import App
from fastmcp import FastMCP
from fastmcp.server.middleware import CallNext, Middleware, MiddlewareContext
from fastmcp.tools import Tool
from mcp_types import ListToolsRequest
from notes_mcp.settings import Settings
from starlette.requests import Request
from starlette.responses import PlainTextResponse

HAPPENED: list[str] = []


@asynccontextmanager
async def lifespan(mcp: FastMCP) -> AsyncIterator[dict[str, Any]]:
    """Note both ends."""
    HAPPENED.append("opened")
    yield {}
    HAPPENED.append("closed")


class Loud(Middleware):
    """Notes every list."""

    async def on_list_tools(
        self,
        context: MiddlewareContext[ListToolsRequest],
        call_next: CallNext[ListToolsRequest, Sequence[Tool]],
    ) -> Sequence[Tool]:
        """Note it."""
        HAPPENED.append("listed")
        return await call_next(context)


def extend(mcp: FastMCP) -> None:
    """Add one of each."""
    mcp.add_middleware(Loud())

    @mcp.prompt
    def greet() -> str:
        return str(vars(Settings())["greeting"])

    @mcp.custom_route("/health", methods=["GET"])
    async def health(request: Request) -> PlainTextResponse:
        return PlainTextResponse("mine")


def commands(app: App) -> None:
    """Add a command."""

    @app.command
    def hello() -> None:
        print("mine")

"""An extend.py whose lifespan serves a tool that nobody declared."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from cyclopts import App
from fastmcp import FastMCP


@asynccontextmanager
async def lifespan(mcp: FastMCP) -> AsyncIterator[dict[str, Any]]:
    """Add a tool once the server runs."""
    if not await mcp.get_tool("late"):

        @mcp.tool
        def late() -> str:
            return "late"

    yield {}


def extend(mcp: FastMCP) -> None:
    """Add nothing before."""


def commands(app: App) -> None:
    """Add none."""

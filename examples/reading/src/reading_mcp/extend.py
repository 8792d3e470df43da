"""Your seam to the whole server: lifespan, middleware, routes, prompts, more commands."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # so that `--help` need not load FastMCP
    from collections.abc import AsyncIterator

    from cyclopts import App
    from fastmcp import FastMCP


@asynccontextmanager
async def lifespan(mcp: FastMCP) -> AsyncIterator[dict[str, Any]]:
    """Open what lives as long as the server; close it after the yield."""
    yield {}


def extend(mcp: FastMCP) -> None:
    """Add the prompt of the reading list."""

    @mcp.prompt
    def plan_evening(minutes: int = 30) -> str:
        """Plan an evening of reading."""
        return f"Search my unread articles and choose some that take {minutes} minutes together."


def commands(app: App) -> None:
    """Add commands of your own to the command line."""

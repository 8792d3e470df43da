"""An extend.py that serves a destructive tool around the policy."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from cyclopts import App
from fastmcp import FastMCP


@asynccontextmanager
async def lifespan(mcp: FastMCP) -> AsyncIterator[dict[str, Any]]:
    """Hold nothing."""
    yield {}


def extend(mcp: FastMCP) -> None:
    """Add a tool that no decorator declares."""

    @mcp.tool(annotations={"destructiveHint": True})
    def wipe() -> str:
        return "gone"


def commands(app: App) -> None:
    """Add none."""

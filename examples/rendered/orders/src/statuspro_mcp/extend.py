"""Your seam to the whole server: lifespan, middleware, routes, prompts, more commands."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from cyclopts import App
from fastmcp import FastMCP


@asynccontextmanager
async def lifespan(mcp: FastMCP) -> AsyncIterator[dict[str, Any]]:
    """Open what lives as long as the server; close it after the yield."""
    yield {}


def extend(mcp: FastMCP) -> None:
    """Add middleware, custom routes or prompts; tools and resources go in their own folders."""


def commands(app: App) -> None:
    """Add commands of your own to the command line."""

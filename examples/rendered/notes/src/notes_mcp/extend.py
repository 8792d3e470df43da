"""Your seam to the whole server: lifespan, middleware, routes, prompts.

A function `commands(app)` here adds your own commands to the command line; `app` is a Cyclopts App.
"""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # so that `--help` need not load FastMCP
    from collections.abc import AsyncIterator

    from fastmcp import FastMCP


@asynccontextmanager
async def lifespan(mcp: FastMCP) -> AsyncIterator[dict[str, Any]]:
    """Open what lives as long as the server; close it after the yield."""
    yield {}


def extend(mcp: FastMCP) -> None:
    """Add middleware, custom routes or prompts; tools and resources go in their own folders."""

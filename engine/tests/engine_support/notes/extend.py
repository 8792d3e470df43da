"""The seam of the notes server: tests replace `extend` as an author would write it."""

import contextlib
from collections.abc import AsyncIterator
from typing import Any

from fastmcp import FastMCP


@contextlib.asynccontextmanager
async def lifespan(mcp: FastMCP[Any]) -> AsyncIterator[dict[str, Any]]:
    """Hold nothing while the server runs."""
    yield {}


def extend(mcp: FastMCP[Any]) -> None:
    """Add nothing to the server."""

"""An extend.py that mounts a server which declares nothing, and names one of its tools itself."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from cyclopts import App
from fastmcp import FastMCP
from notes_mcp.policy import declare

DONE: list[str] = []


@asynccontextmanager
async def lifespan(mcp: FastMCP) -> AsyncIterator[dict[str, Any]]:
    """Hold nothing."""
    yield {}


def extend(mcp: FastMCP) -> None:
    """Mount a server with two tools."""
    child = FastMCP("child")

    @child.tool
    def destroy(name: str) -> list[str]:
        DONE.append(name)
        return DONE

    @child.tool
    def count() -> int:
        return len(DONE)

    mcp.mount(child, namespace="child")
    declare("child_count", "read")


def commands(app: App) -> None:
    """Add none."""

"""The cloud server, put together as a project's server.py does."""

from typing import Any

from fastmcp import FastMCP

from copier_fastmcp_engine.server import build_server

from ..notes import extend
from ..notes.store import connect
from .settings import Settings


def create_server(settings: Settings | None = None) -> FastMCP[Any]:
    """Build the cloud server, with settings from the environment when left out."""
    return build_server(
        settings or Settings(),
        connect=connect,
        extend=extend,
        instructions="Search the notes of a cloud account.",
    )

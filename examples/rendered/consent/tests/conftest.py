"""Yours: fixtures for your own tests. The fixtures of the policy suite are in tests/policy."""

from pathlib import Path

import pytest
from fastmcp import FastMCP

from nextcloud_login_mcp.server import create_server
from nextcloud_login_mcp.settings import Settings


@pytest.fixture
def anyio_backend() -> str:
    """The event loop that `@pytest.mark.anyio` tests run on."""
    return "asyncio"


@pytest.fixture
def server() -> FastMCP:
    """The server on an empty store in memory; no test touches your data."""
    return create_server(Settings(database=":memory:", state="memory", metadata=Path("none")))

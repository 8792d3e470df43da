"""Fixtures of the attacks."""

import pytest
from fastmcp.server.context import set_transport

set_transport("stdio")  # where no scope hides a tool


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """One event loop for all tests, so that they share what belongs to one."""
    return "asyncio"

"""What all attacks share. They import the package of the rendered server that they run in."""

import pytest
from fastmcp.server.context import set_transport
from loud import pytest_runtest_makereport

__all__ = ["pytest_runtest_makereport"]  # a hook: on CI no skip is silent

set_transport("stdio")  # where no scope hides a tool


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """One event loop for all tests of a file."""
    return "asyncio"

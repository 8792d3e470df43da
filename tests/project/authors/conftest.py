"""What the tests that run inside a rendered project share."""

import pytest


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """One event loop for all tests of a file."""
    return "asyncio"

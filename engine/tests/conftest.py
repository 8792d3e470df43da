"""Fixtures of the engine's tests."""

import pytest

from engine.tests.engine_support.servers import ERAS


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """The event loop that `@pytest.mark.anyio` tests run on."""
    return "asyncio"


@pytest.fixture(params=ERAS)
def era(request: pytest.FixtureRequest) -> str:
    """Each protocol era in turn."""
    return str(request.param)

"""Fixtures of the engine's tests."""

from collections.abc import Iterator
from pathlib import Path

import compiled
import pytest
from fastmcp.server.context import reset_transport, set_transport
from loud import pytest_runtest_makereport

from engine.tests.engine_support.servers import ERAS

compiled.load_certificates_once()
__all__ = ["pytest_runtest_makereport"]  # a hook: on CI no skip is silent
HERE = Path(__file__).parent
# What libraries of the tests use and their makers deprecate; and that servers of tests are forked
ALLOWED_WARNINGS = (
    "ignore::DeprecationWarning:(oidc_provider_mock|authlib|key_value)",
    "ignore:.*explicitly decorated with @runtime_checkable:DeprecationWarning",
    "ignore:.*multi-threaded, use of fork:DeprecationWarning",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let a warning fail a test of the engine."""
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.filterwarnings(*ALLOWED_WARNINGS), append=False)
            item.add_marker(pytest.mark.filterwarnings("error"), append=False)


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """The event loop that `@pytest.mark.anyio` tests run on."""
    return "asyncio"


@pytest.fixture(params=ERAS)
def era(request: pytest.FixtureRequest) -> str:
    """Each protocol era in turn."""
    return str(request.param)


@pytest.fixture(autouse=True)
def _stdio_transport() -> Iterator[None]:
    """Let a test's clients count as clients over stdio, where no scope hides a tool."""
    token = set_transport("stdio")
    yield
    reset_transport(token)

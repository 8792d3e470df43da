"""Every test begins with nothing done; a user sits at this machine, whose browser is not opened."""

import webbrowser
from collections.abc import AsyncIterator

import anyio
import httpx2
import pytest
from listening import PATIENCE

from copier_fastmcp_engine.pages import pages
from engine.tests.engine_support.targets import DONE


@pytest.fixture(autouse=True)
def _nothing_done(monkeypatch: pytest.MonkeyPatch) -> None:
    DONE.clear()
    monkeypatch.setenv("CI", "1")  # where no page is opened


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    """A user sits at this machine, whose browser is not to be opened."""
    monkeypatch.setattr(pages, "elsewhere", lambda: False)
    monkeypatch.setattr(pages, "WAIT", 0.6)
    monkeypatch.setattr(pages, "PACE", 0.02)
    monkeypatch.setattr(webbrowser, "open", lambda address: False)


@pytest.fixture
async def browser() -> AsyncIterator[httpx2.AsyncClient]:
    """A browser that keeps cookies."""
    async with httpx2.AsyncClient(timeout=PATIENCE) as client:
        yield client
    # The server of the page closes its side while the event loop still runs
    await anyio.sleep(0.02)

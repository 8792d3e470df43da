"""Every attack begins with nothing done, on a profile that gates what deletes."""

import webbrowser
from collections.abc import AsyncIterator
from importlib import import_module

import httpx2
import pytest
from attacks.gate.attacked import DONE
from listening import PATIENCE


@pytest.fixture(autouse=True)
def _fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    DONE.clear()
    monkeypatch.setenv("CI", "1")  # where no page is opened


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    """A person sits at this machine, whose browser is not to be opened."""
    page = import_module("copier_fastmcp_engine.pages.pages")
    monkeypatch.setattr(page, "elsewhere", lambda: False)
    monkeypatch.setattr(page, "WAIT", 0.6)
    monkeypatch.setattr(page, "PACE", 0.02)
    monkeypatch.setattr(webbrowser, "open", lambda address: False)


@pytest.fixture
async def browser() -> AsyncIterator[httpx2.AsyncClient]:
    async with httpx2.AsyncClient(timeout=PATIENCE) as client:
        yield client

"""Pages of a server over HTTP: they are served where the server is, and their cookie stays there."""

import logging
import webbrowser
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import pytest
from fastmcp import Client, FastMCP

from copier_fastmcp_engine.pages import pages
from copier_fastmcp_engine.pages.listener import REDACTED
from engine.tests.engine_support.http_serving import serve_http
from engine.tests.engine_support.paging import (
    PAGE_SETTINGS,
    answer_page,
    make_page_server,
)
from engine.tests.engine_support.targets import DONE

pytestmark = pytest.mark.anyio


@asynccontextmanager
async def serve_pages(address: str = "") -> AsyncIterator[tuple[str, Client[Any]]]:
    """Serve a server whose setting `server_url` is an address; yield where it is, and a client."""

    def make(base: str) -> FastMCP[Any]:
        settings = PAGE_SETTINGS.model_copy(update={"server_url": address or None})
        return make_page_server(settings=settings)

    async with serve_http(make) as (base, _), Client(f"{base}/mcp") as client:
        yield base, client


async def wipe(client: Client[Any]) -> dict[str, Any]:
    """Return the result of a call."""
    result = await client.call_tool("wipe", {"name": "a"})
    return dict(result.structured_content or {})


def link_of(waiting: dict[str, Any]) -> str:
    """Return the link in a preview."""
    return str(waiting["preview"]["next"].partition("Open ")[2].partition(",")[0])


async def test_a_page_is_served_by_the_server_itself(
    browser: httpx2.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The user of a server over HTTP can open a page even where the server has no screen."""
    monkeypatch.setattr(pages, "elsewhere", lambda: True)
    async with serve_pages() as (base, client):
        waiting = await wipe(client)
        assert waiting["outcome"] == "waiting"
        assert link_of(waiting).startswith(f"{base}/confirm?link=")
        page = await browser.get(link_of(waiting))
        assert "secure" not in page.headers["set-cookie"].lower()
        assert "path=/confirm" in page.headers["set-cookie"].lower()
        assert await answer_page(browser, link_of(waiting)) == 200
        assert (await wipe(client))["outcome"] == "applied"
    assert DONE == ["a"]


async def test_a_link_is_not_in_the_access_log_of_the_server(
    browser: httpx2.AsyncClient, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "uvicorn.access")
    # Which the servers of other tests may have added
    logging.getLogger("uvicorn.access").removeFilter(REDACTED)
    async with serve_pages() as (_, client):
        assert (await browser.get(link_of(await wipe(client)))).status_code == 200
    lines = [r.getMessage() for r in caplog.records if r.name == "uvicorn.access"]
    assert any("GET /confirm" in line for line in lines)
    assert "link=" not in "".join(lines)


async def test_no_browser_of_the_machine_of_the_server_is_opened(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its users sit elsewhere, and whoever sits there did not call."""
    opened: list[str] = []
    monkeypatch.setenv("DISPLAY", ":0")
    monkeypatch.setattr(webbrowser, "open", opened.append)
    async with serve_pages() as (base, client):
        assert link_of(await wipe(client)).startswith(base)
    assert opened == []


async def test_a_page_behind_a_proxy_has_the_address_of_the_proxy(
    browser: httpx2.AsyncClient,
) -> None:
    async with serve_pages("https://mcp.example.com/") as (base, client):
        link = link_of(await wipe(client))
        assert link.startswith("https://mcp.example.com/confirm?link=")
        inside = base + link.removeprefix("https://mcp.example.com")
        page = await browser.get(inside)
        assert page.status_code == 200
        assert "secure" in page.headers["set-cookie"].lower()
        # Sent from the inner address, which is another origin
        assert await answer_page(browser, inside) == 403
    assert DONE == []

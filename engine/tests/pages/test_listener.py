"""The listener on loopback, next to other servers of the same process, and to others who want its port."""

import asyncio
import gc
import logging
import socket
import sys
import time

import anyio
import httpx2
import pytest
from listening import PATIENCE
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from copier_fastmcp_engine.guard import guard_of
from copier_fastmcp_engine.pages import listener as listener_module
from engine.tests.engine_support.paging import (
    answer_page,
    call_wipe,
    find_link,
    make_page_server,
    page,
)
from engine.tests.engine_support.raw import MODERN, connect
from engine.tests.engine_support.targets import DONE


@pytest.mark.anyio
async def test_the_access_log_of_others_stays_and_the_own_has_no_line(
    browser: httpx2.AsyncClient, caplog: pytest.LogCaptureFixture
) -> None:
    async def tell(request: Request) -> PlainTextResponse:
        return PlainTextResponse("told")

    log, handler = logging.getLogger("uvicorn.access"), logging.StreamHandler()
    log.addHandler(handler)
    listener = page.Listener([Route("/", tell)])
    try:
        with caplog.at_level(logging.INFO, "uvicorn.access"):
            base = await listener.open(time.time() + 600)
            assert (await browser.get(base, params={"link": "secret"})).text == "told"
            assert handler in log.handlers
            assert log.propagate
            assert [r for r in caplog.records if r.name == "uvicorn.access"] == []
    finally:
        listener.close()
        log.removeHandler(handler)


@pytest.mark.filterwarnings("always::ResourceWarning")
def test_connections_are_closed_where_the_loop_ends_first(
    recwarn: pytest.WarningsRecorder,
) -> None:
    """A browser keeps its connection open, and a server that is stopped does not wait for the last page."""

    async def open_and_end(browser: socket.socket) -> None:
        listener = page.Listener([])
        base = await listener.open(time.time() + 600)
        await asyncio.to_thread(browser.connect, ("127.0.0.1", int(base.split(":")[2])))
        browser.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert (await asyncio.to_thread(browser.recv, 100)).startswith(b"HTTP/1.1 404")

    gc.collect()
    recwarn.clear()
    with socket.socket() as browser:
        asyncio.run(open_and_end(browser))
        gc.collect()
    assert [str(warning.message) for warning in recwarn] == []


def test_the_access_log_of_a_server_keeps_its_lines_without_their_queries() -> None:
    line = logging.makeLogRecord({"args": ("127.0.0.1", "/confirm?link=secret", 200)})
    assert listener_module.REDACTED.filter(line)
    assert line.args == ("127.0.0.1", "/confirm", 200)
    plain = logging.makeLogRecord({"args": ("127.0.0.1:1?2", "/mcp", 200)})
    assert listener_module.REDACTED.filter(plain)
    assert plain.args == ("127.0.0.1:1?2", "/mcp", 200)


def test_a_line_of_the_access_log_with_named_values_stays_as_it_is() -> None:
    line = logging.makeLogRecord({"msg": "%(path)s", "args": {"path": "/mcp"}})
    assert listener_module.REDACTED.filter(line)
    assert line.getMessage() == "/mcp"


@pytest.mark.anyio
async def test_a_listener_stays_until_the_last_page_is_over(
    browser: httpx2.AsyncClient,
) -> None:
    async def tell(request: Request) -> PlainTextResponse:
        return PlainTextResponse("told")

    listener = page.Listener([Route("/", tell)])
    base = await listener.open(time.time() + 0.9, "a page")
    await anyio.sleep(0.4)
    assert (await browser.get(base)).text == "told"
    assert await listener.open(time.time() + 60, "another page") == base
    listener.close("a page")
    assert (await browser.get(base)).text == "told"
    listener.close("another page")


@pytest.mark.anyio
async def test_a_listener_whose_server_ends_is_over(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The next page gets another one."""

    async def end(*arguments: object) -> None:
        pass

    monkeypatch.setattr(listener_module._Server, "serve", end)
    listener = page.Listener([])
    await listener.open(time.time() + 600)
    with anyio.fail_after(PATIENCE):
        await listener._task


def test_a_page_that_was_never_served_here_leaves_nothing_when_it_closes() -> None:
    """Over HTTP a decision closes a page that this listener does not have."""
    listener = page.Listener([])
    listener.close("a page over HTTP")
    assert listener._held == {}


def bind_as_a_squatter(port: int, host: str) -> socket.socket:
    """Try to listen on a port that is taken, with every option that the system has for it."""
    squatter = socket.socket()
    squatter.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if hasattr(socket, "SO_REUSEPORT"):
        squatter.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    try:
        squatter.bind((host, port))
        squatter.listen()
    except OSError:
        squatter.close()
        raise
    return squatter


@pytest.mark.anyio
@pytest.mark.skipif(sys.platform != "linux", reason="the rules of POSIX differ")
@pytest.mark.parametrize("host", ["127.0.0.1", "0.0.0.0"])
async def test_nobody_takes_the_port_of_an_open_page(host: str) -> None:
    listener = page.Listener([])
    base = await listener.open(time.time() + 600)
    try:
        with pytest.raises(OSError, match="in use"):
            bind_as_a_squatter(httpx2.URL(base).port or 0, host)
    finally:
        listener.close()


@pytest.mark.anyio
@pytest.mark.usefixtures("here")
async def test_a_link_that_reaches_a_squatter_later_is_worth_nothing(
    browser: httpx2.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A browser that restores its tabs sends an old link to whoever listens on the port then."""
    monkeypatch.setattr(listener_module, "GRACE", 0.1)
    server = make_page_server()
    async with connect(server, MODERN, can={}) as raw:
        old = find_link(await call_wipe(raw))
        assert await answer_page(browser, old, "decline") == 200
        with anyio.fail_after(PATIENCE):
            while guard_of(server).gate.pages._listener._task is not None:
                if guard_of(server).gate.pages._listener._task.done():
                    break
                await anyio.sleep(0.02)
        squatter = bind_as_a_squatter(httpx2.URL(old).port or 0, "127.0.0.1")
        try:
            new = find_link(await call_wipe(raw, arguments={"name": "b"}))
            assert httpx2.URL(new).port != httpx2.URL(old).port
            stolen = httpx2.URL(old).copy_with(port=httpx2.URL(new).port)
            assert (await browser.get(stolen)).status_code == 410
        finally:
            squatter.close()
    assert DONE == []

"""How a page is opened: in a browser of this machine, through a client that shows links, or not at all."""

import sys
import time
import webbrowser
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import unquote, urlsplit

import anyio
import httpx2
import pytest
from fastmcp import FastMCP
from listening import PATIENCE

from copier_fastmcp_engine.confirmation.pending import COLLECTION
from copier_fastmcp_engine.guard import guard_of
from copier_fastmcp_engine.pages import pages
from engine.tests.engine_support.paging import (
    CALL,
    PAGE_SETTINGS,
    answer_page,
    call_wipe,
    find_link,
    make_page_server,
    text_of,
)
from engine.tests.engine_support.raw import LEGACY, MODERN, Message, connect, outcome
from engine.tests.engine_support.targets import DONE

URL: Message = {"elicitation": {"url": {}}}
pytestmark = [
    pytest.mark.anyio,
    pytest.mark.usefixtures("here"),
    pytest.mark.parametrize("era", [LEGACY, MODERN]),
]


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The addresses that a browser was asked to open."""
    addresses: list[str] = []
    monkeypatch.setenv("DISPLAY", ":0")

    def open_address(address: str) -> bool:
        addresses.append(address)
        return True

    monkeypatch.setattr(webbrowser, "open", open_address)
    yield addresses
    for address in addresses:
        Path(unquote(urlsplit(address).path)).unlink(missing_ok=True)


async def wait_for_page(
    browser: httpx2.AsyncClient, opened: list[str], number: int
) -> str:
    """Return the link of the page that was opened as the first, the second and so on, once it is shown."""
    with anyio.fail_after(PATIENCE):
        while len(opened) < number:
            await anyio.sleep(0.01)
        file = Path(unquote(urlsplit(opened[number - 1]).path))
        link = find_link(file.read_text())
        while (await browser.get(link)).status_code != 200:
            await anyio.sleep(0.01)
    return link


async def end_page(server: FastMCP[Any]) -> None:
    """Let the open page of a server end, without a decision."""
    gate = guard_of(server).gate
    store: Any = gate.store
    keys = await store.keys(collection=COLLECTION)
    (key,) = [key for key in keys if key.startswith("page-")]
    assert await gate.take(key)


async def test_a_browser_of_this_machine_is_opened_and_no_process_shows_the_link(
    browser: httpx2.AsyncClient, opened: list[str], era: str
) -> None:
    async with connect(make_page_server(), era, can={}) as raw:
        waiting = await call_wipe(raw)
        assert "link=" not in str(waiting)
        assert outcome(await call_wipe(raw)) == "waiting"
        (address,) = opened
        file = Path(unquote(urlsplit(address).path))
        assert file.stat().st_mode & 0o777 == 0o600
        assert await answer_page(browser, find_link(file.read_text())) == 200
        applied = (await call_wipe(raw))["result"]["structuredContent"]
        assert (applied["outcome"], applied["approved_by"]) == ("applied", "person")


async def test_the_file_that_opened_a_page_is_gone_when_the_page_is_over(
    opened: list[str], era: str
) -> None:
    async with connect(make_page_server(0.3), era, can={}) as raw:
        await call_wipe(raw)
    (address,) = opened
    with anyio.fail_after(PATIENCE):
        while Path(unquote(urlsplit(address).path)).exists():
            await anyio.sleep(0.01)


async def test_three_pages_a_minute_open_by_themselves(
    opened: list[str], era: str
) -> None:
    names = ["a", "b", "c", "d"] if era == MODERN else ["a", "b", "c"]
    async with connect(make_page_server(), era, can={}) as raw:
        # A browser that opens is not waited for: three times three seconds
        with anyio.fail_after(9):
            for name in names:
                message = await call_wipe(raw, arguments={"name": name})
                assert ("link=" in str(message)) == (name == "d")
    assert len(opened) == 3


async def test_pages_open_by_themselves_again_a_minute_later(
    monkeypatch: pytest.MonkeyPatch, opened: list[str], era: str
) -> None:
    later = time.time() + 61
    async with connect(make_page_server(), era, can={}) as raw:
        for name in ["a", "b", "c"]:
            await call_wipe(raw, arguments={"name": name})
        monkeypatch.setattr(pages, "time", SimpleNamespace(time=lambda: later))
        message = await call_wipe(raw, arguments={"name": "d"})
    assert "link=" not in str(message)
    assert len(opened) == 4


@pytest.mark.parametrize("fails", [False, None], ids=["says-no", "raises"])
async def test_where_no_browser_opens_the_link_is_in_the_answer(
    monkeypatch: pytest.MonkeyPatch,
    opened: list[str],
    fails: bool | None,
    era: str,
) -> None:
    def refuse(address: str) -> bool:
        opened.append(address)
        time.sleep(0.1)  # a browser takes a while to fail
        if fails is None:
            raise webbrowser.Error("no browser")
        return False

    monkeypatch.setattr(webbrowser, "open", refuse)
    async with connect(make_page_server(), era, can={}) as raw:
        find_link(await call_wipe(raw))
    with anyio.fail_after(PATIENCE):
        while Path(unquote(urlsplit(opened[0]).path)).exists():
            await anyio.sleep(0.01)


@pytest.mark.skipif(sys.platform != "linux", reason="a screen is a variable on Linux")
@pytest.mark.parametrize("screen", ["WAYLAND_DISPLAY", ""])
async def test_a_browser_is_opened_where_there_is_a_screen(
    monkeypatch: pytest.MonkeyPatch,
    opened: list[str],
    screen: str,
    era: str,
) -> None:
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    if screen:
        monkeypatch.setenv(screen, "wayland-0")
    async with connect(make_page_server(), era, can={}) as raw:
        waiting = await call_wipe(raw)
    assert ("link=" in str(waiting)) == (not screen)
    assert len(opened) == bool(screen)


@pytest.mark.parametrize("platform", ["win32", "darwin"])
async def test_a_browser_is_opened_on_windows_and_macos(
    monkeypatch: pytest.MonkeyPatch, opened: list[str], platform: str, era: str
) -> None:
    monkeypatch.delenv("DISPLAY")
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    monkeypatch.setattr(pages, "sys", SimpleNamespace(platform=platform))
    async with connect(make_page_server(), era, can={}) as raw:
        assert "link=" not in str(await call_wipe(raw))
    assert len(opened) == 1


async def test_no_browser_is_opened_where_that_is_set(
    opened: list[str], era: str
) -> None:
    settings = PAGE_SETTINGS.model_copy(update={"browser": "never"})
    async with connect(make_page_server(settings=settings), era, can={}) as raw:
        find_link(await call_wipe(raw))
    assert opened == []


@pytest.mark.parametrize("name", ["SSH_CONNECTION", "CI", "container"])
async def test_without_a_user_at_the_machine_the_call_is_refused(
    monkeypatch: pytest.MonkeyPatch,
    opened: list[str],
    name: str,
    era: str,
) -> None:
    monkeypatch.undo()
    monkeypatch.setenv(name, "1")
    async with connect(make_page_server(), era, can={}) as raw:
        refused = await call_wipe(raw)
    assert "this client cannot ask for here" in text_of(refused)
    assert opened == []


@pytest.mark.parametrize("word", ["approve", "decline", "nothing"])
async def test_a_client_that_supports_links_shows_the_page(
    browser: httpx2.AsyncClient, opened: list[str], word: str, era: str
) -> None:
    async with connect(make_page_server(), era, {"action": "accept"}, can=URL) as raw:

        def say(question: str) -> Message:
            return {"action": "accept"}

        raw.say = say  # type: ignore[method-assign]
        number = await raw.send("tools/call", **CALL)
        if era == LEGACY:
            await raw.next()
            link = raw.asked[0]["params"]["url"]
            assert raw.asked[0]["params"]["elicitationId"]
        else:
            while number not in raw.came:
                await raw.next()
            (question,) = raw.came[number]["result"]["inputRequests"].values()
            link = question["params"]["url"]
            assert "elicitationId" not in question["params"]
        assert DONE == []
        if word != "nothing":
            assert await answer_page(browser, link, word) == 200
        message = await raw.receive(number)
    expected = {"approve": "applied", "decline": "declined", "nothing": "waiting"}
    assert outcome(message) == expected[word]
    assert "link=" not in str(message)
    if word == "approve":
        assert message["result"]["structuredContent"]["approved_by"] == "person"
    assert (["a"] if word == "approve" else []) == DONE
    assert opened == []


async def test_a_question_of_a_body_whose_page_ends_is_not_answered(
    browser: httpx2.AsyncClient,
    monkeypatch: pytest.MonkeyPatch,
    opened: list[str],
    era: str,
) -> None:
    """Although the call itself was approved, and so counts as applied."""
    monkeypatch.setattr(pages, "WAIT", 10.0 * PATIENCE)
    call = CALL | {"name": "wipe_halves"}
    server = make_page_server()
    async with connect(server, era, can={}) as raw:
        number = await raw.send("tools/call", **call)
        link = await wait_for_page(browser, opened, 1)
        assert await answer_page(browser, link) == 200
        await wait_for_page(browser, opened, 2)
        # Another call joins the page, and is not told that it was applied
        monkeypatch.setattr(pages, "WAIT", 0.0)
        assert outcome(await call_wipe(raw, **call)) == "waiting"
        monkeypatch.setattr(pages, "WAIT", 10.0 * PATIENCE)
        await end_page(server)
        await wait_for_page(browser, opened, 3)
        await end_page(server)
        assert outcome(await raw.receive(number)) == "applied"
    assert DONE == []


@pytest.mark.parametrize(
    ("seconds", "minutes"),
    [(86_400, "1440 minutes"), (20, "1 minutes")],
)
async def test_an_answer_with_the_link_comes_at_once_and_names_the_time(
    monkeypatch: pytest.MonkeyPatch,
    seconds: float,
    minutes: str,
    era: str,
) -> None:
    monkeypatch.setattr(pages, "WAIT", 10 * PATIENCE)
    async with connect(make_page_server(seconds), era, can={}) as raw:
        with anyio.fail_after(PATIENCE):
            waiting = await call_wipe(raw)
    following = waiting["result"]["structuredContent"]["preview"]["next"]
    assert f" within {minutes}." in following


async def test_a_person_who_does_not_open_the_link_declines(
    browser: httpx2.AsyncClient, era: str
) -> None:
    async with connect(make_page_server(), era, {"action": "decline"}, can=URL) as raw:
        assert outcome(await call_wipe(raw)) == "declined"
        assert outcome(await call_wipe(raw)) == "declined"
    assert DONE == []


async def test_a_client_that_cannot_show_its_link_declines_nothing(era: str) -> None:
    answers: dict[str, Message] = {
        LEGACY: {"error": {"code": -32601, "message": "what?"}},
        MODERN: {"roots": []},
    }
    async with connect(make_page_server(), era, answers[era], can=URL) as raw:
        assert outcome(await call_wipe(raw)) == "waiting"
    assert DONE == []

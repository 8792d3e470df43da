"""A real browser walks to the page, as wide as a phone, and presses a button."""

import json
import shutil
import webbrowser
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from listening import PATIENCE
from websockets.asyncio.client import ClientConnection
from websockets.asyncio.client import connect as websocket

from engine.tests.engine_support.paging import (
    call_wipe,
    find_link,
    make_page_server,
    page,
)
from engine.tests.engine_support.raw import MODERN, connect, outcome
from engine.tests.engine_support.targets import DONE

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome") or ""
PHONE = {"width": 390, "height": 844, "deviceScaleFactor": 1, "mobile": True}
pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(
        not CHROMIUM, reason="no Chromium here; on Debian: apt-get install chromium"
    ),
]


class RefusedCommandError(Exception):
    """The browser refused a command, as while it replaces a page by another one."""


class Tab:
    """One tab, over the protocol of the developer tools."""

    def __init__(self, socket: ClientConnection) -> None:
        """Drive the tab behind this socket."""
        self.socket, self.sent = socket, 0

    async def do(self, method: str, **params: Any) -> Any:
        """Send a command, and wait for its result."""
        self.sent += 1
        await self.socket.send(
            json.dumps({"id": self.sent, "method": method, "params": params})
        )
        while True:
            message = json.loads(await self.socket.recv())
            if message.get("id") != self.sent:
                continue
            if "error" in message:
                raise RefusedCommandError(str(message["error"]))
            return message["result"]

    async def look(self, script: str) -> Any:
        """Return the value of an expression in the page."""
        reply = await self.do("Runtime.evaluate", expression=script, returnByValue=True)
        return reply["result"].get("value")


@asynccontextmanager
async def chromium(folder: Path) -> AsyncIterator[Tab]:
    """A browser without a window."""
    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-port=0"]
    command = [CHROMIUM, *flags, f"--user-data-dir={folder}", "about:blank"]
    async with await anyio.open_process(command) as process:
        try:
            ready = folder / "DevToolsActivePort"
            with anyio.fail_after(PATIENCE):
                while not ready.exists() or not ready.read_text().count("\n"):
                    await anyio.sleep(0.1)
            port = ready.read_text().split("\n")[0]
            async with httpx2.AsyncClient(timeout=PATIENCE) as client:
                tabs = (await client.get(f"http://127.0.0.1:{port}/json")).json()
            address = next(
                tab["webSocketDebuggerUrl"] for tab in tabs if tab["type"] == "page"
            )
            async with websocket(address, max_size=None) as socket:
                yield Tab(socket)
        finally:
            process.terminate()


async def test_a_real_browser_decides(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page, "elsewhere", lambda: False)
    monkeypatch.setattr(page, "WAIT", 0.2)
    monkeypatch.setattr(webbrowser, "open", lambda address: False)
    DONE.clear()
    name = "<b>the last one</b> " + "y" * 300
    arguments = {"name": name, "owner": "them"}
    async with (
        chromium(tmp_path / "browser") as tab,
        connect(make_page_server(), MODERN, can={}) as raw,
    ):
        await tab.do("Emulation.setDeviceMetricsOverride", **PHONE)
        for word, title, came in (
            ("decline", "Declined", "declined"),
            ("approve", "Approved", "applied"),
        ):
            sent = arguments | {"owner": word}
            link = find_link(await call_wipe(raw, arguments=sent))
            await tab.do("Page.navigate", url=link)
            await wait_for_text(tab, "button")
            assert await tab.look(
                "[...document.querySelectorAll('dd')].map(e=>e.innerText)"
            ) == [
                name,
                word,
                "[]",
                await tab.look("document.querySelectorAll('dd')[3].innerText"),
            ]
            assert (
                await tab.look("document.documentElement.scrollWidth") <= PHONE["width"]
            )
            assert await tab.look("getComputedStyle(document.body).maxWidth") == "672px"
            await tab.do(
                "Runtime.evaluate",
                expression=f"document.querySelector('[value={word}]').click()",
            )
            await wait_for_text(tab, "h1", title)
            assert outcome(await call_wipe(raw, arguments=sent)) == came
    assert [name] == DONE


async def wait_for_text(tab: Tab, what: str, text: str = "") -> None:
    """Wait until the page has an element with a text."""
    script = f"document.querySelector({what!r})?.innerText ?? null"
    last = anyio.current_time() + PATIENCE
    while anyio.current_time() < last:
        with suppress(RefusedCommandError):
            content = await tab.look(script)
            if content is not None and text in content:
                return
        await anyio.sleep(0.05)
    pytest.fail(
        f"{text or what} is not shown: {await tab.look('document.body.innerText')}"
    )

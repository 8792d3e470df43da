"""Looks at the page of a link, and presses its buttons."""

import re
from importlib import import_module
from typing import Any
from urllib.parse import urlsplit

import httpx2
from fastmcp import FastMCP

from engine.tests.engine_support.notes.server import PAGE, NotesSettings, notes_settings
from engine.tests.engine_support.raw import Message, Raw
from engine.tests.engine_support.targets import serving

page: Any = import_module("copier_fastmcp_engine.pages.pages")
PAGE_SETTINGS = notes_settings(PAGE)
CALL: Message = {"name": "wipe", "arguments": {"name": "a"}}


def serving_pages(
    seconds: float = 600, settings: NotesSettings = PAGE_SETTINGS
) -> FastMCP[Any]:
    """Return a server that asks on a page."""
    return serving(seconds, settings=settings)


async def call(raw: Raw, **more: Any) -> Message:
    """What the call of this file comes to."""
    return await raw.receive(await raw.send("tools/call", **(CALL | more)))


def text_of(message: Message) -> str:
    return str(message["result"]["content"][0]["text"])


def link_in(message: object) -> str:
    found = re.search(r"http://127\.0\.0\.1:\d+/confirm\?link=[\w-]+", str(message))
    assert found, message
    return found[0]


async def answer(
    browser: httpx2.AsyncClient, link: str, word: str = "approve", **wrong: Any
) -> int:
    """Look at the page of a link and press a button; `wrong` fields and headers are sent instead."""
    seen = await browser.get(link)
    if seen.status_code != 200:
        return seen.status_code
    sent = dict(re.findall(r'name="(\w+)" value="([^"]*)"', seen.text)) | {
        "answer": word
    }
    parts = urlsplit(link)
    headers = {"Origin": f"{parts.scheme}://{parts.netloc}"} | wrong.pop("headers", {})
    if wrong.pop("no_cookie", None):
        browser.cookies.clear()
    address = f"{parts.scheme}://{parts.netloc}{parts.path}"
    done = await browser.post(address, data=sent | wrong, headers=headers)
    return done.status_code

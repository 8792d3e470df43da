"""Open the page of a link, and press its buttons."""

import re
from importlib import import_module
from typing import Any
from urllib.parse import urlsplit

import httpx2
from fastmcp import FastMCP

from engine.tests.engine_support.notes.server import PAGE, NotesSettings, notes_settings
from engine.tests.engine_support.raw import Message, Raw
from engine.tests.engine_support.targets import make_target_server

page: Any = import_module("copier_fastmcp_engine.pages.pages")
PAGE_SETTINGS = notes_settings(PAGE)
CALL: Message = {"name": "wipe", "arguments": {"name": "a"}}


def make_page_server(
    seconds: float = 600, settings: NotesSettings = PAGE_SETTINGS
) -> FastMCP[Any]:
    """Return a server that asks on a page."""
    return make_target_server(seconds, settings=settings)


async def call_wipe(raw: Raw, **changes: Any) -> Message:
    """Return the response to CALL, with some changes."""
    return await raw.receive(await raw.send("tools/call", **(CALL | changes)))


def text_of(message: Message) -> str:
    return str(message["result"]["content"][0]["text"])


def find_link(message: object) -> str:
    link = re.search(r"http://127\.0\.0\.1:\d+/confirm\?link=[\w-]+", str(message))
    assert link, message
    return link[0]


async def answer_page(
    browser: httpx2.AsyncClient,
    link: str,
    word: str = "approve",
    **changes: Any,
) -> int:
    """Open the page of a link and press a button; return the HTTP status.

    Args:
        browser: The browser.
        link: The link to the page.
        word: The value of the button.
        changes: Fields of the form that are sent instead; also `headers`, and `no_cookie`.
    """
    page = await browser.get(link)
    if page.status_code != 200:
        return page.status_code
    fields = dict(re.findall(r'name="(\w+)" value="([^"]*)"', page.text))
    fields["answer"] = word
    parts = urlsplit(link)
    origin = f"{parts.scheme}://{parts.netloc}"
    headers = {"Origin": origin} | changes.pop("headers", {})
    if changes.pop("no_cookie", None):
        browser.cookies.clear()
    address = f"{origin}{parts.path}"
    response = await browser.post(address, data=fields | changes, headers=headers)
    return response.status_code

"""What each kind of client gets, path by path: over stdio and over HTTP, in both eras."""

import os
import re
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from importlib import import_module
from typing import Any
from urllib.parse import urlsplit

import httpx2
import pytest
from attacks.gate.attacked import DONE, serving
from attacks.http import http
from attacks.raw import LEGACY, MODERN
from fastmcp import Client
from fastmcp.client.elicitation import ElicitResult
from fastmcp.client.transports import (
    ClientTransport,
    StdioTransport,
    StreamableHttpTransport,
)
from forked import forking
from listening import PATIENCE
from notes_mcp.policy import POLICY

if (
    POLICY.confirm_fallback == "page"
):  # as if a person sat at this machine, whom nobody waits for long
    page = vars(import_module("copier_fastmcp_engine.pages.pages"))
    page.update(elsewhere=lambda: False, WAIT=0.6, PACE=0.02)


def over_stdio(_words: list[str]) -> None:
    """In a process of its own."""
    serving().run("stdio", show_banner=False)


# How the person answers a form (`-`: the client shows none), and the calls: `confirm` or not, a button of the page, and
# what each comes to, with who approved it.
FORMS = """
accepts  | accept  | call = applied person; call = applied person | a a
declines | decline | call = declined; call = declined             |
cancels  | cancel  | call = cancelled                             |
confirms | decline | confirm = declined                           |
"""
FALLBACKS = {
    "two_step": """
two-steps    | - | call = preview; confirm = applied client | a
out-of-order | - | confirm = error; confirm = error         |
twice        | - | call = preview; confirm = applied client; confirm = error | a
""",
    "refuse": """
refused | - | call = error; confirm = error |
""",
    "page": """
page-approved | - | call = waiting; approve; call = applied client; call = error | a
page-declined | - | call = waiting; decline; call = declined; confirm = declined |
page-waits    | - | call = waiting; confirm = waiting                            |
""",
}
PREVIEWS = """
previews-then-asks  | accept  | call = preview; call = preview; confirm = applied person | a
previews-then-no    | decline | call = preview; confirm = declined                        |
"""
TABLE = (PREVIEWS if POLICY.preview_first else FORMS) + FALLBACKS[
    POLICY.confirm_fallback
]
ROWS = [
    [cell.strip() for cell in line.split("|")] for line in TABLE.split("\n") if line
]


@pytest.fixture(scope="module", autouse=True)
def stdio() -> Iterator[list[str]]:
    """The words that start a server over stdio."""
    with forking(over_stdio) as words:
        yield words


@asynccontextmanager
async def transport(over: str, stdio: list[str]) -> AsyncIterator[ClientTransport]:
    """The way to a server with the tools that the attacks aim at."""
    if over == "stdio":
        environ = os.environ | {"NOTES_MCP_BROWSER": "never"}
        yield StdioTransport(stdio[0], stdio[1:], environ, keep_alive=False)
        return
    async with http(lambda base: serving()) as (base, _):
        yield StreamableHttpTransport(f"{base}/mcp")


async def press(link: str, word: str) -> None:
    """Decide on a page."""
    here = "{0.scheme}://{0.netloc}".format(urlsplit(link))
    async with httpx2.AsyncClient(timeout=PATIENCE) as browser:
        seen = await browser.get(link)
        fields = dict(re.findall(r'name="(\w+)" value="([^"]*)"', seen.text))
        sent = fields | {"answer": word}
        done = await browser.post(
            f"{here}/confirm", data=sent, headers={"Origin": here}
        )
        assert done.status_code == 200


@pytest.mark.anyio
@pytest.mark.parametrize("over", ["stdio", "http"])
@pytest.mark.parametrize("era", [LEGACY, MODERN])
@pytest.mark.parametrize(
    ("says", "calls", "done"), [pytest.param(*r[1:], id=r[0]) for r in ROWS]
)
async def test_path(
    says: str, calls: str, done: str, era: str, over: str, stdio: list[str]
) -> None:
    async def person(*asked: object) -> ElicitResult[dict[str, bool]]:
        action: Any = says
        return ElicitResult(
            action=action, content={"confirm": True} if says == "accept" else None
        )

    handler, came, link = None if says == "-" else person, [], ""
    async with (
        transport(over, stdio) as way,
        Client(way, mode=era, elicitation_handler=handler) as client,
    ):
        for step in calls.split(";"):
            word, _, expected = step.strip().partition(" = ")
            if not expected:
                await press(link, word)
                continue
            arguments = {"name": "a"} | ({"confirm": True} if word == "confirm" else {})
            result = await client.call_tool("zz_wipe", arguments, raise_on_error=False)
            content: dict[str, Any] = result.structured_content or {"outcome": "error"}
            assert content.get("confirmed", False) == (content["outcome"] == "applied")
            by = content.get("approved_by")
            came.append((" ".join(filter(None, (content["outcome"], by))), expected))
            link = "".join(re.findall(r"http://\S+?link=[\w-]+", str(content))[:1])
        wiped = (await client.call_tool("zz_done", {})).structured_content
    assert [found for found, _ in came] == [expected for _, expected in came]
    assert wiped == {"result": done.split()}
    DONE.clear()

"""The outcome of each call for each kind of client, over stdio and HTTP, in both eras, under each policy."""

import contextlib
import os
import re
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal
from urllib.parse import urlsplit

import httpx2
import pytest
from fastmcp import Client
from fastmcp.client.elicitation import ElicitResult
from fastmcp.client.transports import (
    ClientTransport,
    StdioTransport,
    StreamableHttpTransport,
)
from forked import forking
from listening import PATIENCE

from copier_fastmcp_engine.pages import pages
from copier_fastmcp_engine.policy import Policy
from engine.tests.engine_support.http_serving import serve_http
from engine.tests.engine_support.notes.server import (
    PAGE,
    PREVIEW_FIRST,
    REFUSE,
    TWO_STEP,
    notes_settings,
)
from engine.tests.engine_support.targets import DONE, make_target_server

Action = Literal["accept", "decline", "cancel"]
POLICIES = {
    "two-step": TWO_STEP,
    "refuse": REFUSE,
    "page": PAGE,
    "preview-first": PREVIEW_FIRST,
}


@dataclass(frozen=True)
class Call:
    """A call, and what it comes to."""

    outcome: str
    approved_by: str | None = None
    confirm: bool = False


@dataclass(frozen=True)
class Press:
    """A button that is pressed on the page of the last call."""

    button: Literal["approve", "decline"]


@dataclass(frozen=True)
class Path:
    """What one user does.

    Attributes:
        policy: The name of the server's policy.
        answer: What the user answers to a form; None where the client shows none.
        steps: The calls, and the buttons that are pressed between them.
        wiped: What is gone in the end.
    """

    policy: str
    answer: Action | None
    steps: tuple[Call | Press, ...]
    wiped: tuple[str, ...] = ()


APPLIED_BY_PERSON = Call("applied", "person")
REFUSED = Call("error")
WAITING = Call("waiting")
PREVIEWED = Call("preview")
CONFIRMED = Call("applied", "client", confirm=True)
CONFIRM_REFUSED = Call("error", confirm=True)
PATHS = {
    "accepts": Path(
        "two-step", "accept", (APPLIED_BY_PERSON, APPLIED_BY_PERSON), ("a", "a")
    ),
    "declines": Path("two-step", "decline", (Call("declined"), Call("declined"))),
    "cancels": Path("two-step", "cancel", (Call("cancelled"),)),
    "declines-a-confirm": Path(
        "two-step", "decline", (Call("declined", confirm=True),)
    ),
    "two-steps": Path("two-step", None, (PREVIEWED, CONFIRMED), ("a",)),
    "confirms-first": Path("two-step", None, (CONFIRM_REFUSED, CONFIRM_REFUSED)),
    "confirms-twice": Path(
        "two-step", None, (PREVIEWED, CONFIRMED, CONFIRM_REFUSED), ("a",)
    ),
    "is-refused": Path("refuse", None, (REFUSED, CONFIRM_REFUSED)),
    "accepts-where-others-are-refused": Path(
        "refuse", "accept", (APPLIED_BY_PERSON,), ("a",)
    ),
    "approves-on-the-page": Path(
        "page",
        None,
        (WAITING, Press("approve"), Call("applied", "client"), REFUSED),
        ("a",),
    ),
    "declines-on-the-page": Path(
        "page",
        None,
        (WAITING, Press("decline"), Call("declined"), Call("declined", confirm=True)),
    ),
    "leaves-the-page": Path("page", None, (WAITING, Call("waiting", confirm=True))),
    "previews-then-accepts": Path(
        "preview-first",
        "accept",
        (PREVIEWED, PREVIEWED, Call("applied", "person", confirm=True)),
        ("a",),
    ),
    "previews-then-declines": Path(
        "preview-first", "decline", (PREVIEWED, Call("declined", confirm=True))
    ),
}


def let_pages_be_seen() -> None:
    """Serve pages as where a user sits at this machine, whom nobody waits for long."""
    vars(pages).update(elsewhere=lambda: False, WAIT=0.6, PACE=0.02)


def serve_stdio(policy: Policy, _words: list[str]) -> None:
    """Serve over stdio, in a process of its own, which is a copy of one where other tests have run."""
    DONE.clear()
    let_pages_be_seen()
    server = make_target_server(settings=notes_settings(policy, browser="never"))
    server.run("stdio", show_banner=False)


@pytest.fixture(scope="module")
def programs() -> Iterator[dict[str, list[str]]]:
    """The command of a server over stdio, for each policy."""
    with contextlib.ExitStack() as stack:
        commands = {}
        for name, policy in POLICIES.items():
            serve = partial(serve_stdio, policy)
            commands[name] = stack.enter_context(forking(serve))
        yield commands


@contextlib.asynccontextmanager
async def transport(
    over: str, policy: str, programs: dict[str, list[str]]
) -> AsyncIterator[ClientTransport]:
    """The transport to a server under a policy."""
    if over == "stdio":
        program, *words = programs[policy]
        yield StdioTransport(program, words, dict(os.environ), keep_alive=False)
        return
    settings = notes_settings(POLICIES[policy], browser="never")
    async with serve_http(lambda base: make_target_server(settings=settings)) as (
        base,
        _,
    ):
        yield StreamableHttpTransport(f"{base}/mcp")


async def press(link: str, button: str) -> None:
    """Press a button of a page."""
    parts = urlsplit(link)
    origin = f"{parts.scheme}://{parts.netloc}"
    async with httpx2.AsyncClient(timeout=PATIENCE) as browser:
        page = await browser.get(link)
        fields = dict(re.findall(r'name="(\w+)" value="([^"]*)"', page.text))
        response = await browser.post(
            f"{origin}/confirm",
            data={**fields, "answer": button},
            headers={"Origin": origin},
        )
        assert response.status_code == 200


@pytest.mark.anyio
@pytest.mark.parametrize("over", ["stdio", "http"])
@pytest.mark.parametrize("name", PATHS)
async def test_each_path_of_a_client(
    name: str,
    era: str,
    over: str,
    programs: dict[str, list[str]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    path = PATHS[name]
    monkeypatch.setattr(pages, "elsewhere", lambda: False)
    monkeypatch.setattr(pages, "WAIT", 0.6)
    monkeypatch.setattr(pages, "PACE", 0.02)

    async def answer(*_: object) -> ElicitResult[Any]:
        content = {"confirm": True} if path.answer == "accept" else None
        return ElicitResult(action=path.answer or "cancel", content=content)

    handler = answer if path.answer else None
    link = ""
    async with (
        transport(over, path.policy, programs) as connection,
        Client(connection, mode=era, elicitation_handler=handler) as client,
    ):
        for step in path.steps:
            if isinstance(step, Press):
                await press(link, step.button)
                continue
            arguments: dict[str, object] = {"name": "a"}
            if step.confirm:
                arguments["confirm"] = True
            result = await client.call_tool("wipe", arguments, raise_on_error=False)
            content = result.structured_content or {"outcome": "error"}
            assert content["outcome"] == step.outcome
            assert content.get("approved_by") == step.approved_by
            assert content.get("confirmed", False) == (step.outcome == "applied")
            if address := re.search(r"http://\S+?link=[\w-]+", str(content)):
                link = address[0]
        wiped = (await client.call_tool("list_wiped", {})).structured_content
    assert wiped == {"result": list(path.wiped)}

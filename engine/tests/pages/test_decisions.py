"""What a decision on a page leaves behind: its line of the log, and no mark of a run that failed."""

import json
import logging

import httpx2
import pytest

from engine.tests.engine_support.paging import (
    answer_page,
    call_wipe,
    find_link,
    make_page_server,
    text_of,
)
from engine.tests.engine_support.raw import LEGACY, Message, Raw, connect, outcome
from engine.tests.engine_support.targets import DONE

LINKS: Message = {"elicitation": {"url": {}}}
pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("here")]


@pytest.fixture
def log(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> pytest.LogCaptureFixture:
    """The log of this server, as it starts."""
    monkeypatch.setattr(logging.getLogger("fastmcp"), "propagate", True)
    caplog.set_level("INFO")
    return caplog


def decisions_of(log: pytest.LogCaptureFixture) -> list[list[str | None]]:
    """Return the way, the outcome and the approver of each decision in a log."""
    decisions = []
    for record in log.records:
        if '"event": "confirmation"' in record.getMessage():
            line = json.loads(record.getMessage())
            decisions.append([line["way"], line["outcome"], line["approved_by"]])
    return decisions


async def approve_while_it_waits(
    raw: Raw, browser: httpx2.AsyncClient, **arguments: str
) -> Message:
    """Return the response to a call whose page is approved before the response."""
    number = await raw.send("tools/call", name="wipe", arguments=arguments)
    await raw.next()
    assert await answer_page(browser, raw.asked[-1]["params"]["url"]) == 200
    return await raw.receive(number)


async def test_a_decision_on_a_page_is_logged_as_that_of_the_client(
    browser: httpx2.AsyncClient, log: pytest.LogCaptureFixture, era: str
) -> None:
    async with connect(make_page_server(), era, can={}) as raw:
        link = find_link(await call_wipe(raw))
        assert await answer_page(browser, link) == 200
        assert outcome(await call_wipe(raw)) == "applied"
    assert decisions_of(log) == [
        ["page", "waiting", None],
        ["page", "confirmed", "client"],
    ]


async def test_a_decision_during_the_call_is_logged_as_that_of_a_person(
    browser: httpx2.AsyncClient, log: pytest.LogCaptureFixture
) -> None:
    async with connect(
        make_page_server(), LEGACY, {"action": "accept"}, can=LINKS
    ) as raw:
        message = await approve_while_it_waits(raw, browser, name="a")
    assert outcome(message) == "applied"
    assert decisions_of(log) == [["page", "confirmed", "person"]]


async def test_a_question_of_a_body_that_waits_is_logged(
    log: pytest.LogCaptureFixture, era: str
) -> None:
    async with connect(make_page_server(), era, can={}) as raw:
        await call_wipe(raw, name="wipe_each", arguments={"names": []})
    assert decisions_of(log) == [["page", "waiting", None]]


async def test_an_approval_on_a_page_counts_after_a_part_was_applied(
    browser: httpx2.AsyncClient, era: str
) -> None:
    """In the body of another tool, where a question without an answer refuses the rest."""
    names = ["a", "b"]
    async with connect(make_page_server(), era, can={}) as raw:
        for name in names:
            link = find_link(await call_wipe(raw, arguments={"name": name}))
            assert await answer_page(browser, link) == 200
        await call_wipe(raw, name="wipe_each", arguments={"names": names})
    assert names == DONE


async def test_a_run_that_fails_after_a_decision_during_the_call_is_asked_for_again(
    browser: httpx2.AsyncClient,
) -> None:
    async with connect(
        make_page_server(), LEGACY, {"action": "accept"}, can=LINKS
    ) as raw:
        for _ in range(2):
            message = await approve_while_it_waits(raw, browser, name="fails")
            assert text_of(message) == "it would not go"

"""A link or state that is guessed, replayed, expired or another user's grants nothing."""

import anyio
import httpx2
import pytest
from fastmcp import FastMCP
from listening import PATIENCE

from copier_fastmcp_engine.pages import listener
from engine.tests.engine_support.granting import (
    COMPLETE,
    FAILED,
    STALE,
    TOKEN,
    YES,
    assert_no_grant,
    begin_call,
    change_parameters,
    expire_link,
    flow,
    make_cloud_server,
    text_of,
)
from engine.tests.engine_support.provider import Browser, Provider, heading
from engine.tests.engine_support.raw import LEGACY, MODERN

pytestmark = pytest.mark.anyio


async def test_a_replayed_answer_is_worth_nothing(
    provider: Provider, server: FastMCP, browser: Browser
) -> None:
    async with begin_call(server, MODERN) as call:
        back = await browser.log_in(call.link, "ann")
        assert heading(await browser.get(back)) == COMPLETE
        count = provider.asked.count(TOKEN)
        assert heading(await browser.get(back)) == STALE
        assert heading(await browser.get(call.link)) == STALE
        assert provider.asked.count(TOKEN) == count


async def test_a_link_that_was_opened_twice_works_once(
    server: FastMCP, browser: Browser
) -> None:
    async with begin_call(server, MODERN) as call:
        second_browser = Browser()
        first = await browser.log_in(call.link, "ann")
        second = await second_browser.log_in(call.link, "ann")
        assert heading(await second_browser.get(second)) == COMPLETE
        assert heading(await browser.get(first)) == STALE


async def test_an_expired_link_is_worth_nothing(
    provider: Provider, server: FastMCP, browser: Browser
) -> None:
    async with begin_call(server, MODERN) as call:
        back = await browser.log_in(call.link, "ann")
        await expire_link(server, call.link)
        assert heading(await browser.get(back)) == STALE
        assert heading(await browser.get(call.link)) == STALE
        assert TOKEN not in provider.asked
        await assert_no_grant(server)


@pytest.mark.parametrize("link", ["", "guess", "x" * 5000, "../../etc", "' OR 1=1 --"])
async def test_a_guessed_link_or_state_is_worth_nothing(
    provider: Provider, server: FastMCP, browser: Browser, link: str
) -> None:
    async with begin_call(server, MODERN) as call:
        guess = change_parameters(call.link, elicitationId=link)
        assert heading(await browser.get(guess)) == STALE
        back = change_parameters(
            call.link.split("/oauth/")[0] + "/oauth/callback",
            state=link,
            code="c",
        )
        assert heading(await browser.get(back)) == STALE
        assert provider.asked == []


async def test_the_link_of_another_user_is_unknown(
    server: FastMCP, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    async with begin_call(server, MODERN) as call:
        link = httpx2.URL(call.link).params["elicitationId"]
    watched = {"tool": "check_provisioning_status", "elicitation_id": link}
    async with begin_call(server, MODERN, caller="bob", **watched) as call:
        assert text_of(call.message) == f"Unknown elicitation ID: {link}"
    (line,) = [text for text in caplog.messages if "another user's" in text]
    assert link not in line
    async with begin_call(server, MODERN, caller="ann", **watched) as call:
        assert call.message["result"]["structuredContent"]["status"] == "pending"


async def test_the_answer_of_another_user_is_refused(server: FastMCP) -> None:
    async with (
        begin_call(server, MODERN) as ann,
        begin_call(server, MODERN, caller="bob") as bob,
    ):
        bob.message = ann.message
        refused = await bob.go_on(YES)
        assert "error" in refused
        await assert_no_grant(server)


async def test_two_callbacks_at_once_grant_once(
    provider: Provider, server: FastMCP, browser: Browser
) -> None:
    async with begin_call(server, MODERN) as call:
        back = await browser.log_in(call.link, "ann")
        pages: list[str] = []

        async def visit() -> None:
            pages.append(heading(await browser.get(back)))

        async with anyio.create_task_group() as tasks:
            for _ in range(8):
                tasks.start_soon(visit)
        assert sorted(pages) == [COMPLETE, *[STALE] * 7]
        assert provider.asked.count(TOKEN) == 1


async def test_two_states_of_one_link_grant_once(
    provider: Provider, server: FastMCP, browser: Browser
) -> None:
    async with begin_call(server, MODERN) as call:
        second_browser = Browser()
        first = await browser.log_in(call.link, "ann")
        second = await second_browser.log_in(call.link, "ann")
        pages: list[str] = []

        async def visit(visitor: Browser, address: str) -> None:
            pages.append(heading(await visitor.get(address)))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(visit, browser, first)
            tasks.start_soon(visit, second_browser, second)
        assert sorted(pages) == [COMPLETE, STALE]
        assert provider.asked.count(TOKEN) == 1


async def test_starting_is_limited(provider: Provider) -> None:
    server = make_cloud_server(provider, elicitation_timeout_seconds=0.05)
    for _ in range(10):
        async with begin_call(server, MODERN) as call:
            assert "inputRequests" in call.message["result"]
        await anyio.sleep(0.05)
    async with begin_call(server, MODERN) as call:
        minutes = f"{flow.WITHIN // 60} minutes"
        assert text_of(call.message) == (
            f"too many logins were started; try again in {minutes}"
        )
    async with begin_call(server, MODERN, caller="bob") as call:
        assert "inputRequests" in call.message["result"]


async def test_opening_one_link_is_limited(server: FastMCP, browser: Browser) -> None:
    async with begin_call(server, MODERN) as call:
        statuses = []
        for _ in range(12):
            response = await browser.get(call.link)
            statuses.append(response.status_code)
    assert statuses == [302] * 10 + [400] * 2


async def test_many_calls_at_once_start_one_login(server: FastMCP) -> None:
    links = set()

    async def ask() -> None:
        async with begin_call(server, LEGACY, "none") as call:
            links.add(call.link)

    async with anyio.create_task_group() as tasks:
        for _ in range(16):
            tasks.start_soon(ask)
    assert len(links) == 1


async def test_openings_at_once_are_limited_as_one_after_another_are(
    server: FastMCP,
) -> None:
    pages: list[int] = []

    async def visit(link: str) -> None:
        pages.append((await Browser().get(link)).status_code)

    async with begin_call(server, MODERN) as call, anyio.create_task_group() as tasks:
        for _ in range(16):
            tasks.start_soon(visit, call.link)
        while len(pages) < 16:
            await anyio.sleep(0.01)
    assert sorted(pages) == [302] * 10 + [400] * 6


@pytest.mark.parametrize("servers", [1, 2], ids=["two tabs", "two servers"])
async def test_a_second_login_in_the_same_browser_does_not_break_the_first(
    provider: Provider, browser: Browser, servers: int
) -> None:
    first_server = second_server = make_cloud_server(provider)
    if servers == 2:
        second_server = make_cloud_server(provider)
    async with (
        begin_call(first_server, MODERN) as call,
        begin_call(second_server, MODERN) as later,
    ):
        back = await browser.log_in(call.link, "ann")
        second = await browser.log_in(later.link, "ann")
        assert heading(await browser.get(back)) == COMPLETE
        if servers == 2:
            assert heading(await browser.get(second)) == COMPLETE


@pytest.mark.parametrize("user", ["ann", "bob"])
async def test_a_login_that_is_over_leaves_nothing_open(
    provider: Provider, browser: Browser, monkeypatch: pytest.MonkeyPatch, user: str
) -> None:
    """Neither the listener, nor a session that waits to be notified."""
    monkeypatch.setattr(listener, "GRACE", 0.1)
    server = make_cloud_server(provider)
    consent = flow.consent_of(server)
    async with begin_call(server, LEGACY, caller="") as call:
        back = await browser.log_in(call.link, user)
        if user == "bob":
            back = str(httpx2.URL(back).copy_remove_param("code"))
        expected = COMPLETE if user == "ann" else FAILED
        assert heading(await browser.get(back)) == expected
        assert not consent._waiting
        assert consent.listener._task
        with anyio.fail_after(PATIENCE):
            await consent.listener._task

"""Simultaneous renewals, revocations and logins do not overwrite each other."""

import contextlib
import time
from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import anyio
import pytest
from fastmcp import FastMCP

from copier_fastmcp_engine.consent import rows
from copier_fastmcp_engine.consent import store as consent_store
from copier_fastmcp_engine.consent.rows import SqliteRows
from engine.tests.engine_support.granting import (
    COMPLETE,
    FAILED,
    NO_REDIS,
    REQUIRED,
    SECRET,
    TOKEN,
    Grant,
    assert_no_grant,
    begin_call,
    close_stores,
    flow,
    load_grant,
    make_cloud_server,
    redis,
    text_of,
)
from engine.tests.engine_support.provider import Browser, Provider, heading
from engine.tests.engine_support.raw import LEGACY, Message, connect, user

pytestmark = pytest.mark.anyio
ANN = consent_store.User("user:ann", "ann")
STORES = ["one server", "one file", pytest.param("one Redis", marks=NO_REDIS)]


@contextlib.asynccontextmanager
async def make_replicas(
    provider: Provider, store: str, folder: Path
) -> AsyncIterator[list[FastMCP]]:
    """Yield two servers that share their grants, or one server twice."""
    if store == "one server":
        yield [make_cloud_server(provider)] * 2
    elif store == "one file":
        shared: dict[str, Any] = {
            "consent_database": str(folder / "c.db"),
            "secret_keys": SECRET,
        }
        yield [make_cloud_server(provider, **shared) for _ in range(2)]
    else:
        pytest.importorskip("redis")
        with redis(folder) as address:
            shared = {"state": address, "secret_keys": SECRET, "state_keys": [SECRET]}
            servers = [make_cloud_server(provider, **shared) for _ in range(2)]
            yield servers
            for server in servers:
                await close_stores(server)


async def look(server: FastMCP, answers: list[Message]) -> None:
    """Call a tool with a client that cannot show a link; add the response to `answers`."""
    with user("ann"):
        async with connect(server, LEGACY, can={}) as raw:
            number = await raw.send("tools/call", name="zz_look", arguments={})
            answers.append(await raw.receive(number))


async def grant_access(server: FastMCP, browser: Browser) -> None:
    """Let Ann grant access."""
    async with begin_call(server, LEGACY, "none") as call:
        assert await browser.walk(call.link, "ann") == COMPLETE


async def expire_token(server: FastMCP) -> None:
    """Let the access token of Ann's grant expire."""
    grant = await load_grant(server, "ann")
    await flow.consent_of(server).keep(ANN, grant.model_copy(update={"expires_at": 1}))


def count_grants(server: FastMCP) -> int:
    """Return how many grants are stored in SQLite, whether or not a name leads to them."""
    stored: Any = flow.consent_of(server).store._rows
    if not isinstance(stored, SqliteRows):
        return 0
    found, _ = stored._run("SELECT * FROM rows WHERE collection = 'consent-grants'")
    return len(found)


@pytest.mark.parametrize("store", STORES)
async def test_ten_racing_renewals_use_each_refresh_token_once(
    provider: Provider, browser: Browser, tmp_path: Path, store: str
) -> None:
    provider.wrong["rotates"] = True
    async with make_replicas(provider, store, tmp_path) as servers:
        await grant_access(servers[0], browser)
        for _ in range(4):
            await expire_token(servers[0])
            before, answers = provider.asked.count(TOKEN), list[Message]()
            async with anyio.create_task_group() as tasks:
                for server in servers * 5:
                    tasks.start_soon(look, server, answers)
            assert provider.asked.count(TOKEN) == before + 1
            assert -1 not in provider.families.values()
            newest = (await load_grant(servers[1], "ann")).access_token
            assert len(answers) == 10
            for answer in answers:
                assert answer["result"]["structuredContent"] == {"token": newest}


@pytest.mark.parametrize("store", STORES)
async def test_a_revocation_during_a_renewal_stays(
    provider: Provider, browser: Browser, tmp_path: Path, store: str
) -> None:
    async with make_replicas(provider, store, tmp_path) as servers:
        await grant_access(servers[0], browser)
        await expire_token(servers[0])
        others = max(count_grants(servers[0]) - 1, 0)
        answers: list[Message] = []
        held = provider.hold()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(look, servers[0], answers)
            while provider.asked.count(TOKEN) < 2:
                await anyio.sleep(0.01)
            assert await flow.consent_of(servers[1]).revoke(ANN) == (True, True)
            held.set()
        assert text_of(answers[0]).startswith(REQUIRED)
        await assert_no_grant(servers[0])
        assert count_grants(servers[0]) == others
        assert set(provider.tokens) == set(provider.revoked)


@pytest.mark.parametrize("store", STORES)
async def test_a_revocation_during_a_login_stays(
    provider: Provider, browser: Browser, tmp_path: Path, store: str
) -> None:
    async with (
        make_replicas(provider, store, tmp_path) as servers,
        begin_call(servers[0], LEGACY, "none") as call,
    ):
        back = await browser.log_in(call.link, "ann")
        held = provider.hold()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(browser.get, back)
            while TOKEN not in provider.asked:
                await anyio.sleep(0.01)
            await flow.consent_of(servers[1]).revoke(ANN)
            held.set()
        assert heading(browser.seen[-1]) == FAILED
        await assert_no_grant(servers[0])
        assert count_grants(servers[0]) == 0
        assert set(provider.tokens) == set(provider.revoked) != set()


async def test_a_new_grant_after_a_revocation_counts(
    provider: Provider, server: FastMCP, browser: Browser
) -> None:
    for _ in range(2):
        await grant_access(server, browser)
        await flow.consent_of(server).revoke(ANN)
    await grant_access(server, browser)
    assert (await load_grant(server, "ann")).access_token == provider.tokens[-2]


@pytest.mark.parametrize("seconds", [600, -1], ids=["usable", "over"])
async def test_a_login_during_a_renewal_is_not_overwritten(
    provider: Provider, server: FastMCP, browser: Browser, seconds: float
) -> None:
    await grant_access(server, browser)
    newer = (await load_grant(server, "ann")).model_copy(
        update={"access_token": "newer", "expires_at": time.time() + seconds}
    )
    await expire_token(server)
    answers, held = list[Message](), provider.hold()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(look, server, answers)
        while provider.asked.count(TOKEN) < 2:
            await anyio.sleep(0.01)
        await flow.consent_of(server).keep(ANN, newer)
        held.set()
    assert (await load_grant(server, "ann")).access_token == "newer"
    assert provider.revoked == []
    if seconds > 0:
        assert answers[0]["result"]["structuredContent"] == {"token": "newer"}
    else:
        assert text_of(answers[0]).startswith(REQUIRED)


async def test_a_login_from_before_a_revocation_does_not_end_a_newer_one(
    server: FastMCP, monkeypatch: pytest.MonkeyPatch
) -> None:
    consent = flow.consent_of(server)
    await consent.revoke(ANN)
    grant = Grant(subject="ann", access_token="newer", expires_at=10**10, granted_at=0)
    load_mark = consent.mark
    mark = await load_mark(ANN)

    async def mark_after_a_login(user: consent_store.User) -> str | None:
        monkeypatch.setattr(consent, "mark", load_mark)
        assert await consent.keep(ANN, grant, mark)
        return mark

    monkeypatch.setattr(consent, "mark", mark_after_a_login)
    older = grant.model_copy(update={"access_token": "older"})
    assert not await consent.keep(ANN, older, "a mark from before")
    assert (await load_grant(server, "ann")).access_token == "newer"


async def test_a_login_from_before_a_revocation_leaves_a_newer_one_as_it_was(
    server: FastMCP,
) -> None:
    consent = flow.consent_of(server)
    await consent.revoke(ANN)
    grant = Grant(subject="ann", access_token="newer", expires_at=10**10, granted_at=0)
    assert await consent.keep(ANN, grant, await consent.mark(ANN))
    older = grant.model_copy(update={"access_token": "older"})
    assert not await consent.keep(ANN, older, "a mark from before")
    assert (await load_grant(server, "ann")).access_token == "newer"


@pytest.mark.parametrize("ends", ["in a login", "in a revocation"])
async def test_a_grant_that_goes_while_it_is_read_is_looked_for_again(
    server: FastMCP, monkeypatch: pytest.MonkeyPatch, ends: str
) -> None:
    consent = flow.consent_of(server)
    grant = Grant(subject="ann", access_token="older", expires_at=10**10, granted_at=0)
    newer = grant.model_copy(update={"access_token": "newer"})
    await consent.keep(ANN, grant)
    load_name = consent._load_name

    async def load_name_before_the_end(user: consent_store.User) -> str | None:
        monkeypatch.setattr(consent, "_load_name", load_name)
        name = await load_name(user)
        if ends == "in a login":
            assert await consent.keep(ANN, newer)
        else:
            await consent.revoke(ANN)
        return name

    monkeypatch.setattr(consent, "_load_name", load_name_before_the_end)
    expected = newer.access_token if ends == "in a login" else None
    found = await load_grant(server, "ann")
    assert (found and found.access_token) == expected


async def test_a_grant_covers_the_scopes_that_were_asked_for(server: FastMCP) -> None:
    consent = flow.consent_of(server)
    grant = Grant(subject="ann", access_token="t", expires_at=10**10, granted_at=0)
    await consent.keep(ANN, grant.model_copy(update={"asked": "openid"}))
    assert await load_grant(server, "ann") is None
    await consent.keep(ANN, grant)
    assert await load_grant(server, "ann") is not None


@pytest.mark.parametrize("refresh_token", ["r", None])
async def test_a_grant_that_can_be_renewed_outlives_its_access_token(
    server: FastMCP, monkeypatch: pytest.MonkeyPatch, refresh_token: str | None
) -> None:
    consent = flow.consent_of(server)
    now = time.time()
    grant = Grant(subject="ann", access_token="t", expires_at=now + 60, granted_at=now)
    await consent.keep(ANN, grant.model_copy(update={"refresh_token": refresh_token}))
    monkeypatch.setattr(rows, "time", SimpleNamespace(time=lambda: now + 90))
    stored = await load_grant(server, "ann")
    assert (stored is not None) == (refresh_token is not None)


async def test_a_token_that_can_be_used_is_not_waited_for(server: FastMCP) -> None:
    consent = flow.consent_of(server)
    grant = Grant(subject="ann", access_token="t", expires_at=10**10, granted_at=0)
    await consent.keep(ANN, grant)
    name = str(await consent._load_name(ANN))
    with anyio.fail_after(5):
        async with consent.store.turn(name):
            assert await consent.fresh(ANN) == await load_grant(server, "ann")


async def test_a_grant_that_was_renewed_elsewhere_outlives_a_refusal(
    provider: Provider, server: FastMCP, browser: Browser
) -> None:
    """As where a replica was stopped for longer than its turn."""
    await grant_access(server, browser)
    consent = flow.consent_of(server)
    newer = (await load_grant(server, "ann")).model_copy(
        update={"access_token": "newer"}
    )
    await expire_token(server)
    name = str(await consent._load_name(ANN))
    answers, held = list[Message](), provider.hold()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(look, server, answers)
        while provider.asked.count(TOKEN) < 2:
            await anyio.sleep(0.01)
        await consent._write(name, newer)
        provider.wrong["refuses"] = "invalid_grant"
        held.set()
    assert answers[0]["result"]["structuredContent"] == {"token": "newer"}


async def test_a_revocation_ends_the_link_that_is_open(
    server: FastMCP, browser: Browser
) -> None:
    links = []
    for _ in range(2):
        async with begin_call(server, LEGACY, "none") as call:
            links.append(call.link)
        assert await flow.consent_of(server).revoke(ANN) == (False, False)
    assert links[0] != links[1]


async def test_a_grant_that_has_ended_is_not_revoked(
    provider: Provider, server: FastMCP, browser: Browser
) -> None:
    await grant_access(server, browser)
    consent = flow.consent_of(server)
    await consent.store.drop("grants", str(await consent._load_name(ANN)))
    assert await consent.revoke(ANN) == (False, False)
    assert provider.revoked == []


async def test_a_caller_that_leaves_tears_no_renewal_up(
    provider: Provider, server: FastMCP, browser: Browser
) -> None:
    provider.wrong["rotates"] = True
    await grant_access(server, browser)
    await expire_token(server)
    held = provider.hold()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(flow.consent_of(server).fresh, ANN)
        while provider.asked.count(TOKEN) < 2:
            await anyio.sleep(0.01)
        tasks.cancel_scope.cancel()
        held.set()
    answers: list[Message] = []
    await look(server, answers)
    assert "structuredContent" in answers[0]["result"]


async def test_each_of_two_calls_whose_renewal_is_refused_asks_again(
    provider: Provider, server: FastMCP, browser: Browser
) -> None:
    await grant_access(server, browser)
    await expire_token(server)
    provider.wrong["refuses"] = "invalid_grant"
    answers, held = list[Message](), provider.hold()
    async with anyio.create_task_group() as tasks:
        for _ in range(2):
            tasks.start_soon(look, server, answers)
        while provider.asked.count(TOKEN) < 2:
            await anyio.sleep(0.01)
        await anyio.sleep(0.1)  # the other one waits for its turn
        held.set()
    for answer in answers:
        assert text_of(answer).startswith(REQUIRED)


async def test_a_renewal_that_died_blocks_only_until_its_turn_ends(
    provider: Provider,
    server: FastMCP,
    browser: Browser,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    await grant_access(server, browser)
    await expire_token(server)
    consent, answers = flow.consent_of(server), list[Message]()
    name = str(await consent._load_name(ANN))
    assert await consent.store.add("turns", name, 600)
    monkeypatch.setattr(consent_store, "TURN", 0.1)
    await look(server, answers)
    assert text_of(answers[0]).endswith("still running; try again later")
    await consent.store.put("turns", name, {}, 0.1)  # the time of who died is over
    monkeypatch.setattr(consent_store, "TURN", 30)
    await look(server, answers)
    assert "structuredContent" in answers[1]["result"]

"""Stored grants: renewed, withdrawn, shared by replicas, encrypted, never logged."""

import contextlib
import json
import logging
import sqlite3
import stat
import time
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from fastmcp import FastMCP
from fastmcp.exceptions import ToolError

from copier_fastmcp_engine.consent.routes import cookie
from engine.tests.consent.conftest import MOSTLY_ONE_POLICY
from engine.tests.engine_support.granting import (
    COMPLETE,
    FAILED,
    NO_REDIS,
    OURS,
    REQUIRED,
    SECRET,
    assert_no_grant,
    begin_call,
    close_stores,
    collect_secrets,
    flow,
    load_grant,
    make_cloud_server,
    redis,
    text_of,
)
from engine.tests.engine_support.provider import Browser, Provider, heading, serve_http
from engine.tests.engine_support.raw import LEGACY, MODERN

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.parametrize("policy", MOSTLY_ONE_POLICY, indirect=True),
    pytest.mark.usefixtures("policy"),
]


async def test_a_token_is_renewed_when_it_ends_and_asked_for_when_it_is_withdrawn(
    provider: Provider, browser: Browser
) -> None:
    provider.wrong["token"] = {"expires_in": 1}
    server = make_cloud_server(provider)
    async with begin_call(server, LEGACY, "none") as call:
        assert await browser.walk(call.link, "ann") == COMPLETE
        first = (await call.go_on())["result"]["structuredContent"]["token"]
        assert first not in provider.tokens[:1]
        assert first in provider.tokens
        provider.wrong["down"] = ["/oauth2/token"]
        assert (
            text_of(await call.go_on())
            == "the provider cannot be reached; try again later"
        )
        assert await load_grant(server, "ann") is not None
        provider.wrong.clear()
        async with httpx2.AsyncClient() as client:
            await client.post(f"{provider.issuer}/users/ann/revoke-tokens")
        assert text_of(await call.go_on()).startswith(REQUIRED)
        assert await load_grant(server, "ann") is None


async def test_many_calls_at_once_renew_a_token_once(
    provider: Provider, browser: Browser
) -> None:
    provider.wrong["token"] = {"expires_in": 1}
    server = make_cloud_server(provider)
    async with begin_call(server, LEGACY, "none") as call:
        assert await browser.walk(call.link, "ann") == COMPLETE
        provider.wrong.clear()
        before = provider.asked.count("/oauth2/token")
        numbers = []
        for _ in range(10):
            numbers.append(await call.raw.send("tools/call", **call.whole))
        texts = set()
        for number in numbers:
            texts.add(text_of(await call.raw.receive(number)))
        assert len(texts) == 1
        assert provider.asked.count("/oauth2/token") == before + 1


async def test_without_a_refresh_token_a_grant_ends_with_its_access_token(
    provider: Provider, browser: Browser
) -> None:
    provider.wrong |= {"token": {"expires_in": 2}, "without": ["refresh_token"]}
    server = make_cloud_server(provider)
    async with begin_call(server, LEGACY, "none") as call:
        assert await browser.walk(call.link, "ann") == COMPLETE
        ends = (await load_grant(server, "ann")).expires_at
        await anyio.sleep(max(0, ends - time.time()) + 0.1)
        assert text_of(await call.go_on()).startswith(REQUIRED)
        assert await load_grant(server, "ann") is None


async def test_a_grant_outlives_the_server(
    provider: Provider, browser: Browser, tmp_path: Path
) -> None:
    stored = {"consent_database": str(tmp_path / "c.db"), "secret_keys": SECRET}
    async with begin_call(
        make_cloud_server(provider, **stored), LEGACY, "none"
    ) as call:
        assert await browser.walk(call.link, "ann") == COMPLETE
    newer = stored | {"secret_keys": f"{'n' * 32}, {SECRET}"}
    async with begin_call(make_cloud_server(provider, **newer), LEGACY, "none") as call:
        assert "structuredContent" in call.message["result"]
    lost = stored | {"secret_keys": "x" * 32}
    async with begin_call(make_cloud_server(provider, **lost), LEGACY, "none") as call:
        assert text_of(call.message).startswith(REQUIRED)


@NO_REDIS
async def test_replicas_share_links_and_grants(
    provider: Provider, browser: Browser, tmp_path: Path
) -> None:
    pytest.importorskip("redis")
    with redis(tmp_path) as address:
        shared = {"state": address, "secret_keys": SECRET, "state_keys": [SECRET]}
        first = make_cloud_server(provider, **shared)
        second = make_cloud_server(provider, **shared)
        async with begin_call(first, MODERN) as call:
            link = httpx2.URL(call.link).params["elicitationId"]
            login = await flow.consent_of(second).start(link)
            cookies = {cookie(login.state): login.secret}
            response = await browser.get(login.address, sub="ann")
            callback = httpx2.URL(response.headers["location"])
            await flow.consent_of(first).finish(dict(callback.params), cookies)
            with pytest.raises(Exception, match="already used"):
                await flow.consent_of(second).finish(dict(callback.params), cookies)
        async with begin_call(second, LEGACY) as call:
            token = (await load_grant(first, "ann")).access_token
            assert call.message["result"]["structuredContent"] == {"token": token}
        for server in (first, second):
            await close_stores(server)


async def test_a_locked_store_grants_nothing_and_shows_nothing(
    provider: Provider,
    browser: Browser,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("copier_fastmcp_engine.consent.rows.LOCKED", 0.1)
    path = tmp_path / "c.db"
    server = make_cloud_server(provider, consent_database=str(path), secret_keys=SECRET)
    async with begin_call(server, LEGACY, "none") as call:
        back = await browser.log_in(call.link, "ann")
        connection = sqlite3.connect(path, isolation_level=None)
        connection.execute("BEGIN EXCLUSIVE")
        page = await browser.get(back)
        assert (heading(page), page.status_code) == (FAILED, 503)
        assert text_of(await call.go_on()).startswith(
            "grants cannot be read at the moment"
        )
        connection.execute("ROLLBACK")
        connection.close()
        await assert_no_grant(server)


async def test_tokens_that_cannot_be_kept_are_revoked(
    provider: Provider,
    server: FastMCP,
    browser: Browser,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    store: Any = flow.consent_of(server).store
    real = store.put

    async def put(collection: str, *row: Any) -> None:
        if collection == "grants":
            raise ToolError("locked")
        await real(collection, *row)

    monkeypatch.setattr(store, "put", put)
    async with begin_call(server, MODERN) as call:
        back = await browser.log_in(call.link, "ann")
        assert (await browser.get(back)).status_code == 503
        assert sorted(provider.revoked) == sorted(provider.tokens) != []
        await assert_no_grant(server)


async def test_the_database_file_contains_no_secret(
    provider: Provider, browser: Browser, tmp_path: Path
) -> None:
    path = tmp_path / "deep" / "c.db"
    server = make_cloud_server(provider, consent_database=str(path), secret_keys=SECRET)
    async with begin_call(server, MODERN) as call:
        link = httpx2.URL(call.link).params["elicitationId"]
        assert link.encode() not in path.read_bytes()
        assert await browser.walk(call.link, "ann") == COMPLETE
    content = path.read_bytes()
    for secret in [*provider.tokens, "ann"]:
        assert secret.encode() not in content
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    moved = sqlite3.connect(path)
    moved.execute("UPDATE rows SET key = 'x' WHERE collection = 'consent-grants'")
    (value,) = moved.execute("SELECT value FROM rows WHERE key = 'x'").fetchone()
    moved.close()
    store: Any = flow.consent_of(server).store
    assert store._cipher.open("grants/x", json.loads(value)["sealed"]) is None


async def test_expired_rows_are_removed(provider: Provider) -> None:
    store: Any = flow.consent_of(make_cloud_server(provider)).store
    await store.put("states", "a", {"x": 1}, 0.05)
    await anyio.sleep(0.06)
    assert await store.get("states", "a") is None
    assert await store.take("states", "a") is None
    await store.put("states", "b", {"x": 1}, 60)
    assert len(store._rows._run("SELECT * FROM rows")[0]) == 1


async def test_nothing_secret_is_logged(
    provider: Provider, browser: Browser, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    for name in (OURS, "uvicorn", "fastmcp", "mcp", "authlib"):
        caplog.set_level(logging.DEBUG, name)
    async with serve_http(
        lambda base: make_cloud_server(provider, server_url=base)
    ) as (base, server):
        async with begin_call(server, MODERN) as call:
            # The listener on loopback keeps no access log, and so turns off that of its whole process
            logging.getLogger("uvicorn.access").propagate = True
            link = base + call.link[call.link.index("/oauth/") :]
            assert await browser.walk(link, "bob") == FAILED
        async with begin_call(server, MODERN) as call:
            assert await browser.walk(call.link, "ann") == COMPLETE
            await call.go_on()
    foreign = ("oidc", "httpx", "httpcore", "authlib.oauth2.rfc6749")
    lines = []
    for record in caplog.records:
        if not record.name.startswith(foreign):  # the browser and the provider
            lines.append(record.getMessage())
    log = "\n".join(lines)
    assert "GET /oauth/authorize" in log
    assert '"event": "consent"' in log
    secrets = {*collect_secrets(provider, browser), SECRET}
    assert len(secrets) > 10
    for secret in secrets:
        assert secret not in log


async def test_a_grant_with_fewer_scopes_is_asked_for_again(
    provider: Provider, browser: Browser, tmp_path: Path
) -> None:
    stored = {"consent_database": str(tmp_path / "c.db"), "secret_keys": SECRET}
    async with begin_call(
        make_cloud_server(provider, **stored), LEGACY, "none"
    ) as call:
        assert await browser.walk(call.link, "ann") == COMPLETE
    wider = make_cloud_server(provider, oidc_scopes="openid email", **stored)
    async with begin_call(wider, LEGACY, "none") as call:
        assert text_of(call.message).startswith(REQUIRED)
        assert await load_grant(wider, "ann") is None
        assert await browser.walk(call.link, "ann") == COMPLETE
        assert "email" in str(browser.seen[-2].url)
        assert "structuredContent" in (await call.go_on())["result"]
    async with begin_call(
        make_cloud_server(provider, **stored), LEGACY, "none"
    ) as call:
        assert "structuredContent" in call.message["result"]
    with contextlib.closing(sqlite3.connect(tmp_path / "c.db")) as database:
        count = "SELECT count(*) FROM rows WHERE collection = 'consent-grants'"
        assert database.execute(count).fetchone() == (1,)  # the earlier login's is gone

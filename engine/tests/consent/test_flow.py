"""From a link to a grant: whose it is, when a link is reused, what a browser may bring back, and what is asked anew."""

import json
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import anyio
import httpx2
import keyring
import pytest
from fastmcp import Client, FastMCP
from fastmcp.client.transports import StreamableHttpTransport
from fastmcp.server.auth import AccessToken
from keyring.backends.fail import Keyring as NoKeyring

from copier_fastmcp_engine.consent import store as consent_store
from copier_fastmcp_engine.consent.elicitation import granted_token, requires_consent
from copier_fastmcp_engine.consent.store import User
from copier_fastmcp_engine.declarations import read
from engine.tests.engine_support.granting import (
    CAN,
    COMPLETE,
    DOMAIN,
    STALE,
    TOKEN,
    YES,
    Held,
    add_tools,
    assert_no_grant,
    begin_call,
    find_link,
    flow,
    make_cloud_server,
    make_settings,
    text_of,
)
from engine.tests.engine_support.provider import Browser, Provider, heading, serve_http
from engine.tests.engine_support.raw import LEGACY, MODERN, Message

pytestmark = pytest.mark.anyio
ANN = User("user:ann", "ann")
BASE = "http://127.0.0.1:1"
ELICITATION = "copier_fastmcp_engine.consent.elicitation"
NOBODY = dict.fromkeys(["jwt_issuer", "jwt_audience", "jwt_jwks_uri"])
SINGLE = {"enable_offline_access": False, "static_credentials": "the only one"}


def id_of(link: str) -> str:
    return httpx2.URL(link).params["elicitationId"]


@pytest.mark.parametrize(
    ("subject", "claims", "known"),
    [
        ("ann", {}, ANN),
        (None, {"sub": "ann"}, ANN),
        (None, {}, None),
    ],
)
def test_the_user_of_a_token_is_its_subject(
    monkeypatch: pytest.MonkeyPatch,
    subject: str | None,
    claims: dict[str, Any],
    known: User | None,
) -> None:
    token = AccessToken(
        token="t", client_id="app", scopes=[], subject=subject, claims=claims
    )
    monkeypatch.setattr(flow, "get_access_token", lambda: token)
    ctx: Any = SimpleNamespace(transport="streamable-http")
    assert flow.known_user(ctx) == known


def test_where_nothing_is_kept_no_store_and_no_keyring_is_opened(
    provider: Provider, tmp_path: Path
) -> None:
    before = keyring.get_keyring()
    keyring.set_keyring(NoKeyring())  # type: ignore[no-untyped-call]
    try:
        settings = make_settings(
            provider,
            enable_offline_access=False,
            state="redis://127.0.0.1:1/0",
            consent_database=str(tmp_path / "c.db"),
            secret_keyring=True,
        )
        store = flow.Consent(settings).store
    finally:
        keyring.set_keyring(before)
    assert anyio.run(store.get, "grants", "a") is None
    assert list(tmp_path.iterdir()) == []


async def call_over_http(base: str, tool: str, token: str | None = None) -> str:
    """Return the first text of the result of a call over HTTP, by a client that shows neither links nor forms."""
    transport = StreamableHttpTransport(f"{base}/mcp", auth=token)
    async with Client(transport, mode=MODERN) as client:
        result = await client.call_tool(tool, {}, raise_on_error=False)
    return str(getattr(result.content[0], "text", ""))


async def test_in_pass_through_mode_there_are_no_login_pages(
    provider: Provider,
) -> None:
    changes = {"enable_offline_access": False, **NOBODY}
    async with serve_http(lambda base: make_cloud_server(provider, **changes)) as (
        base,
        _,
    ):
        async with httpx2.AsyncClient() as client:
            page = await client.get(f"{base}/oauth/callback")
        assert page.status_code == 404
        assert "keeps no tokens" in await call_over_http(base, "zz_alone")


async def test_the_credentials_of_one_user_are_served_on_this_machine(
    provider: Provider,
) -> None:
    async with serve_http(
        lambda base: make_cloud_server(provider, server_url=base, **SINGLE, **NOBODY)
    ) as (base, _):
        assert "the only one" in await call_over_http(base, "zz_alone")


async def test_no_tool_serves_the_credentials_of_one_user_to_strangers(
    provider: Provider,
) -> None:
    """Neither one that uses them without a mark, nor one that has the mark and does not use them."""

    async def zz_uses() -> Held:
        return Held(token=await granted_token())

    @requires_consent
    async def zz_requires() -> Held:
        return Held(token="the only one")

    def make(base: str) -> FastMCP:
        server = make_cloud_server(provider, **SINGLE, **NOBODY)
        for function in (zz_uses, zz_requires):
            add_tools(server, read(title=function.__name__)(function))
        return server

    async with serve_http(make) as (base, _):
        for name in ("zz_uses", "zz_requires"):
            refusal = await call_over_http(base, name)
            assert "STATIC_CREDENTIALS would be available to anyone" in refusal


async def test_without_an_address_links_lead_to_the_usual_one(
    provider: Provider,
) -> None:
    async with serve_http(lambda base: make_cloud_server(provider)) as (base, _):
        refusal = await call_over_http(base, "zz_alone", provider.token_of("ann"))
    assert f"http://127.0.0.1:8000/oauth/authorize-{DOMAIN}?" in refusal


@pytest.mark.parametrize(
    ("changes", "left", "is_same"),
    [
        ({}, 1.0, True),
        ({}, 0.6, True),
        ({}, 0.4, False),
        ({"status": "failed"}, 1.0, False),
        ({"base": "http://127.0.0.1:2"}, 1.0, False),
    ],
    ids=["new", "lasting", "ending", "failed", "elsewhere"],
)
async def test_a_link_is_reused_while_it_is_open_and_lasts(
    server: FastMCP, changes: dict[str, Any], left: float, is_same: bool
) -> None:
    consent = flow.consent_of(server)
    now = time.time()
    first = await consent._open_elicitation(ANN, BASE, now)
    ends = {"expires_at": now + left * consent.seconds}
    await consent._save(first.model_copy(update=ends | changes))
    second = await consent._open_elicitation(ANN, BASE, now)
    assert (second.id == first.id) == is_same


async def test_a_link_that_is_over_does_not_replace_the_one_that_is_open(
    server: FastMCP,
) -> None:
    consent = flow.consent_of(server)
    now = time.time()
    old = await consent._open_elicitation(ANN, BASE, now)
    ends = {"expires_at": now + 0.4 * consent.seconds}
    await consent._save(old.model_copy(update=ends))
    new = await consent._open_elicitation(ANN, BASE, now)
    await consent._close(old)
    assert await consent._open_elicitation(ANN, BASE, now) == new
    await consent._close(new)
    assert await consent.store.get("current", ANN.key) is None


async def test_the_provider_sends_browsers_to_the_callback_that_is_set(
    provider: Provider,
) -> None:
    address = "http://localhost:8000/oauth/callback"
    settings = make_settings(provider, elicitation_callback_url=address)
    consent = flow.Consent(settings)
    elicitation = await consent._open_elicitation(ANN, BASE, time.time())
    assert consent.back(elicitation) == address
    assert consent.listener.host == "localhost"


async def test_a_callback_elsewhere_is_refused_over_stdio(provider: Provider) -> None:
    server = make_cloud_server(
        provider,
        server_url="https://mcp.example.com",
        elicitation_callback_url="https://mcp.example.com/oauth/callback",
    )
    async with begin_call(server, MODERN) as call:
        assert "leads elsewhere" in text_of(call.message)


async def test_a_callback_without_a_state_or_a_link_is_stale(
    server: FastMCP, browser: Browser
) -> None:
    async with begin_call(server, MODERN) as call:
        back = await browser.log_in(call.link, "ann")
        without_state = str(httpx2.URL(back).copy_remove_param("state"))
        assert heading(await browser.get(without_state)) == STALE
        store = flow.consent_of(server).store
        assert await store.drop("elicitations", id_of(call.link))
        assert heading(await browser.get(back)) == STALE


async def test_a_link_that_ends_during_the_login_grants_nothing(
    provider: Provider,
    server: FastMCP,
    browser: Browser,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    later = SimpleNamespace(
        time=lambda: time.time() + 600, monotonic=lambda: time.monotonic()
    )
    async with begin_call(server, MODERN) as call:
        back = await browser.log_in(call.link, "ann")
        held = provider.hold()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(browser.get, back)
            while TOKEN not in provider.asked:
                await anyio.sleep(0.01)
            monkeypatch.setattr(consent_store, "time", later)
            held.set()
        assert heading(browser.seen[-1]) == STALE
        await assert_no_grant(server)
    assert sorted(provider.revoked) == sorted(provider.tokens) != []


async def test_a_form_that_was_sent_without_a_login_is_not_shown_again(
    provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(f"{ELICITATION}.SETTLE", 0.0)
    async with begin_call(make_cloud_server(provider), MODERN, "form") as call:
        refused = await call.go_on()
    assert text_of(refused).endswith("Login not detected; nothing was done.")


@pytest.mark.parametrize("left_out", ["inputResponses", "requestState"])
async def test_half_an_answer_is_none(
    provider: Provider, monkeypatch: pytest.MonkeyPatch, left_out: str
) -> None:
    monkeypatch.setattr(f"{ELICITATION}.WAIT", 0.0)
    async with begin_call(make_cloud_server(provider), MODERN) as call:
        answer = {
            "inputResponses": {"consent": YES},
            "requestState": call.message["result"]["requestState"],
        }
        del answer[left_out]
        number = await call.raw.send("tools/call", **call.whole, **answer)
        await call.raw.next()
        assert find_link(call.raw.came.pop(number)["result"]["inputRequests"])


@pytest.mark.parametrize("change", ["another user's", "forgotten"])
async def test_an_answer_to_a_link_that_is_gone_gets_another_link(
    provider: Provider, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    monkeypatch.setattr(f"{ELICITATION}.WAIT", 0.0)
    server = make_cloud_server(provider)
    consent = flow.consent_of(server)
    async with begin_call(server, MODERN) as call:
        elicitation = await consent.elicitation(id_of(call.link))
        assert elicitation
        if change == "forgotten":
            await consent.store.drop("elicitations", elicitation.id)
        else:
            elicitation.user = "user:bob"
            await consent._save(elicitation)
        await consent.store.drop("current", "user:ann")
        again = await call.go_on()
        assert find_link(again["result"]["inputRequests"]) != call.link


def read_steps(caplog: pytest.LogCaptureFixture) -> list[tuple[str, str]]:
    """Return the way and the outcome of each step in the log."""
    steps = []
    for text in caplog.messages:
        if '"event": "consent"' in text:
            line = json.loads(text)
            steps.append((line["way"], line["outcome"]))
    return steps


STEPS: dict[tuple[str, str], list[tuple[str, str]]] = {
    (LEGACY, "url"): [("url", "asked")],
    (LEGACY, "form"): [("form", "yes")],
    (LEGACY, "none"): [("none", "told")],
    (MODERN, "url"): [("url", "asked")],
    (MODERN, "form"): [("form", "asked")],
    (MODERN, "none"): [("none", "told")],
}


@pytest.mark.parametrize("mode", CAN)
async def test_each_step_is_logged(
    provider: Provider,
    browser: Browser,
    caplog: pytest.LogCaptureFixture,
    era: str,
    mode: str,
) -> None:
    caplog.set_level("INFO")
    server = make_cloud_server(provider)
    async with begin_call(server, era, mode) as call:
        assert await browser.walk(call.link, "ann") == COMPLETE
        done: Message = await call.go_on()
        assert "structuredContent" in done["result"]
    assert read_steps(caplog) == STEPS[era, mode]

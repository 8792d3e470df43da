"""The ID token that says who granted: it is the provider's, for this client, for this login, and not over."""

import time
from typing import Any

import httpx2
import pytest
from fastmcp import FastMCP

from engine.tests.engine_support.granting import (
    COMPLETE,
    FAILED,
    REQUIRED,
    assert_no_grant,
    begin_call,
    load_grant,
    make_cloud_server,
    text_of,
)
from engine.tests.engine_support.provider import Browser, Provider, heading
from engine.tests.engine_support.raw import LEGACY, MODERN

pytestmark = pytest.mark.anyio
CLIENT = "this-server"
BOTH = [CLIENT, "another-client"]
HELD: dict[str, dict[str, Any]] = {
    "as asked for": {},
    "over within the leeway": {"exp": -30},
    "for several clients, issued to this one": {"aud": BOTH, "azp": CLIENT},
    "for this client alone, in a list": {"aud": [CLIENT]},
}
REFUSED: dict[str, dict[str, Any]] = {
    "of another issuer": {"iss": "https://example.com"},
    "without an issuer": {"iss": None},
    "for another client": {"aud": "another-client"},
    "for no client": {"aud": None},
    "for several clients, issued to none": {"aud": BOTH},
    "for several clients, issued to another": {"aud": BOTH, "azp": BOTH[1]},
    "over": {"exp": -3600},
    "never over": {"exp": None},
    "of another login": {"nonce": "another"},
    "of no login": {"nonce": None},
    "of nobody": {"sub": None},
}


async def log_in(
    provider: Provider, browser: Browser, link: str, **claims: Any
) -> httpx2.Response:
    """Log in at a provider whose ID token has these claims, `exp` in seconds from now; return the last page."""
    back = await browser.log_in(link, "ann")
    nonce = httpx2.URL(str(browser.seen[-1].url)).params["nonce"]
    asked = {"audience": CLIENT, "nonce": nonce}
    if claims.get("exp") is not None:
        claims["exp"] += int(time.time())
    if claims.get("aud"):
        asked["audience"] = claims.pop("aud")
    token = provider.token_of("ann", typ="JWT", **(asked | claims))
    provider.wrong["token"] = {"id_token": token}
    return await browser.get(back)


@pytest.mark.parametrize("kind", HELD)
async def test_an_id_token_that_holds_grants(
    provider: Provider, server: FastMCP, browser: Browser, kind: str
) -> None:
    async with begin_call(server, MODERN) as call:
        page = await log_in(provider, browser, call.link, **HELD[kind])
        assert heading(page) == COMPLETE
        assert (await load_grant(server, "ann")).subject == "ann"


@pytest.mark.parametrize("kind", REFUSED)
async def test_an_id_token_with_a_claim_that_is_wrong_grants_nothing(
    provider: Provider, server: FastMCP, browser: Browser, kind: str
) -> None:
    async with begin_call(server, MODERN) as call:
        page = await log_in(provider, browser, call.link, **REFUSED[kind])
        assert heading(page) == FAILED
        await assert_no_grant(server)


async def test_a_renewal_that_answers_for_somebody_else_ends_the_grant(
    provider: Provider, browser: Browser
) -> None:
    provider.wrong["token"] = {"expires_in": 1}
    server = make_cloud_server(provider)
    async with begin_call(server, LEGACY, "none") as call:
        assert await browser.walk(call.link, "ann") == COMPLETE
        token = provider.token_of("bob", typ="JWT", audience=CLIENT)
        provider.wrong["token"] = {"id_token": token}
        assert text_of(await call.go_on()).startswith(REQUIRED)
        await assert_no_grant(server)


async def test_a_renewal_that_answers_for_the_same_user_keeps_the_grant(
    provider: Provider, browser: Browser
) -> None:
    provider.wrong["token"] = {"expires_in": 1}
    server = make_cloud_server(provider)
    async with begin_call(server, LEGACY, "none") as call:
        assert await browser.walk(call.link, "ann") == COMPLETE
        before = await load_grant(server, "ann")
        token = provider.token_of("ann", typ="JWT", audience=CLIENT)
        provider.wrong["token"] = {"id_token": token}
        assert "structuredContent" in (await call.go_on())["result"]
        after = await load_grant(server, "ann")
    assert after.access_token != before.access_token
    assert (after.subject, after.asked) == (before.subject, before.asked)
    assert after.granted_at == before.granted_at

"""A provider that lies, lags or fails, and pages that do not repeat their parameters."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator
from typing import Any

import anyio
import httpx2
import pytest
from fastmcp import FastMCP
from listening import PATIENCE

from copier_fastmcp_engine.consent import oauth
from copier_fastmcp_engine.consent.oauth_errors import DENIED, ProviderError
from copier_fastmcp_engine.consent.store import Grant
from engine.tests.engine_support.granting import (
    ALG_NONE,
    COMPLETE,
    FAILED,
    LATER,
    STALE,
    TOKEN,
    assert_no_grant,
    begin_call,
    change_parameters,
    load_grant,
    make_settings,
    text_of,
)
from engine.tests.engine_support.provider import Browser, Provider, heading
from engine.tests.engine_support.raw import MODERN

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("checked", [True, False], ids=["PKCE", "nonce"])
async def test_a_code_of_another_login_is_refused(
    provider: Provider, server: FastMCP, browser: Browser, checked: bool
) -> None:
    async with (
        begin_call(server, MODERN) as ann,
        begin_call(server, MODERN, caller="bob") as bob,
    ):
        thief = Browser()
        stolen = httpx2.URL(await thief.log_in(bob.link, "ann")).params["code"]
        back = await browser.log_in(ann.link, "ann")
        if not checked:
            provider.challenges.clear()
        assert (
            heading(await browser.get(change_parameters(back, code=stolen))) == FAILED
        )
        await assert_no_grant(server)


@pytest.mark.parametrize(
    "discovery",
    [
        {"code_challenge_methods_supported": ["plain"]},
        {"code_challenge_methods_supported": 0},
        {"token_endpoint_auth_methods_supported": 0},
        {"jwks_uri": "http://["},
        {"issuer": "https://example.com"},
        {"authorization_endpoint": "http://example.com/authorize"},
        {"token_endpoint": "http://example.com/token"},
        {"jwks_uri": None},
        {"revocation_endpoint": "http://example.com/revoke"},
        {"authorization_endpoint": "javascript:alert(1)"},
    ],
    ids=[
        "plain PKCE alone",
        "PKCE that is not a list",
        "ways to authenticate that are not a list",
        "keys at no address",
        "another issuer",
        "an authorization endpoint over http",
        "a token endpoint over http",
        "no keys",
        "a revocation endpoint over http",
        "a script as an address",
    ],
)
async def test_a_provider_that_is_not_safe_is_not_used(
    provider: Provider, server: FastMCP, browser: Browser, discovery: dict[str, Any]
) -> None:
    provider.wrong["discovery"] = discovery
    async with begin_call(server, MODERN) as call:
        page = await browser.get(call.link)
    assert (heading(page), page.status_code) == (LATER, 503)
    assert "location" not in page.headers


@pytest.mark.parametrize(
    ("address", "issuer", "good"),
    [
        ("https://example.com/token", "https://example.com", True),
        ("http://127.0.0.1:1/token", "http://127.0.0.1:1", True),
        ("http://127.0.0.1:1/token", "https://example.com", False),
        ("http://example.com/token", "http://127.0.0.1:1", False),
        ("file:///etc/passwd", "https://example.com", False),
        ("https:///token", "https://example.com", False),
        (None, "https://example.com", False),
        (5, "https://example.com", False),
    ],
)
def test_a_provider_elsewhere_names_no_address_here(
    address: object, issuer: str, good: bool
) -> None:
    assert oauth.is_usable_endpoint(address, issuer) is good


async def test_nothing_in_a_link_decides_where_the_browser_goes(
    provider: Provider, server: FastMCP, browser: Browser
) -> None:
    async with begin_call(server, MODERN) as call:
        evil = "https://example.com/steal"
        parameters = {"redirect_uri": evil, "next": evil, "return_to": evil}
        link = change_parameters(call.link, state="mine", **parameters)
        response = await browser.get(link)
        login = httpx2.URL(response.headers["location"])
        assert str(login).startswith(provider.issuer)
        assert "example.com" not in str(login)
        assert login.params["state"] != "mine"
        response = await browser.get(str(login), sub="ann")
        page = await browser.get(
            change_parameters(response.headers["location"], next=evil)
        )
        assert (heading(page), page.status_code) == (COMPLETE, 200)
        assert "location" not in page.headers


@pytest.mark.parametrize("name", ["error", "error_description", "code", "iss", "state"])
async def test_a_page_repeats_nothing(
    provider: Provider, server: FastMCP, browser: Browser, name: str
) -> None:
    async with begin_call(server, MODERN) as call:
        back = httpx2.URL(await browser.log_in(call.link, "ann"))
        if name.startswith("error"):
            back = back.copy_remove_param("code")
        page = await browser.get(
            change_parameters(str(back), **{name: "<script>alert(1)</script>"})
        )
    assert heading(page) == (STALE if name == "state" else FAILED)
    assert "alert" not in page.text
    assert page.headers["content-security-policy"].startswith("default-src 'none'")
    assert page.headers["cache-control"] == "no-store"
    assert page.headers["referrer-policy"] == "no-referrer"
    assert page.headers["x-content-type-options"] == "nosniff"
    await assert_no_grant(server)


async def test_a_denied_login_grants_nothing(server: FastMCP, browser: Browser) -> None:
    async with begin_call(server, MODERN) as call:
        login = (await browser.get(call.link)).headers["location"]
        back = (await browser.get(login, action="deny")).headers["location"]
        state = httpx2.URL(login).params["state"]
        page = await browser.get(change_parameters(back, state=state))
        assert heading(page) == FAILED
        assert DENIED in page.text
        assert DENIED in text_of(await call.go_on())
        await assert_no_grant(server)


DOWN = ["/.well-known/openid-configuration", TOKEN, "/jwks"]


@pytest.mark.parametrize("path", DOWN)
async def test_a_provider_that_is_down_grants_nothing(
    provider: Provider, server: FastMCP, browser: Browser, path: str
) -> None:
    provider.wrong["down"] = [path]
    async with begin_call(server, MODERN) as call:
        if path == DOWN[0]:
            assert heading(await browser.get(call.link)) == LATER
        else:
            assert await browser.walk(call.link, "ann") == FAILED
        assert "alert" not in browser.seen[-1].text
        await assert_no_grant(server)


async def test_a_provider_that_is_slow_is_not_waited_for(
    provider: Provider,
    server: FastMCP,
    browser: Browser,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with begin_call(server, MODERN) as call:
        back, held = await browser.log_in(call.link, "ann"), provider.hold()
        monkeypatch.setattr("copier_fastmcp_engine.consent.oauth.PATIENCE", 0.3)
        assert heading(await browser.get(back)) == FAILED
        held.set()  # only now
        await assert_no_grant(server)


@pytest.mark.parametrize(
    ("expires_in", "longest"),
    [(-5, 0), (0, 0), (10**12, 86_400), (None, 300), (60, 60), ("60", 60), ([], 0)],
)
async def test_a_provider_that_lies_about_expiry_is_not_believed(
    provider: Provider,
    server: FastMCP,
    browser: Browser,
    expires_in: Any,
    longest: float,
) -> None:
    provider.wrong["token"], began = {"expires_in": expires_in}, time.time()
    async with begin_call(server, MODERN) as call:
        assert await browser.walk(call.link, "ann") == COMPLETE
        ends = (await load_grant(server, "ann")).expires_at
    assert began + longest <= ends <= time.time() + longest


@pytest.mark.parametrize("expires_in", ["soon", float("inf"), {"in": 60}])
async def test_an_expiry_that_is_no_number_is_no_token(
    provider: Provider, server: FastMCP, browser: Browser, expires_in: Any
) -> None:
    provider.wrong["token"] = {"expires_in": expires_in}
    async with begin_call(server, MODERN) as call:
        assert await browser.walk(call.link, "ann") == FAILED
        await assert_no_grant(server)


@pytest.mark.parametrize(
    ("expires_in", "seconds"),
    [
        (None, 300),
        (0, 0),
        (-5, 0),
        ("60", 60),
        (10**12, 86_400),
        ("soon", 0),
        ("nan", 0),
        ("inf", 0),
        ("-inf", 0),
    ],
)
def test_the_lifetime_of_a_token_is_a_number_within_bounds(
    expires_in: object, seconds: float
) -> None:
    assert oauth.lifetime(expires_in) == seconds


async def test_the_discovery_document_is_kept(provider: Provider) -> None:
    known = oauth.Provider(make_settings(provider))
    for _ in range(2):
        await known.metadata()
    assert provider.asked == ["/.well-known/openid-configuration"]


BASIC, POST = "client_secret_basic", "client_secret_post"


@pytest.mark.parametrize(
    ("supported", "secret", "method"),
    [
        (None, "s", BASIC),
        ([BASIC, POST], "s", BASIC),
        ([POST], "s", POST),
        (["private_key_jwt"], "s", BASIC),
        ([POST], "", "none"),
        (None, "", "none"),
        (None, None, "none"),
    ],
)
def test_this_client_authenticates_as_the_provider_supports(
    provider: Provider,
    supported: list[str] | None,
    secret: str | None,
    method: str,
) -> None:
    """And follows no redirection with its secret."""
    known = oauth.Provider(make_settings(provider, oidc_client_secret=secret))
    if supported is not None:
        known._known = {"token_endpoint_auth_methods_supported": supported}
    client = known._client()
    assert client.token_endpoint_auth_method == method
    assert client.revocation_endpoint_auth_method == method
    assert client.follow_redirects is False


@pytest.mark.parametrize("token", [{"token_type": "mac"}, {"access_token": ""}])
async def test_a_token_of_another_type_is_none(
    provider: Provider, server: FastMCP, browser: Browser, token: dict[str, str]
) -> None:
    provider.wrong["token"] = token
    async with begin_call(server, MODERN) as call:
        assert await browser.walk(call.link, "ann") == FAILED
        await assert_no_grant(server)


@pytest.mark.parametrize(
    ("wrong", "scope"),
    [
        ({"token": {"scope": "openid"}}, "openid"),
        ({"without": ["scope"]}, "openid offline_access"),
    ],
    ids=["named", "not named"],
)
async def test_the_scope_of_a_grant_is_what_the_provider_names(
    provider: Provider,
    server: FastMCP,
    browser: Browser,
    wrong: dict[str, Any],
    scope: str,
) -> None:
    provider.wrong |= wrong
    async with begin_call(server, MODERN) as call:
        assert await browser.walk(call.link, "ann") == COMPLETE
        assert (await load_grant(server, "ann")).scope == scope


@pytest.mark.parametrize(
    "kind", ["unsigned", "of another client", "missing", "no token"]
)
async def test_an_id_token_that_does_not_hold_grants_nothing(
    provider: Provider, server: FastMCP, browser: Browser, kind: str
) -> None:
    async with begin_call(server, MODERN) as call:
        back = await browser.log_in(call.link, "ann")
        nonce = httpx2.URL(str(browser.seen[-1].url)).params["nonce"]
        foreign = await provider.id_token_of(
            "ann", audience="another-client", nonce=nonce
        )
        tokens = {
            "unsigned": ".".join([ALG_NONE, foreign.split(".")[1], ""]),
            "of another client": foreign,
            "missing": "",
            "no token": "{}",
        }
        provider.wrong["token"] = {"id_token": tokens[kind]}
        assert heading(await browser.get(back)) == FAILED
        await assert_no_grant(server)


@contextlib.asynccontextmanager
async def serve_slowly() -> AsyncIterator[str]:
    """The address of a server that sends one byte of its response at a time, for ever."""

    handlers: set[asyncio.Task[None]] = set()

    async def drip(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task
        handlers.add(task)
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n")
        try:
            while True:
                writer.write(b" ")
                await writer.drain()
                await asyncio.sleep(0.02)
        except ConnectionError:
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(drip, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    yield f"http://127.0.0.1:{port}"
    server.close()
    for handler in handlers:
        handler.cancel()
    await asyncio.gather(*handlers, return_exceptions=True)


async def test_a_provider_that_drips_is_left_at_the_deadline(
    provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    metadata = await oauth.Provider(make_settings(provider)).metadata()
    monkeypatch.setattr(oauth, "PATIENCE", 0.3)
    grant = Grant(subject="ann", access_token="a", expires_at=0, granted_at=0)
    async with serve_slowly() as address:
        slow = oauth.Provider(
            make_settings(provider, oidc_issuer=address, jwt_issuer=address)
        )
        with anyio.fail_after(PATIENCE), pytest.raises(ProviderError, match="reached"):
            await slow.metadata()
        endpoints = dict.fromkeys(["token_endpoint", "revocation_endpoint"], address)
        slow._known = {**metadata, **endpoints}
        slow._until = time.monotonic() + 60
        with anyio.fail_after(PATIENCE), pytest.raises(ProviderError, match="reached"):
            await slow.refresh(grant)
        with anyio.fail_after(PATIENCE):
            assert await slow.revoke(grant) is False

"""Consent, from a call through a browser and a provider and back, with the libraries installed here.

Managed by the template, whose own tests attack it.
"""

import warnings
from collections.abc import AsyncIterator
from typing import Any

import httpx2
import pytest
from fastmcp import Client, FastMCP
from fastmcp.client.elicitation import ElicitResult
from fastmcp.exceptions import ToolError
from fastmcp.server.auth import AccessToken
from mcp.server.auth.middleware.auth_context import auth_context_var
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.shared.exceptions import MCPError
from pydantic import SecretStr

from nextcloud_login_mcp.policy import POLICY, granted_token, read, requires_consent

from .cases import Suite

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # it uses what Authlib deprecates
    from oidc_provider_mock import run_server_in_thread

pytestmark = [pytest.mark.anyio, pytest.mark.filterwarnings("ignore::DeprecationWarning")]
LEGACY, MODERN = "legacy", "2026-07-28"
ASK, START = f"request_{POLICY.domain}_access", f"provision_{POLICY.domain}_access"
TRACK = "check_provisioning_status"


@requires_consent
async def zz_look() -> dict[str, str]:
    return {"token": await granted_token()}


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
async def server(suite: Suite) -> AsyncIterator[FastMCP]:
    with run_server_in_thread() as provider:
        issuer = f"http://127.0.0.1:{provider.server_port}"
        provided = {"oidc_issuer": issuer, "oidc_client_secret": SecretStr("any")}
        server = suite.create_server(**provided)
        suite.add_tool(server, zz_look, read(title="Look"))
        yield server
        suite.engine("consent.flow").consent_of(server).listener.close()


async def value(client: Client[Any], tool: str, **arguments: object) -> dict[str, Any]:
    return (await client.call_tool(tool, arguments)).structured_content or {}


async def log_in(link: str, who: str = "ann") -> str:
    """Do as a person in a browser does; returns the last page."""
    async with httpx2.AsyncClient(follow_redirects=True) as browser:
        page = await browser.get(link)
        return (await browser.post(str(page.url), data={"sub": who})).text


async def accept(message: str, kind: Any, params: Any, ctx: Any) -> ElicitResult[None]:
    assert "Authorization Complete!" in await log_in(params.url)
    return ElicitResult(action="accept")


async def decline(*asked: object) -> ElicitResult[None]:
    return ElicitResult(action="decline")


@pytest.mark.oauth
async def test_elicitation_first_time_user(server: FastMCP) -> None:
    async with Client(server, mode=LEGACY, elicitation_handler=decline) as client:
        with pytest.raises(MCPError) as caught:
            await client.call_tool("zz_look", {})
    (asked,) = caught.value.error.data["elicitations"]
    assert (caught.value.error.code, asked["mode"]) == (-32042, "url")
    assert asked["url"].endswith(f"?elicitationId={asked['elicitationId']}")


@pytest.mark.oauth
async def test_elicitation_progress_tracking(server: FastMCP) -> None:
    async with Client(server, mode=MODERN) as client:
        begun = await value(client, START)

        async def progress(done: float, total: float | None, message: str | None) -> None:
            assert message == "Waiting for OAuth authorization..."
            assert "Complete!" in await log_in(begun["authorization_url"])

        # Only a broken flow takes this long
        link = {"elicitation_id": begun["elicitation_id"], "wait_seconds": 60}
        done = await client.call_tool(TRACK, link, progress_handler=progress)
    assert (done.structured_content or {})["status"] == "complete"


@pytest.mark.oauth
async def test_auto_retry_after_provisioning(server: FastMCP) -> None:
    async with Client(server, mode=MODERN, elicitation_handler=accept) as client:
        assert (await value(client, "zz_look"))["token"]


@pytest.mark.oauth
async def test_elicitation_timeout(suite: Suite, server: FastMCP, era: str) -> None:
    timed_out = suite.engine("consent.elicitation").TIMED_OUT
    async with Client(server, mode=era) as client:
        link = (await value(client, START))["elicitation_id"]
        with pytest.raises(ToolError, match=timed_out):
            await value(client, TRACK, elicitation_id=link, wait_seconds=0.1)


@pytest.mark.oauth
async def test_check_logged_in_already_authenticated(server: FastMCP, era: str) -> None:
    async with Client(server, mode=era, elicitation_handler=accept) as client:
        assert await value(client, ASK) == {"status": "yes"}
        assert await value(client, "check_logged_in") == {"status": "yes"}
        assert (await value(client, "zz_look"))["token"]


@pytest.mark.oauth
async def test_check_logged_in_url_format(server: FastMCP) -> None:
    async with Client(server, mode=MODERN) as client:
        link = (await value(client, START))["authorization_url"]
        async with httpx2.AsyncClient() as browser:
            query = httpx2.URL((await browser.get(link)).headers["location"]).params
    assert (query["response_type"], query["client_id"]) == ("code", "suite")
    assert query["redirect_uri"] == link.split("/oauth/")[0] + "/oauth/callback"
    assert query["code_challenge_method"] == "S256"


async def test_who_declines_grants_nothing(server: FastMCP, era: str) -> None:
    async with Client(server, mode=era, elicitation_handler=decline) as client:
        assert await value(client, "check_logged_in") == {"status": "Login declined by user."}
        assert (await value(client, TRACK))["provisioned"] is False


async def test_a_forged_state_and_another_user_grant_nothing(server: FastMCP, era: str) -> None:
    ann = AccessToken(token="-", client_id="app", scopes=[], subject="ann")
    before = auth_context_var.set(AuthenticatedUser(ann))
    async with Client(server, mode=era) as client:
        link = (await value(client, START))["authorization_url"]
        forged = link.split("/oauth/")[0] + "/oauth/callback?state=forged&code=code"
        async with httpx2.AsyncClient() as browser:
            pages = [(await browser.get(forged)).text, await log_in(link, "bob")]
        assert (await value(client, TRACK))["provisioned"] is False
    auth_context_var.reset(before)
    assert "already used" in pages[0]
    assert "different account" in pages[1]

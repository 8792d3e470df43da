"""The token of a user in what a tool sends: renewed when the service refuses it, asked for when the grant is over."""

import httpx2
import pytest
from fastmcp import Client, FastMCP
from fastmcp.exceptions import ToolError

from copier_fastmcp_engine.consent.elicitation import Granted, requires_consent
from copier_fastmcp_engine.consent.store import User
from copier_fastmcp_engine.declarations import read
from engine.tests.engine_support.granting import (
    COMPLETE,
    ERAS,
    REQUIRED,
    Held,
    add_tools,
    begin_call,
    flow,
    load_grant,
    make_cloud_server,
    text_of,
)
from engine.tests.engine_support.provider import Browser, Provider
from engine.tests.engine_support.raw import LEGACY

pytestmark = pytest.mark.anyio


class Service:
    """The service behind the tools: it accepts each token that is not refused."""

    def __init__(self) -> None:
        """Refuse no request, also without a token."""
        self.seen: list[str | None] = []
        self.refused: set[str | None] = set()

    def __call__(self, request: httpx2.Request) -> httpx2.Response:
        token = request.headers.get("authorization")
        self.seen.append(token)
        if "everybody" in self.refused or token in self.refused:
            return httpx2.Response(401)
        return httpx2.Response(200)

    async def ask(self) -> Held:
        """Send one request, as the body of a tool does; return the status."""
        transport = httpx2.MockTransport(self)
        async with httpx2.AsyncClient(auth=Granted(), transport=transport) as client:
            response = await client.get("http://service.invalid")
        return Held(token=str(response.status_code))


@pytest.fixture
def service() -> Service:
    return Service()


def make_service_server(
    provider: Provider, service: Service, **changes: object
) -> FastMCP:
    """Return a server in front of the service, with a tool that requires consent and one that does not."""

    @requires_consent
    async def zz_fetch() -> Held:
        return await service.ask()

    async def zz_open() -> Held:
        return await service.ask()

    server = make_cloud_server(provider, **changes)
    for function in (zz_fetch, zz_open):
        add_tools(server, read(title=function.__name__)(function))
    return server


async def test_each_request_carries_the_token_of_its_caller(
    provider: Provider, browser: Browser, service: Service
) -> None:
    server = make_service_server(provider, service)
    for name in ("ann", "bob"):
        async with begin_call(
            server, LEGACY, "none", caller=name, tool="zz_fetch"
        ) as call:
            assert service.seen == []
            assert await browser.walk(call.link, name) == COMPLETE
            assert text_of(await call.go_on()) == '{"token":"200"}'
        # As work outside of a call gets the grant
        grant = await flow.consent_of(server).fresh(User(f"user:{name}", name))
        assert grant
        assert service.seen == [f"Bearer {grant.access_token}"]
        service.seen.clear()


@pytest.mark.parametrize("era", ERAS)
async def test_a_token_that_is_refused_is_renewed_once(
    provider: Provider, browser: Browser, service: Service, era: str
) -> None:
    server = make_service_server(provider, service)
    async with begin_call(server, era, "none", tool="zz_fetch") as call:
        assert await browser.walk(call.link, "ann") == COMPLETE
        old = (await load_grant(server, "ann")).access_token
        service.refused = {f"Bearer {old}"}
        assert text_of(await call.go_on()) == '{"token":"200"}'
        new = (await load_grant(server, "ann")).access_token
        assert service.seen == [f"Bearer {old}", f"Bearer {new}"]
        service.refused = {"everybody"}
        assert text_of(await call.go_on()) == '{"token":"401"}'
        assert len(service.seen) == 4


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("renews", [True, False])
async def test_access_withdrawn_at_the_provider_is_asked_for_again(
    provider: Provider,
    browser: Browser,
    service: Service,
    era: str,
    renews: bool,
) -> None:
    if not renews:
        provider.wrong["without"] = ["refresh_token"]
    server = make_service_server(provider, service)
    async with begin_call(server, era, tool="zz_fetch") as call:
        assert await browser.walk(call.link, "ann") == COMPLETE
        old = (await load_grant(server, "ann")).access_token
        service.refused = {f"Bearer {old}"}
        provider.wrong["refuses"] = "invalid_grant"
        link = (await call.begin()).link  # over stdio and HTTP alike: a link of its own
        assert await load_grant(server, "ann") is None
        del provider.wrong["refuses"]
        assert await browser.walk(link, "ann") == COMPLETE
        assert (await call.go_on())["result"]["structuredContent"] == {"token": "200"}


async def test_a_tool_without_consent_asks_when_the_service_does(
    provider: Provider, browser: Browser, service: Service
) -> None:
    async with begin_call(
        make_service_server(provider, service), LEGACY, "none", tool="zz_open"
    ) as call:
        assert text_of(call.message) == '{"token":"200"}'
        assert service.seen == [None]
        service.refused = {None}
        await call.begin()
        assert text_of(call.message).startswith(REQUIRED)
        assert await browser.walk(call.link, "ann") == COMPLETE
        assert text_of(await call.go_on()) == '{"token":"200"}'


async def test_without_offline_access_no_token_is_made_up(
    provider: Provider, service: Service
) -> None:
    service.refused = {None, "Bearer the only one"}
    async with Client(
        make_service_server(provider, service, enable_offline_access=False)
    ) as client:
        with pytest.raises(ToolError, match="keeps no tokens"):
            await client.call_tool("zz_fetch", {})
    single = {"enable_offline_access": False, "static_credentials": "the only one"}
    async with Client(make_service_server(provider, service, **single)) as client:
        answer = await client.call_tool("zz_fetch", {})
    assert answer.structured_content == {"token": "401"}
    assert service.seen == [None, "Bearer the only one"]
    assert (await service.ask()).token == "401"  # outside of a call
    assert service.seen[2:] == [None]

"""A server in front of an API, with consent: its requests carry the token of the user who calls."""

from collections.abc import Callable
from typing import Any

import httpx2
import pytest
from fastmcp import FastMCP

from copier_fastmcp_engine.api.client import ApiClient
from copier_fastmcp_engine.api.results import ApiResult
from copier_fastmcp_engine.api.settings import ApiSettings
from copier_fastmcp_engine.consent.elicitation import Granted, requires_consent
from copier_fastmcp_engine.consent.settings import ConsentSettings
from copier_fastmcp_engine.declarations import read
from copier_fastmcp_engine.server import build_server
from copier_fastmcp_engine.settings import settings_config
from engine.tests.engine_support.cloud.settings import POLICY
from engine.tests.engine_support.granting import (
    COMPLETE,
    PREFIX,
    REQUIRED,
    add_tools,
    begin_call,
    make_environment,
    text_of,
)
from engine.tests.engine_support.notes import extend
from engine.tests.engine_support.provider import Browser, Provider
from engine.tests.engine_support.raw import LEGACY

pytestmark = pytest.mark.anyio
NOTE = {"id": 1, "title": "A"}
Answer = Callable[[httpx2.Request], httpx2.Response]
MakeServer = Callable[..., FastMCP[Any]]


class Settings(ConsentSettings, ApiSettings):
    """The settings of a server with consent in front of an API."""

    policy = POLICY
    model_config = settings_config(POLICY)


class GrantedApi(ApiClient):
    """The API, with the token of the user where the settings have none."""

    def authentication(self) -> httpx2.Auth:
        """Return what adds the token that the user granted."""
        return Granted()


class Note(ApiResult):
    """A note."""


@pytest.fixture
def make_server(provider: Provider, monkeypatch: pytest.MonkeyPatch) -> MakeServer:
    """Return a function that makes a server in front of an API that answers as another function does."""

    def make(answer: Answer, **settings: str) -> FastMCP[Any]:
        for name, value in make_environment(provider, **settings).items():
            monkeypatch.setenv(name, value)
        clients: list[GrantedApi] = []

        def connect(settings: Any) -> None:
            clients.append(GrantedApi(settings))
            clients[0].transport = httpx2.MockTransport(answer)

        @requires_consent
        async def fetch_note() -> Note:
            return Note.from_response(await clients[0].send("GET", "/notes/1"))

        server = build_server(
            Settings(), connect=connect, extend=extend, instructions="Notes."
        )
        add_tools(server, read(title="Fetch Note")(fetch_note))
        return server

    monkeypatch.setenv(f"{PREFIX}API", "http://api.invalid/v1")
    return make


async def test_a_request_carries_what_its_user_granted(
    provider: Provider, browser: Browser, make_server: MakeServer, era: str
) -> None:
    sent: list[str] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        sent.append(request.headers.get("authorization", ""))
        if len(sent) == 3:
            return httpx2.Response(400, json={"message": f"not with {sent[0]}"})
        return httpx2.Response(401 if len(sent) == 1 else 200, json=NOTE)

    server = make_server(answer)
    async with begin_call(server, era, "none", tool="fetch_note") as call:
        assert text_of(call.message).startswith(REQUIRED)
        assert await browser.walk(call.link, "ann") == COMPLETE
        assert sent == []
        assert "structuredContent" in (await call.go_on())["result"]
        first, _, second = provider.tokens[0], *provider.tokens[1:3]
        assert sent == [f"Bearer {first}", f"Bearer {second}"]
        sent[0] = sent[1]
        assert "not with Bearer ***;" in text_of(await call.go_on())


async def test_a_token_for_everybody_comes_first(
    provider: Provider, browser: Browser, make_server: MakeServer
) -> None:
    sent: list[str] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        sent.append(request.headers.get("authorization", ""))
        return httpx2.Response(200, json=NOTE)

    server = make_server(answer, API_TOKEN="for all")
    async with begin_call(server, LEGACY, "none", tool="fetch_note") as call:
        assert await browser.walk(call.link, "ann") == COMPLETE
        await call.go_on()
    assert sent == ["Bearer for all"]

"""A server before an API, with consent: its requests carry the token of who calls."""

import importlib
from collections.abc import Callable
from typing import Any

import httpx2
import pytest
from attacks.consent.granting import (
    COMPLETE,
    ERAS,
    PREFIX,
    REQUIRED,
    calling,
    text_of,
    variables,
)
from attacks.consent.provider import Browser, Provider
from fastmcp import FastMCP
from nextcloud_login_mcp.server import create_server
from nextcloud_login_mcp.settings import Settings

# The server that these tests run in is another one than mypy knows by this name.
backend: Any = importlib.import_module("nextcloud_login_mcp.backend")
pytestmark = pytest.mark.anyio
NOTE = {"id": 1, "title": "A", "content": "B", "etag": "e"}


@pytest.fixture
def made(provider: Provider, monkeypatch: pytest.MonkeyPatch) -> Callable[..., FastMCP]:
    """A server before an API that answers as a function does."""

    def work(answer: Callable[..., httpx2.Response], **more: str) -> FastMCP:
        for name, value in (variables(provider) | more).items():
            monkeypatch.setenv(name, value)
        server = create_server(Settings())
        backend.api().transport = httpx2.MockTransport(answer)
        return server

    return work


@pytest.mark.parametrize("era", ERAS)
async def test_a_request_carries_what_its_user_granted(
    provider: Provider, browser: Browser, made: Callable[..., FastMCP], era: str
) -> None:
    seen: list[str] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        seen.append(request.headers.get("authorization", ""))
        if len(seen) == 3:
            return httpx2.Response(400, json={"message": f"not with {seen[0]}"})
        return httpx2.Response(401 if len(seen) == 1 else 200, json=NOTE)

    async with calling(made(answer), era, "none", tool="get_note", note_id=1) as call:
        assert text_of(call.message).startswith(REQUIRED)
        assert await browser.walk(call.link, "ann") == COMPLETE
        assert seen == []
        assert "structuredContent" in (await call.go_on())["result"]
        first, _, second = provider.tokens[0], *provider.tokens[1:3]
        assert seen == [f"Bearer {first}", f"Bearer {second}"]
        seen[0] = seen[1]
        assert "not with Bearer ***;" in text_of(await call.go_on())


async def test_a_token_for_everybody_comes_first(
    provider: Provider, browser: Browser, made: Callable[..., FastMCP]
) -> None:
    seen: list[str] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        seen.append(request.headers.get("authorization", ""))
        return httpx2.Response(200, json=NOTE)

    server = made(answer, **{f"{PREFIX}API_TOKEN": "for all"})
    async with calling(server, ERAS[0], "none", tool="get_note", note_id=1) as call:
        assert await browser.walk(call.link, "ann") == COMPLETE
        await call.go_on()
    assert seen == ["Bearer for all"]

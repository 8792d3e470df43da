"""Public tools next to scoped ones on a server without consent, whose author verifies tokens in `extend(mcp)`."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from fastmcp import Client, FastMCP
from fastmcp.client.transports import StreamableHttpTransport
from fastmcp.exceptions import ToolError
from fastmcp.server.auth import AuthProvider, RemoteAuthProvider
from fastmcp.server.auth.providers.jwt import StaticTokenVerifier
from pydantic import AnyHttpUrl

from copier_fastmcp_engine.declarations import read
from copier_fastmcp_engine.errors import StartError
from copier_fastmcp_engine.registry import resource
from engine.tests.consent.test_public import build_call, build_request, post
from engine.tests.engine_support.http_serving import serve_http
from engine.tests.engine_support.notes import extend
from engine.tests.engine_support.targets import make_target_server

pytestmark = pytest.mark.anyio
TOKENS = {
    "plain": {"client_id": "plain", "scopes": ["other"]},
    "able": {"client_id": "able", "scopes": ["zz:read"]},
}
CALLERS = ["", "Bearer broken", "Bearer plain", "Bearer able"]
PROVIDERS = ["tokens", "auth provider"]


@read(title="What everybody may read")
async def zz_open() -> str:
    """Read what is public."""
    return "open"


@read(title="What needs a scope", scopes=["zz:read"])
async def zz_scoped() -> str:
    """Read what is not."""
    return "scoped"


@resource("zz://scoped", name="Scoped", description="For some.", scopes=["zz:read"])
def scoped_resource() -> str:
    return "scoped"


def make_auth(kind: str, base: str) -> AuthProvider:
    """Return what an author sets: a verifier of tokens, or a provider that also says where to get them."""
    verifier = StaticTokenVerifier(TOKENS)
    if kind == "tokens":
        return verifier
    return RemoteAuthProvider(verifier, [AnyHttpUrl("https://login.example.com")], base)


@asynccontextmanager
async def serve_tools(
    monkeypatch: pytest.MonkeyPatch,
    kind: str,
    *,
    public: bool = True,
) -> AsyncIterator[str]:
    """Serve these tools over HTTP; yield the server's address."""

    def make(base: str) -> FastMCP[Any]:
        def extend_server(mcp: FastMCP[Any]) -> None:
            mcp.auth = make_auth(kind, base)
            mcp.add_resource(scoped_resource)

        monkeypatch.setattr(extend, "extend", extend_server)
        return make_target_server(600, zz_open, zz_scoped, public=public)

    async with serve_http(make) as (base, _):
        yield base


# The request, and the status for each caller: without a token, a broken one, one without the scope, one with it
REQUESTS: dict[str, tuple[Any, list[int]]] = {
    "list": (
        build_request("tools/list"),
        [200, 401, 200, 200],
    ),
    "open tool": (
        build_call("zz_open"),
        [200, 401, 200, 200],
    ),
    "scoped tool": (
        build_call("zz_scoped"),
        [401, 401, 403, 200],
    ),
    "scoped resource": (
        build_request("resources/read", uri="zz://scoped"),
        [401, 401, 403, 200],
    ),
    "batch": (
        [build_call("zz_open")],
        [401, 401, 400, 400],
    ),
}


@pytest.mark.parametrize("kind", PROVIDERS)
async def test_each_caller_gets_the_expected_status(
    monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    async with serve_tools(monkeypatch, kind) as base:
        for name, (body, expected) in REQUESTS.items():
            statuses = []
            for token in CALLERS:
                response = await post(base, body, token)
                statuses.append(response.status_code)
            assert statuses == expected, name


async def test_an_auth_provider_says_where_to_get_a_token(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with serve_tools(monkeypatch, "auth provider") as base:
        refused = await post(base, build_call("zz_scoped"))
    challenge = refused.headers["www-authenticate"]
    assert 'scope="zz:read"' in challenge
    assert f"{base}/.well-known/oauth-protected-resource/mcp" in challenge


async def test_what_needs_a_scope_is_listed_to_those_who_lack_it(
    monkeypatch: pytest.MonkeyPatch, era: str
) -> None:
    async with (
        serve_tools(monkeypatch, "tokens") as base,
        Client[Any](f"{base}/mcp", mode=era) as client,
    ):
        names = {tool.name for tool in await client.list_tools()}
        addresses = {str(item.uri) for item in await client.list_resources()}
    assert {"zz_open", "zz_scoped"} <= names
    assert "zz://scoped" in addresses


async def test_a_scope_is_checked_where_the_tool_runs_too(
    monkeypatch: pytest.MonkeyPatch, era: str
) -> None:
    """The front only decides how a refusal looks: here it is out of the way."""
    monkeypatch.setattr("copier_fastmcp_engine.public.PublicFront._needed", _nothing)
    async with serve_tools(monkeypatch, "tokens") as base:
        transport = StreamableHttpTransport(f"{base}/mcp", auth="plain")
        async with Client(transport, mode=era) as client:
            with pytest.raises(ToolError):
                await client.call_tool("zz_scoped", {})


async def _nothing(*arguments: object) -> None:
    return None


async def test_without_the_setting_every_request_needs_a_token(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with serve_tools(monkeypatch, "tokens", public=False) as base:
        for body, _ in REQUESTS.values():
            assert (await post(base, body)).status_code == 401


def test_public_without_a_verifier_stops_the_start() -> None:
    with pytest.raises(StartError, match=r"PUBLIC exempts tools .* set mcp\.auth in"):
        make_target_server(600, zz_open, public=True)

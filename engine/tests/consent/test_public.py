"""Public tools next to scoped tools over HTTP: the status for each caller."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import pytest
from fastmcp import Client, FastMCP
from fastmcp.server.dependencies import get_access_token

from copier_fastmcp_engine.consent.elicitation import requires_consent
from copier_fastmcp_engine.declarations import declaration_of, read
from copier_fastmcp_engine.registry import resource
from copier_fastmcp_engine.tools import build_tool
from engine.tests.engine_support.cloud.server import create_server
from engine.tests.engine_support.cloud.settings import POLICY
from engine.tests.engine_support.granting import ERAS, Held, make_settings
from engine.tests.engine_support.provider import Provider, serve_http
from engine.tests.engine_support.raw import MODERN, Message

pytestmark = pytest.mark.anyio
ACCEPT = {
    "Accept": "application/json, text/event-stream",
    "Content-Type": "application/json",
}
METADATA = 'resource_metadata="{base}/.well-known/oauth-protected-resource/mcp"'


@read(title="Whom the server sees")
async def zz_open() -> Held:
    token = get_access_token()
    return Held(token=token.subject or "" if token else "nobody")


@read(title="What needs a scope", scopes=["zz:read"])
async def zz_scoped() -> Held:
    return Held(token="scoped")


@read(title="What needs an account")
@requires_consent
async def zz_account() -> Held:
    return Held(token="account")


@resource("zz://open", name="Open", description="For everybody.")
def open_resource() -> str:
    return "open"


@resource(
    "zz://scoped/{name}", name="Scoped", description="For some.", scopes=["zz:read"]
)
def scoped_resource(name: str) -> str:
    return name


@asynccontextmanager
async def serve_tools(provider: Provider, **changes: Any) -> AsyncIterator[str]:
    """Serve these tools over HTTP, one in a mounted server; yield the address."""

    def make(base: str) -> FastMCP[Any]:
        server = create_server(make_settings(provider, server_url=base, **changes))
        inner: FastMCP[Any] = FastMCP("inner")
        for function in (zz_open, zz_scoped, zz_account):
            declaration = declaration_of(function)
            assert declaration
            tool = build_tool(POLICY, function, declaration)
            (inner if function is zz_account else server).add_tool(tool)
            if function is zz_scoped:
                inner.add_tool(tool)
        server.mount(inner, namespace="in")
        server.add_resource(open_resource)
        server.add_resource(scoped_resource)
        return server

    async with serve_http(make) as (base, _):
        yield base


def make_headers(provider: Provider) -> dict[str, str]:
    """Return the header of each caller: no token, a broken one, one without the scope, one with it."""
    return {
        "": "",
        "broken": "Bearer e30.e30.x",
        "plain": f"Bearer {provider.token_of('plain', 'other')}",
        "able": f"Bearer {provider.token_of('able', 'zz:read')}",
    }


def build_request(method: str, **params: Any) -> Message:
    """Return a request of the newest era."""
    params["_meta"] = {
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientInfo": {"name": "r", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    return {
        "jsonrpc": "2.0",
        "id": 1,
        "method": method,
        "params": params,
    }


async def post(
    base: str,
    body: Any,
    token: str = "",
    **headers: str,
) -> httpx2.Response:
    """Send a body with the headers that its protocol requires; return the response."""
    if isinstance(body, dict):
        headers["MCP-Protocol-Version"] = MODERN
        headers["Mcp-Method"] = str(body.get("method"))
        params = body.get("params")
        name = None
        if isinstance(params, dict):
            name = params.get("name") or params.get("uri")
        if name:
            headers["Mcp-Name"] = str(name)
    if token:
        headers["Authorization"] = token
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    async with httpx2.AsyncClient() as client:
        return await client.post(
            f"{base}/mcp", content=content, headers=ACCEPT | headers
        )


def build_call(name: str) -> Message:
    return build_request("tools/call", name=name, arguments={})


# The request, and the status for each caller: without a token, a broken one, one without the scope, one with it.
ROWS: dict[str, tuple[Any, tuple[int, int, int, int]]] = {
    "list": (
        build_request("tools/list"),
        (200, 401, 200, 200),
    ),
    "open tool": (
        build_call("zz_open"),
        (200, 401, 200, 200),
    ),
    "scoped tool": (
        build_call("zz_scoped"),
        (401, 401, 403, 200),
    ),
    "mounted scoped tool": (
        build_call("in_zz_scoped"),
        (401, 401, 403, 200),
    ),
    "mounted tool that needs consent": (
        build_call("in_zz_account"),
        (401, 401, 200, 200),
    ),
    "open resource": (
        build_request("resources/read", uri="zz://open"),
        (200, 401, 200, 200),
    ),
    "scoped resource": (
        build_request("resources/read", uri="zz://scoped/a"),
        (401, 401, 403, 200),
    ),
    "batch": (
        [build_call("zz_open")],
        (401, 401, 400, 400),
    ),
    "garbage": (b"{", (401, 401, 400, 400)),
    "nothing": (b"", (401, 401, 400, 400)),
    "deep": (b"[" * 100_000, (401, 401, 400, 400)),
    "too long": (b'{"x": "' + b"x" * 5_000_000 + b'"}', (401, 401, 413, 413)),
    "a name that is none": (
        build_request("tools/call", name=["zz_scoped"]),
        (401, 401, 400, 400),
    ),
    "parameters that are none": (
        build_request("tools/call") | {"params": []},
        (401, 401, 400, 400),
    ),
}


async def test_each_caller_gets_the_expected_status(provider: Provider) -> None:
    async with serve_tools(provider, public=True) as base:
        callers = make_headers(provider)
        for name, (body, expected) in ROWS.items():
            statuses = []
            for token in callers.values():
                response = await post(base, body, token)
                statuses.append(response.status_code)
            assert tuple(statuses) == expected, name


async def test_a_refusal_names_the_scope_and_the_metadata(
    provider: Provider,
) -> None:
    async with serve_tools(provider, public=True) as base:
        callers = make_headers(provider)
        for body in (
            build_call("zz_scoped"),
            build_request("resources/read", uri="zz://scoped/a"),
        ):
            for caller in ("", "plain"):
                response = await post(base, body, callers[caller])
                challenge = response.headers["www-authenticate"]
                assert 'scope="zz:read"' in challenge
                assert METADATA.format(base=base) in challenge
                if caller == "plain":
                    assert 'error="insufficient_scope"' in challenge


async def test_a_caller_without_a_token_stays_anonymous(provider: Provider) -> None:
    async with serve_tools(provider, public=True) as base:
        callers = make_headers(provider)
        anonymous = await post(base, build_call("zz_open"), callers[""])
        plain = await post(base, build_call("zz_open"), callers["plain"])
    assert '"token":"nobody"' in anonymous.text
    assert '"token":"plain"' in plain.text


async def test_a_session_belongs_to_the_caller_who_opened_it(
    provider: Provider,
) -> None:
    params = {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "r", "version": "1"},
    }
    initialize: Message = {"jsonrpc": "2.0", "id": 1, "method": "initialize"}
    content = json.dumps(initialize | {"params": params}).encode()
    listing = b'{"jsonrpc":"2.0","id":2,"method":"tools/list"}'
    async with serve_tools(provider, public=True) as base:
        able = make_headers(provider)["able"]
        opened = await post(base, content, able)
        session = {"Mcp-Session-Id": opened.headers["mcp-session-id"]}
        anonymous = await post(base, listing, "", **session)
        assert anonymous.status_code == 404
        owner = await post(base, listing, able, **session)
        assert owner.status_code == 200
        async with httpx2.AsyncClient() as client:
            for method in ("GET", "DELETE"):
                done = await client.request(
                    method, f"{base}/mcp", headers=ACCEPT | session
                )
                assert done.status_code == 404


@pytest.mark.parametrize("era", ERAS)
async def test_a_client_without_a_token_lists_all_and_calls_what_is_open(
    provider: Provider, era: str
) -> None:
    async with (
        serve_tools(provider, public=True) as base,
        Client[Any](f"{base}/mcp", mode=era) as client,
    ):
        names = {tool.name for tool in await client.list_tools()}
        assert {"zz_open", "zz_scoped", "in_zz_account"} <= names
        result, contents = await asyncio.gather(
            client.call_tool("zz_open"), client.read_resource("zz://open")
        )
        assert result.structured_content == {"token": "nobody"}
        assert contents[0].text == "open"


async def test_without_the_setting_every_request_needs_a_token(
    provider: Provider,
) -> None:
    async with serve_tools(provider) as base:
        for body, _ in ROWS.values():
            assert (await post(base, body)).status_code == 401


async def test_public_needs_a_token_verifier(provider: Provider) -> None:
    fields = dict.fromkeys(["jwt_issuer", "jwt_audience", "jwt_jwks_uri"])
    with pytest.raises(Exception, match=r"PUBLIC exempts tools from what .*JWT_ISSUER"):
        create_server(make_settings(provider, public=True, **fields))

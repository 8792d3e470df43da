"""The tools that consent adds, its three modes, and scopes over HTTP."""

import json
import re
import time
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from fastmcp import Client, FastMCP
from fastmcp.client.transports import StreamableHttpTransport
from fastmcp.exceptions import ToolError

from copier_fastmcp_engine.consent.commands import make_app
from copier_fastmcp_engine.consent.tools import ConsentTools
from copier_fastmcp_engine.declarations import DECLARED
from copier_fastmcp_engine.errors import CouldNotError
from copier_fastmcp_engine.guard import guard_of
from copier_fastmcp_engine.http import listen
from copier_fastmcp_engine.project import Project
from engine.tests.consent.conftest import EACH_POLICY
from engine.tests.engine_support.cloud.server import create_server
from engine.tests.engine_support.cloud.settings import POLICY
from engine.tests.engine_support.granting import (
    CAN,
    COMPLETE,
    DOMAIN,
    ERAS,
    REQUIRED,
    SECRET,
    TIMED_OUT,
    YES,
    Grant,
    begin_call,
    commands,
    expire_link,
    flow,
    load_grant,
    make_cloud_server,
    make_environment,
    make_settings,
    text_of,
)
from engine.tests.engine_support.provider import Browser, Provider, serve_http
from engine.tests.engine_support.raw import LEGACY, MODERN, Message, connect, user

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.parametrize("policy", EACH_POLICY, indirect=True),
    pytest.mark.usefixtures("policy"),
]


@pytest.mark.parametrize("mode", CAN)
async def test_the_link_leads_to_the_provider_with_pkce(
    provider: Provider, browser: Browser, mode: str
) -> None:
    async with begin_call(
        make_cloud_server(provider), LEGACY, mode, tool="check_logged_in"
    ) as call:
        login = (await browser.get(call.link)).headers["location"]
        assert login.startswith(provider.issuer)
        query = httpx2.URL(login).params
        assert query["response_type"] == "code"
        assert query["client_id"] == "this-server"
        base = call.link.split("/oauth/")[0]
        assert query["redirect_uri"] == f"{base}/oauth/callback"
        assert query["scope"] == "openid offline_access"
        assert query["code_challenge_method"] == "S256"
        assert query["state"]
        assert query["nonce"]


async def test_an_answer_after_the_link_expired_is_reported(server: FastMCP) -> None:
    async with begin_call(server, MODERN) as call:
        await expire_link(server, call.link)
        assert text_of(await call.go_on()) == TIMED_OUT


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize(
    ("reply", "status"),
    [
        (YES, "Login not detected"),
        ({"action": "decline"}, "Login declined by user."),
        ({"action": "cancel"}, "Login cancelled by user."),
    ],
)
async def test_check_logged_in_has_four_answers(
    provider: Provider,
    browser: Browser,
    monkeypatch: pytest.MonkeyPatch,
    era: str,
    reply: Message,
    status: str,
) -> None:
    monkeypatch.setattr("copier_fastmcp_engine.consent.elicitation.SETTLE", 0.1)
    server = make_cloud_server(provider)
    async with begin_call(server, era, "form", tool="check_logged_in") as call:
        done = await call.go_on(reply)
        assert done["result"]["structuredContent"] == {"status": status}
        await call.begin()
        assert await browser.walk(call.link, "ann") == COMPLETE
        assert (await call.go_on())["result"]["structuredContent"] == {"status": "yes"}


@pytest.mark.parametrize(
    ("tool", "mode"),
    [(f"request_{DOMAIN}_access", "form"), ("check_logged_in", "url")],
)
async def test_a_login_is_asked_for_until_access_is_granted(
    provider: Provider, browser: Browser, tool: str, mode: str
) -> None:
    server = make_cloud_server(provider)
    async with begin_call(server, LEGACY, mode, tool=tool) as call:
        assert await browser.walk(call.link, "ann") == COMPLETE
        assert (await call.go_on())["result"]["structuredContent"] == {"status": "yes"}
        number = await call.raw.send("tools/call", **call.whole)
        done = await call.raw.receive(number)
        assert done["result"]["structuredContent"] == {"status": "yes"}
        assert len(call.raw.asked) == 1


async def test_a_link_is_provisioned_until_access_is_granted(
    provider: Provider, browser: Browser
) -> None:
    server = make_cloud_server(provider)
    tool = f"provision_{DOMAIN}_access"
    async with begin_call(server, LEGACY, "none", tool=tool) as call:
        started = call.message["result"]["structuredContent"]
        assert started["success"] is True
        assert started["elicitation_id"] in started["authorization_url"]
        assert await browser.walk(started["authorization_url"], "ann") == COMPLETE
        again = (await call.go_on())["result"]["structuredContent"]
    assert again["success"] is True
    assert again["authorization_url"] is None
    assert again["elicitation_id"] is None


async def test_a_grant_can_be_revoked(provider: Provider, browser: Browser) -> None:
    server = make_cloud_server(provider)
    revoke = f"revoke_{DOMAIN}_access"
    async with begin_call(server, LEGACY, "none") as call:
        assert await browser.walk(call.link, "ann") == COMPLETE
        yes = {"action": "accept", "content": {"confirm": True}}
        with user("ann"):
            async with connect(server, LEGACY, yes) as raw:
                arguments = {"name": revoke, "arguments": {"confirm": True}}
                for _ in range(2):
                    done = await raw.receive(await raw.send("tools/call", **arguments))
        assert "result" in done
        assert sorted(provider.revoked) == sorted(provider.tokens)
        assert await load_grant(server, "ann") is None
        await call.begin()
        assert text_of(call.message).startswith(REQUIRED)


async def test_the_tools_say_what_they_do(provider: Provider) -> None:
    for _ in range(2):  # a second server has the same tools
        server = make_cloud_server(provider)
    async with Client(server, mode=MODERN) as client:
        hints = {}
        for tool in await client.list_tools():
            annotations = tool.annotations
            assert annotations
            hints[tool.name] = annotations.read_only_hint, annotations.destructive_hint
    assert hints["check_logged_in"] == (False, False)
    assert hints[f"request_{DOMAIN}_access"] == (False, False)
    assert hints[f"provision_{DOMAIN}_access"] == (False, False)
    assert hints[f"revoke_{DOMAIN}_access"] == (False, True)
    assert hints["check_provisioning_status"][0] is True
    assert len(DECLARED[f"{ConsentTools.__module__}.{DOMAIN}"]) == 5


@pytest.mark.parametrize("name", ["check_provisioning_status", "list_tools"])
async def test_read_only_calls_start_no_login(provider: Provider, name: str) -> None:
    server = make_cloud_server(provider)
    rows: Any = flow.consent_of(server).store
    before = rows._rows._run("SELECT * FROM rows")
    async with Client(server, mode=MODERN) as client:
        if name == "list_tools":
            await client.list_tools()
        else:
            status = await client.call_tool(name, {})
            assert status.structured_content == {
                "provisioned": False,
                "status": None,
                "message": REQUIRED,
            }
    assert rows._rows._run("SELECT * FROM rows") == before
    assert provider.asked == []


def test_the_one_user_of_stdio_has_commands(
    provider: Provider,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    database = str(tmp_path / "consent.db")
    values = make_environment(provider, CONSENT_DATABASE=database, SECRET_KEYS=SECRET)
    for name, value in values.items():
        monkeypatch.setenv(name, value)
    server = make_cloud_server(provider, consent_database=database, secret_keys=SECRET)
    consent = flow.consent_of(server)
    granted_at = time.time()
    grant = Grant(
        subject="ann",
        access_token="t",
        scope="openid",
        expires_at=granted_at + 60,
        granted_at=granted_at,
    )
    commands.status()
    anyio.run(consent.keep, flow.LOCAL, grant)
    commands.status()
    commands.revoke()
    commands.revoke()
    printed = capsys.readouterr().out.splitlines()
    assert printed[0] == printed[3]
    assert printed[0].startswith("no access")
    assert "was granted" in printed[1]
    assert "with openid; it ends" in printed[1]
    assert printed[2] == "revoked"
    assert provider.revoked == ["t"]


def test_the_commands_name_what_renews_itself_and_what_the_provider_was_not_told(
    provider: Provider,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    database = str(tmp_path / "consent.db")
    values = make_environment(provider, CONSENT_DATABASE=database, SECRET_KEYS=SECRET)
    for name, value in values.items():
        monkeypatch.setenv(name, value)
    server = make_cloud_server(provider, consent_database=database, secret_keys=SECRET)
    now = time.time()
    tokens = {"access_token": "t", "refresh_token": "r"}
    grant = Grant(subject="ann", expires_at=now + 60, granted_at=now, **tokens)
    anyio.run(flow.consent_of(server).keep, flow.LOCAL, grant)
    commands.status()
    provider.wrong["down"] = ["/.well-known/openid-configuration"]
    commands.revoke()
    granted, removed = capsys.readouterr().out.splitlines()
    assert granted.endswith("it renews itself")
    assert removed.startswith("removed here; the provider could not be notified")


def test_without_offline_access_the_commands_have_nothing_to_do(
    provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    values = make_environment(provider, ENABLE_OFFLINE_ACCESS="false")
    for name, value in values.items():
        monkeypatch.setenv(name, value)
    for command in (commands.status, commands.revoke):
        with pytest.raises(SystemExit, match=r"^nothing is kept in pass-through mode$"):
            command()


def test_the_commands_have_names() -> None:
    assert {"status", "revoke"} <= {*make_app(Project(POLICY))}


@pytest.mark.parametrize(
    ("address", "names"), [("https://notes.example/x", ["notes.example"]), (None, [])]
)
def test_over_http_the_name_of_the_server_address_is_served(
    provider: Provider,
    monkeypatch: pytest.MonkeyPatch,
    address: str | None,
    names: list[str],
) -> None:
    settings = make_settings(provider, server_url=address, port=0)
    guard = guard_of(create_server(settings))
    options = Message()

    async def run(*_: Any, **more: Any) -> None:
        options.update(more)

    monkeypatch.setattr(guard.mcp, "run_async", run)
    listen(guard, settings)
    assert options["allowed_hosts"] == ["127.0.0.1", *names]


def test_a_store_that_is_away_is_one_line(
    provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("redis")
    values = make_environment(
        provider, STATE="redis://127.0.0.1:1/0", SECRET_KEYS=SECRET
    )
    for name, value in values.items():
        monkeypatch.setenv(name, value)
    for command in (commands.status, commands.revoke):
        with pytest.raises(
            CouldNotError, match="cannot be read at the moment; try again later"
        ):
            command()


async def test_in_pass_through_mode_nothing_is_kept_nor_served_for_it(
    provider: Provider,
) -> None:
    server = make_cloud_server(provider, enable_offline_access=False)
    async with Client(server, mode=MODERN) as client:
        names = {tool.name for tool in await client.list_tools()}
        assert names.isdisjoint({"check_logged_in", f"request_{DOMAIN}_access"})
        with pytest.raises(ToolError, match="keeps no tokens"):
            await client.call_tool("zz_look", {})


async def test_a_single_user_is_never_asked(provider: Provider) -> None:
    single = {"enable_offline_access": False, "static_credentials": "the only one"}
    async with Client(make_cloud_server(provider, **single), mode=MODERN) as client:
        held = await client.call_tool("zz_look", {})
    assert held.structured_content == {"token": "the only one"}


async def test_over_http_a_missing_scope_is_named_and_its_tool_listed(
    provider: Provider,
) -> None:
    async with serve_http(
        lambda base: make_cloud_server(provider, server_url=base)
    ) as (base, _):
        token = provider.token_of("ann", "other:read")
        transport = StreamableHttpTransport(f"{base}/mcp", auth=token)
        async with Client(transport, mode=MODERN) as client:
            assert "zz_look" in {tool.name for tool in await client.list_tools()}
            refusal = await client.call_tool("zz_look", {}, raise_on_error=False)
        assert refusal.is_error
        assert getattr(refusal.content[0], "text", "") == (
            "insufficient_scope: zz_look needs a token with zz:read"
        )
        place = f"{base}/.well-known/oauth-protected-resource/mcp"
        assert place in json.dumps(refusal.meta)
        async with httpx2.AsyncClient() as client_:
            published = (await client_.get(place)).json()
            assert published["authorization_servers"] == [f"{provider.issuer}/"]
            refused = await client_.post(f"{base}/mcp", json={})
        assert refused.status_code == 401
        assert place in refused.headers["www-authenticate"]


async def test_over_http_a_scope_that_all_need_is_refused_by_its_status(
    provider: Provider,
) -> None:
    make = {"jwt_scopes": "all:need"}
    async with serve_http(
        lambda base: make_cloud_server(provider, server_url=base, **make)
    ) as (
        base,
        _,
    ):
        headers = {"Authorization": f"Bearer {provider.token_of('ann', 'zz:read')}"}
        async with httpx2.AsyncClient() as client:
            refused = await client.post(f"{base}/mcp", json={}, headers=headers)
    assert refused.status_code in (401, 403)
    assert 'scope="all:need"' in refused.headers["www-authenticate"]


async def test_below_a_path_a_login_completes_and_the_metadata_is_found(
    provider: Provider, browser: Browser
) -> None:
    async with serve_http(
        lambda base: make_cloud_server(provider, server_url=base), "/notes"
    ) as (
        base,
        _,
    ):
        transport = StreamableHttpTransport(
            f"{base}/mcp", auth=provider.token_of("ann", "zz:read")
        )
        async with Client(transport, mode=MODERN) as client:
            refusal = await client.call_tool("zz_look", {}, raise_on_error=False)
            link = re.search(
                rf"{base}/oauth/\S+", getattr(refusal.content[0], "text", "")
            )
            assert link
            assert await browser.walk(link[0], "ann") == COMPLETE
            held = await client.call_tool("zz_look", {})
        assert held.structured_content == {"token": provider.tokens[0]}
        unscoped = provider.token_of("ann")
        transport = StreamableHttpTransport(f"{base}/mcp", auth=unscoped)
        async with Client(transport, mode=MODERN) as client:
            refusal = await client.call_tool("zz_look", {}, raise_on_error=False)
        challenge = (refusal.meta or {})["mcp/www_authenticate"][0]
        place = re.search('resource_metadata="(.*?)"', challenge)
        assert place
        async with httpx2.AsyncClient() as client_:
            published = (await client_.get(place[1])).json()
        assert published["resource"] == f"{base}/mcp"

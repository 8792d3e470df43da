"""What each kind of client gets when consent is missing, in both protocol eras, over memory, HTTP and stdio."""

import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from fastmcp import Client
from fastmcp.client.elicitation import ElicitResult
from fastmcp.client.transports import StdioTransport, StreamableHttpTransport
from mcp.shared.exceptions import MCPError

from copier_fastmcp_engine.consent.elicitation import requires_consent
from copier_fastmcp_engine.declarations import read
from engine.tests.consent.conftest import MOSTLY_ONE_POLICY
from engine.tests.engine_support.granting import (
    CAN,
    COMMAND,
    COMPLETE,
    DOMAIN,
    ERAS,
    REQUIRED,
    SECRET,
    YES,
    Call,
    Held,
    add_tools,
    begin_call,
    collect_secrets,
    find_link,
    load_grant,
    make_cloud_server,
    make_environment,
    text_of,
)
from engine.tests.engine_support.provider import Browser, Provider, serve_http
from engine.tests.engine_support.raw import LEGACY, MODERN, Message

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.parametrize("policy", MOSTLY_ONE_POLICY, indirect=True),
    pytest.mark.usefixtures("policy"),
]


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("mode", CAN)
async def test_each_client_gets_the_link_in_its_elicitation_mode(
    provider: Provider, browser: Browser, era: str, mode: str
) -> None:
    server = make_cloud_server(provider)
    completions: list[Message] = []  # expected notifications
    async with begin_call(server, era, mode) as call:
        message = call.message
        if mode == "none":
            assert message["result"]["isError"] is True
            assert text_of(message).startswith(REQUIRED)
            assert "call zz_look again" in text_of(message)
        elif era == MODERN:
            question = message["result"]["inputRequests"]["consent"]["params"]
            assert question["mode"] == mode
            assert "elicitationId" not in question
        elif mode == "url":
            error = message["error"]
            assert (error["code"], error["message"]) == (-32042, REQUIRED)
            (question,) = error["data"]["elicitations"]
            assert question["mode"] == "url"
            identifier = question["elicitationId"]
            assert question["url"].endswith(f"?elicitationId={identifier}")
            completions = [{"elicitationId": identifier}]
        else:
            question = message["params"]
            assert question["message"].endswith("check the box below and click OK.")
            assert list(question["requestedSchema"]["properties"]) == ["acknowledged"]
        assert await browser.walk(call.link, "ann") == COMPLETE
        done = await call.go_on()
        assert done["result"]["structuredContent"] == {"token": provider.tokens[0]}
        for notification in call.raw.heard:
            if notification["method"].endswith("/complete"):
                assert notification["params"] == completions.pop()
        assert completions == []
    assert (await load_grant(server, "ann")).subject == "ann"


ANSWERS: dict[str, Message] = {
    "Login declined by user": {"action": "decline"},
    "Login cancelled by user": {"action": "cancel"},
    "Login not detected": YES,
}


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("answer", ANSWERS)
async def test_no_answer_to_a_form_counts_without_a_grant(
    provider: Provider, monkeypatch: pytest.MonkeyPatch, era: str, answer: str
) -> None:
    monkeypatch.setattr("copier_fastmcp_engine.consent.elicitation.SETTLE", 0.1)
    async with begin_call(make_cloud_server(provider), era, "form") as call:
        refusal = text_of(await call.go_on(ANSWERS[answer]))
        assert refusal == f"{REQUIRED}. {answer}; nothing was done."


@pytest.mark.parametrize("era", ERAS)
async def test_a_gated_tool_asks_for_access_and_then_for_the_action(
    provider: Provider, browser: Browser, era: str
) -> None:
    async with begin_call(
        make_cloud_server(provider), era, tool="zz_drop", confirm=True
    ) as call:
        assert await browser.walk(call.link, "ann") == COMPLETE
        if era == MODERN:
            call.message = await call.go_on()
            assert list(call.message["result"]["inputRequests"]) == ["confirmation"]
        else:
            await call.begin()
            assert "Drop what is yours" in call.message["params"]["message"]
        done = await call.go_on({"action": "accept", "content": {"confirm": True}})
        assert done["result"]["structuredContent"]["outcome"] == "applied"


@pytest.mark.parametrize("era", ERAS)
async def test_a_tool_asks_for_the_tools_it_calls(
    provider: Provider, browser: Browser, era: str
) -> None:
    async with begin_call(make_cloud_server(provider), era, tool="zz_outer") as call:
        assert ("error" in call.message) == (era == LEGACY)
        assert await browser.walk(call.link, "ann") == COMPLETE
        assert "token" in (await call.go_on())["result"]["structuredContent"]


@pytest.mark.parametrize("answer", [*ANSWERS][:2])
async def test_an_unopened_link_grants_nothing(provider: Provider, answer: str) -> None:
    async with begin_call(make_cloud_server(provider), MODERN) as call:
        refusal = text_of(await call.go_on(ANSWERS[answer]))
        assert refusal == f"{REQUIRED}. {answer}; nothing was done."


async def test_agreeing_to_open_the_link_is_no_grant(
    provider: Provider, browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("copier_fastmcp_engine.consent.elicitation.WAIT", 0.1)
    async with begin_call(make_cloud_server(provider), MODERN) as call:
        message = await call.go_on()
        assert find_link(message) == call.link
        call.message = message
        assert await browser.walk(call.link, "ann") == COMPLETE
        assert "structuredContent" in (await call.go_on())["result"]


async def test_a_client_that_cannot_show_a_form_gets_the_link_as_text(
    provider: Provider,
) -> None:
    async with begin_call(make_cloud_server(provider), LEGACY, "form") as call:
        await call.raw.post(
            id=call.message["id"], error={"code": -32601, "message": "what?"}
        )
        done = await call.raw.receive(call.number)
        assert find_link(done) == call.link
        assert len(call.raw.asked) == 1
        await call.begin()
        assert len(call.raw.asked) == 1


Function = Callable[..., Any]


def thin(function: Function) -> Function:
    """Another decorator, which hands on no attribute but its `__wrapped__`."""

    async def call() -> Held:
        answer: Held = await function()
        return answer

    call.__name__ = function.__name__
    vars(call)["__wrapped__"] = function
    return call


@pytest.mark.parametrize(
    "order",
    [[thin, requires_consent], [requires_consent, thin]],
    ids=["below", "above"],
)
async def test_other_decorators_hide_no_consent(
    provider: Provider, order: list[Function]
) -> None:
    async def zz_thin() -> Held:
        return Held(token="nobody asked")

    function: Function = zz_thin
    for decorator in order:
        function = decorator(function)
    server = make_cloud_server(provider)
    add_tools(server, read(title="Look")(function))
    async with begin_call(server, LEGACY, "none", tool="zz_thin") as call:
        assert text_of(call.message).startswith(REQUIRED)


async def test_calls_of_one_user_share_a_link(provider: Provider) -> None:
    server = make_cloud_server(provider)
    links = []
    for caller in ("ann", "ann", "bob"):
        async with begin_call(server, MODERN, caller=caller) as call:
            links.append(call.link)
    assert links[0] == links[1] != links[2]


@pytest.mark.parametrize("era", ERAS)
async def test_over_http_a_call_waits_for_its_user(
    provider: Provider, browser: Browser, era: str
) -> None:
    done = []

    async def person(
        message: str, kind: Any, params: Any, ctx: Any
    ) -> ElicitResult[None]:
        done.append(await browser.walk(params.url, "ann"))
        return ElicitResult(action="accept")

    async with serve_http(
        lambda base: make_cloud_server(provider, server_url=base)
    ) as (base, _):
        token = provider.token_of("ann", "zz:read")
        transport = StreamableHttpTransport(f"{base}/mcp", auth=token)
        async with Client(transport, mode=era, elicitation_handler=person) as client:
            if era == LEGACY:
                with pytest.raises(MCPError) as caught:
                    await client.call_tool("zz_look", {})
                assert caught.value.code == -32042
                done.append(await browser.walk(find_link(caught.value.data), "ann"))
            held = await client.call_tool("zz_look", {})
    assert done == [COMPLETE]
    assert held.structured_content == {"token": provider.tokens[-2]}


@pytest.mark.parametrize("era", ERAS)
async def test_over_stdio_a_listener_takes_the_browser_back(
    provider: Provider, browser: Browser, era: str, tmp_path: Path
) -> None:
    done = []

    async def person(
        message: str, kind: Any, params: Any, ctx: Any
    ) -> ElicitResult[None]:
        done.append(await browser.walk(params.url, "ann"))
        return ElicitResult(action="accept")

    database = str(tmp_path / "consent.db")
    environ = {
        **os.environ,
        **make_environment(provider, CONSENT_DATABASE=database, SECRET_KEYS=SECRET),
        "PYTHONPATH": os.pathsep.join(sys.path),
    }
    log = tmp_path / "stderr"
    transport = StdioTransport(
        sys.executable, [*COMMAND, "run"], environ, keep_alive=False, log_file=log
    )
    async with Client(transport, mode=era, elicitation_handler=person) as client:
        first = await client.call_tool(f"request_{DOMAIN}_access", {})
        second = await client.call_tool("check_logged_in", {})
    assert first.structured_content == {"status": "yes"}
    assert second.structured_content == {"status": "yes"}
    assert done == [COMPLETE]
    with pytest.raises(httpx2.ConnectError):
        await browser.get(str(browser.seen[0].url))
    lines = log.read_text()
    for secret in collect_secrets(provider, browser):
        assert secret not in lines


CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome") or ""


@pytest.mark.skipif(
    not CHROMIUM, reason="no Chromium here; on Debian: apt-get install chromium"
)
async def test_a_real_browser_completes_the_login(
    provider: Provider, tmp_path: Path
) -> None:
    provider.wrong["person"] = "ann"  # who fills in the provider's form
    server = make_cloud_server(provider)
    async with begin_call(server, MODERN) as call:
        flags = [
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            f"--user-data-dir={tmp_path}",
        ]
        command = [
            CHROMIUM,
            *flags,
            "--virtual-time-budget=20000",
            "--dump-dom",
            call.link,
        ]
        with anyio.fail_after(60):
            process = await anyio.run_process(command)
        page = process.stdout.decode()
        assert f"<h1>{COMPLETE}</h1>" in page
        assert "You can close this window" in page
        assert "structuredContent" in (await call.go_on())["result"]
    assert (await load_grant(server, "ann")).subject == "ann"


async def test_an_answer_of_another_kind_is_none(
    provider: Provider,
) -> None:
    async with begin_call(make_cloud_server(provider), MODERN) as call:
        refusal = text_of(await call.go_on({"roots": []}))
        assert refusal == f"{REQUIRED}. Login cancelled by user; nothing was done."


async def test_a_request_without_metadata_is_answered(
    provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("copier_fastmcp_engine.consent.elicitation.SETTLE", 0.0)
    server = make_cloud_server(provider)
    async with begin_call(server, LEGACY, "form", tool="check_logged_in") as call:
        await call.raw.post(id=50, method="tools/call", params=call.whole)
        while len(call.raw.asked) < 2:
            await call.raw.next()
        await call.raw.post(id=call.raw.asked[-1]["id"], result=YES)
        done = await call.raw.receive(50)
        status = {"status": "Login not detected"}
        assert done["result"]["structuredContent"] == status


async def test_a_link_is_waited_for_longer_than_a_form(
    provider: Provider, browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("copier_fastmcp_engine.consent.elicitation.SETTLE", 0.0)
    server = make_cloud_server(provider)
    async with begin_call(server, LEGACY, tool="check_logged_in") as call:
        await call.raw.post(id=call.message["id"], result={"action": "accept"})
        await anyio.sleep(0.1)
        assert await browser.walk(call.link, "ann") == COMPLETE
        done = await call.raw.receive(call.number)
        assert done["result"]["structuredContent"] == {"status": "yes"}


async def test_progress_goes_to_the_caller_with_a_progress_token(
    provider: Provider, browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Who sees progress waits for as long as the link is open
    monkeypatch.setattr("copier_fastmcp_engine.consent.elicitation.WAIT", 0.0)
    monkeypatch.setattr("copier_fastmcp_engine.consent.elicitation.PACE", 60.0)
    async with begin_call(make_cloud_server(provider), MODERN) as call:
        meta = {"progressToken": "mine"}
        result = call.message["result"]
        sent = Call(call.raw, "zz_look", {})
        sent.whole |= {
            "inputResponses": {"consent": YES},
            "requestState": result["requestState"],
        }
        about: Message = {
            "io.modelcontextprotocol/protocolVersion": MODERN,
            "io.modelcontextprotocol/clientInfo": {"name": "raw", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": CAN["url"],
        }
        params = sent.whole | {"_meta": about | meta}
        await call.raw.post(id=77, method="tools/call", params=params)
        while not call.raw.heard:
            await call.raw.next()
        (word,) = call.raw.heard
        assert word["method"] == "notifications/progress"
        assert word["params"]["progressToken"] == "mine"
        await anyio.sleep(0.3)  # a second look, within the pace of the reports
        assert await browser.walk(call.link, "ann") == COMPLETE
        assert "structuredContent" in (await call.raw.receive(77))["result"]
        assert len(call.raw.heard) == 1

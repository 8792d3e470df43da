"""An undeclared tool, where the fallback is a page: it runs once after the user approves there."""

import httpx2
import pytest
from fastmcp import Context
from listening import PATIENCE

from engine.tests.engine_support.composing import add_mounted, text_of
from engine.tests.engine_support.paging import answer_page, find_link, make_page_server
from engine.tests.engine_support.raw import LEGACY, MODERN, Message, connect
from engine.tests.engine_support.targets import DONE

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("here")]


@pytest.mark.parametrize("era", [LEGACY, MODERN])
async def test_an_undeclared_tool_asks_on_the_page(era: str) -> None:
    server = make_page_server()
    call: Message = {
        "name": add_mounted(server),
        "arguments": {"name": "a"},
    }
    async with (
        connect(server, era, can={}) as raw,
        httpx2.AsyncClient(timeout=PATIENCE) as browser,
    ):
        first = await raw.receive(await raw.send("tools/call", **call))
        assert first["result"]["isError"]
        assert DONE == []
        assert await answer_page(browser, find_link(first)) == 200
        second = await raw.receive(await raw.send("tools/call", **call))
        assert text_of(second) == '{"destroyed":"a"}'
        third = await raw.receive(await raw.send("tools/call", **call))
        assert third["result"]["isError"]
    assert DONE == ["a"]


async def test_an_undeclared_tool_does_not_see_the_link_and_its_state(
    browser: httpx2.AsyncClient,
) -> None:
    """Its state is ours: a proxied server would refuse it."""
    server = make_page_server()
    rounds: list[object] = []

    @server.tool
    def watch(name: str, ctx: Context) -> None:
        rounds.append((ctx.input_responses, ctx.request_state))

    async with connect(server, MODERN, can={"elicitation": {"url": {}}}) as raw:
        number = await raw.send("tools/call", name="watch", arguments={"name": "a"})
        while number not in raw.came:
            await raw.next()
        result = raw.came[number]["result"]
        ((name, question),) = result["inputRequests"].items()
        assert await answer_page(browser, question["params"]["url"]) == 200
        number = await raw.send(
            "tools/call",
            **raw.sent[0],
            requestState=result["requestState"],
            inputResponses={name: {"action": "accept"}},
        )
        await raw.receive(number)
    assert rounds == [(None, None)]

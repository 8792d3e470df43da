"""Tools that ask the client something themselves, by answering with their question: ours comes first, and once."""

from typing import Any

import pytest
from fastmcp import Context, FastMCP
from fastmcp.server.providers.proxy import FastMCPProxy, ProxyClient
from mcp_types import (
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitResult,
    InputRequiredResult,
)

from copier_fastmcp_engine.declarations import delete
from engine.tests.engine_support.composing import YES, each_era, text
from engine.tests.engine_support.raw import (
    ELICITS,
    LEGACY,
    MODERN,
    Message,
    Raw,
    connect,
    outcome,
)
from engine.tests.engine_support.targets import DONE, built, declare, serving

pytestmark = pytest.mark.anyio
FORM = {"type": "object", "properties": {"n": {"type": "integer"}}}
THREE: Message = {"action": "accept", "content": {"n": 3}}
SEEN: list[object] = []  # what the tool saw of the request, each time it ran


def question(words: str, state: str | None) -> InputRequiredResult:
    """Return a question of the tool itself."""
    params = ElicitRequestFormParams(message=words, requested_schema=FORM)
    return InputRequiredResult(
        input_requests={"how": ElicitRequest(params=params)}, request_state=state
    )


async def weigh(
    name: str, ctx: Context, state: str | None = "1"
) -> str | InputRequiredResult:
    """Ask twice, with or without a state, before anything is done."""
    answers = ctx.input_responses
    SEEN.append((sorted(answers or {}), ctx.request_state))
    if not answers:
        return question("How many?", state)
    if state and ctx.request_state != "2":
        return question("Really?", "2")
    how = answers["how"]
    assert isinstance(how, ElicitResult)
    DONE.append(f"{name}{(how.content or {})['n']}")
    return "weighed"


def ours(server: FastMCP) -> str:
    """Add a declared tool."""
    server.add_tool(built(delete(title="Weigh")(weigh)))
    vars(weigh).pop("__declaration__")
    return "weigh"


def mounted(server: FastMCP) -> str:
    """Mount a server with the tool."""
    child = FastMCP("child")
    child.tool(weigh)
    server.mount(child)
    return "weigh"


def declared(server: FastMCP[Any]) -> str:
    """Mount a server with the tool, and declare its name."""
    declare(server, mounted(server), "delete")
    return "weigh"


def proxied(server: FastMCP) -> str:
    """Mount a proxy of a server with the tool."""
    child = FastMCP("child")
    child.tool(weigh)
    server.mount(FastMCPProxy(client_factory=lambda: ProxyClient(child, mode=MODERN)))
    return "weigh"


WAYS = [ours, mounted, declared, proxied]
STATES = [{"name": "a"}, {"name": "a", "state": None}]


@pytest.fixture(autouse=True)
def _seen() -> None:
    SEEN.clear()


async def first(raw: Raw, **call: object) -> Message:
    """Return the response to a call, without an answer to its question."""
    number = await raw.send("tools/call", **call)
    while number not in raw.came:
        await raw.next()
    return raw.came.pop(number)


async def answered(raw: Raw, message: Message, **answers: Message) -> Message:
    """Send the first call again with answers to a question; return the response."""
    state = message["result"]["requestState"]
    return await first(raw, **raw.sent[0], requestState=state, inputResponses=answers)


def asks(message: Message) -> list[str]:
    """Return the names of the questions in a response."""
    return sorted(message["result"]["inputRequests"])


@pytest.mark.parametrize("arguments", STATES, ids=["state", "no-state"])
@pytest.mark.parametrize("add_tool", WAYS)
async def test_ours_is_asked_once_and_its_own_get_through(
    add_tool: object, arguments: Message
) -> None:
    server = serving()
    assert callable(add_tool)
    tool = add_tool(server)
    async with connect(server, MODERN, YES, THREE) as raw:
        number = await raw.send("tools/call", name=tool, arguments=arguments)
        message = await raw.receive(number)
    expected = (
        [(["how"], None)] if "state" in arguments else [(["how"], "1"), (["how"], "2")]
    )
    assert [([], None), *expected] == SEEN, message
    assert raw.questions[1:] == ["How many?", "Really?"][: len(expected)]
    assert raw.questions[0].lower().startswith("notes-mcp asks: weigh?")
    assert DONE == ["a3"]
    assert outcome(message) == ("applied" if add_tool in (ours, declared) else "None")
    assert "weighed" in text(message)


@pytest.mark.parametrize("add_tool", [ours, mounted])
async def test_an_approval_passes_one_round_of_one_call(add_tool: object) -> None:
    server = serving()
    assert callable(add_tool)
    call: Message = {
        "name": add_tool(server),
        "arguments": {"name": "a"},
    }
    async with connect(server, MODERN, YES) as raw:
        question = await first(raw, **call)
        tool_question = await answered(raw, question, confirmation=YES)
        assert asks(tool_question) == ["how"]
        assert asks(await answered(raw, question, confirmation=YES)) == ["confirmation"]
        assert asks(await answered(raw, tool_question, how=THREE)) == ["how"]
        assert asks(await answered(raw, tool_question, how=THREE)) == ["confirmation"]
        assert asks(await first(raw, **call)) == ["confirmation"]
        elsewhere: Message = {**call, "arguments": {**call["arguments"], "name": "b"}}
        state = tool_question["result"]["requestState"]
        assert "error" in await first(raw, **elsewhere, requestState=state)
    assert DONE == []


async def test_it_is_applied_once_in_two_steps_too() -> None:
    server = serving()
    call: Message = {"name": ours(server), "arguments": {"name": "a", "confirm": True}}
    async with connect(server, MODERN, THREE, can={}) as raw:
        await first(raw, name="weigh", arguments={"name": "a"})
        message = await raw.receive(await raw.send("tools/call", **call))
        assert outcome(message) == "applied"
        assert message["result"]["structuredContent"]["approved_by"] == "client"
        message = await first(raw, **call)
    assert text(message) == (
        "weigh was applied before with these arguments, and is not applied twice"
    )
    assert DONE == ["a3"]


@each_era
async def test_a_no_is_asked_nothing_more(era: str) -> None:
    server = serving()
    mounted(server)
    async with connect(server, era, {"action": "decline"}, can=ELICITS) as raw:
        message = await raw.receive(
            await raw.send("tools/call", name="weigh", arguments={"name": "a"})
        )
    assert text(message) == "The answer was no; weigh changed nothing."
    assert (len(raw.questions), SEEN, DONE) == (1, [], [])


async def test_where_a_call_cannot_be_answered_so_the_client_is_told() -> None:
    server = serving()
    mounted(server)
    async with connect(server, LEGACY, YES) as raw:
        message = await raw.receive(
            await raw.send("tools/call", name="weigh", arguments={"name": "a"})
        )
    assert "only exists at MCP 2026-07-28" in message["error"]["message"]
    assert (len(raw.questions), DONE) == (1, [])

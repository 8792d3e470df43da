"""Tools that ask the client themselves, by returning a question: the gate's question comes first, and once."""

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
from engine.tests.engine_support.composing import YES, each_era, text_of
from engine.tests.engine_support.raw import (
    ELICITS,
    LEGACY,
    MODERN,
    Message,
    Raw,
    connect,
    outcome,
)
from engine.tests.engine_support.targets import (
    DONE,
    build_policy_tool,
    declare,
    make_target_server,
)

pytestmark = pytest.mark.anyio
FORM = {"type": "object", "properties": {"n": {"type": "integer"}}}
THREE: Message = {"action": "accept", "content": {"n": 3}}
SEEN: list[object] = []  # what the tool saw of the request, each time it ran


def build_question(words: str, state: str | None) -> InputRequiredResult:
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
        return build_question("How many?", state)
    if state and ctx.request_state != "2":
        return build_question("Really?", "2")
    how = answers["how"]
    assert isinstance(how, ElicitResult)
    DONE.append(f"{name}{(how.content or {})['n']}")
    return "weighed"


def add_policy_tool(server: FastMCP) -> str:
    """Add a declared tool."""
    server.add_tool(build_policy_tool(delete(title="Weigh")(weigh)))
    vars(weigh).pop("__declaration__")
    return "weigh"


def mount_tool(server: FastMCP) -> str:
    """Mount a server with the tool."""
    child = FastMCP("child")
    child.tool(weigh)
    server.mount(child)
    return "weigh"


def mount_declared_tool(server: FastMCP[Any]) -> str:
    """Mount a server with the tool, and declare its name."""
    declare(server, mount_tool(server), "delete")
    return "weigh"


def mount_proxy(server: FastMCP) -> str:
    """Mount a proxy of a server with the tool."""
    child = FastMCP("child")
    child.tool(weigh)
    server.mount(FastMCPProxy(client_factory=lambda: ProxyClient(child, mode=MODERN)))
    return "weigh"


WAYS = [add_policy_tool, mount_tool, mount_declared_tool, mount_proxy]
STATES = [
    {"name": "a"},
    {"name": "a", "state": None},
]


@pytest.fixture(autouse=True)
def _seen() -> None:
    SEEN.clear()


async def call_unanswered(raw: Raw, **call: object) -> Message:
    """Return the response to a call, without an answer to its question."""
    number = await raw.send("tools/call", **call)
    while number not in raw.came:
        await raw.next()
    return raw.came.pop(number)


async def answer_question(raw: Raw, message: Message, **answers: Message) -> Message:
    """Send the first call again with answers to a question; return the response."""
    state = message["result"]["requestState"]
    return await call_unanswered(
        raw,
        **raw.sent[0],
        requestState=state,
        inputResponses=answers,
    )


def list_questions(message: Message) -> list[str]:
    """Return the names of the questions in a response."""
    return sorted(message["result"]["inputRequests"])


@pytest.mark.parametrize("arguments", STATES, ids=["state", "no-state"])
@pytest.mark.parametrize("add_tool", WAYS)
async def test_the_gate_asks_once_and_the_questions_of_the_tool_follow(
    add_tool: object, arguments: Message
) -> None:
    server = make_target_server()
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
    assert outcome(message) == (
        "applied" if add_tool in (add_policy_tool, mount_declared_tool) else "None"
    )
    assert "weighed" in text_of(message)


@pytest.mark.parametrize("add_tool", [add_policy_tool, mount_tool])
async def test_an_approval_passes_one_round_of_one_call(add_tool: object) -> None:
    server = make_target_server()
    assert callable(add_tool)
    call: Message = {
        "name": add_tool(server),
        "arguments": {"name": "a"},
    }
    async with connect(server, MODERN, YES) as raw:
        question = await call_unanswered(raw, **call)
        tool_question = await answer_question(raw, question, confirmation=YES)
        assert list_questions(tool_question) == ["how"]
        assert list_questions(
            await answer_question(raw, question, confirmation=YES)
        ) == ["confirmation"]
        assert list_questions(await answer_question(raw, tool_question, how=THREE)) == [
            "how"
        ]
        assert list_questions(await answer_question(raw, tool_question, how=THREE)) == [
            "confirmation"
        ]
        assert list_questions(await call_unanswered(raw, **call)) == ["confirmation"]
        elsewhere: Message = {**call, "arguments": {**call["arguments"], "name": "b"}}
        state = tool_question["result"]["requestState"]
        assert "error" in await call_unanswered(raw, **elsewhere, requestState=state)
    assert DONE == []


async def test_a_tool_with_questions_is_applied_once_in_two_steps() -> None:
    server = make_target_server()
    call: Message = {
        "name": add_policy_tool(server),
        "arguments": {"name": "a", "confirm": True},
    }
    async with connect(server, MODERN, THREE, can={}) as raw:
        await call_unanswered(raw, name="weigh", arguments={"name": "a"})
        message = await raw.receive(await raw.send("tools/call", **call))
        assert outcome(message) == "applied"
        assert message["result"]["structuredContent"]["approved_by"] == "client"
        message = await call_unanswered(raw, **call)
    assert text_of(message) == (
        "weigh was applied before with these arguments, and is not applied twice"
    )
    assert DONE == ["a3"]


@each_era
async def test_after_a_no_the_tool_asks_nothing(era: str) -> None:
    server = make_target_server()
    mount_tool(server)
    async with connect(server, era, {"action": "decline"}, can=ELICITS) as raw:
        message = await raw.receive(
            await raw.send("tools/call", name="weigh", arguments={"name": "a"})
        )
    assert text_of(message) == "The answer was no; weigh changed nothing."
    assert (len(raw.questions), SEEN, DONE) == (1, [], [])


async def test_a_legacy_client_is_told_that_the_tool_cannot_ask() -> None:
    server = make_target_server()
    mount_tool(server)
    async with connect(server, LEGACY, YES) as raw:
        message = await raw.receive(
            await raw.send("tools/call", name="weigh", arguments={"name": "a"})
        )
    assert "only exists at MCP 2026-07-28" in message["error"]["message"]
    assert (len(raw.questions), DONE) == (1, [])

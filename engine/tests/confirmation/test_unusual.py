"""Tools with unusual signatures: each is asked for, and applied as it was called, in both eras."""

import functools
import threading
from collections.abc import Callable
from typing import Annotated, Any, ParamSpec, TypeVar

import pytest
from fastmcp import Client, Context, FastMCP
from fastmcp.client.elicitation import ElicitResult
from fastmcp.dependencies import Depends
from pydantic import BaseModel, Field, SecretStr

from copier_fastmcp_engine.declarations import Exemption, create, delete
from engine.tests.engine_support.notes.server import create_server
from engine.tests.engine_support.raw import LEGACY, MODERN, Message
from engine.tests.engine_support.targets import SETTINGS, build_policy_tool

P = ParamSpec("P")
R = TypeVar("R")
DONE: list[str] = []
QUESTIONS: list[str] = []
Which = Annotated[str, Field(description="Which.")]


class Gone(BaseModel):
    """Result of the tools below."""

    name: str


def connection() -> object:
    """Something to inject."""
    return object()


CONNECTION: Any = Depends(connection)


@delete(title="Injected", confirm=True)
async def injected(name: Which, ctx: Context, db: Any = CONNECTION) -> Gone:
    """Take two parameters that no client sees."""
    DONE.append("injected")
    return Gone(name=name)


@delete(title="Renamed", confirm="From {from}?")
async def renamed(
    from_: Annotated[str, Field(description="Which.", alias="from")],
) -> list[Gone]:
    """Take a parameter whose wire name is not a Python name."""
    DONE.append("renamed")
    return [Gone(name=from_)]


@delete(title="Own parameter", confirm=True)
async def own(
    name: Which, confirm: Annotated[bool, Field(description="Mine.")] = False
) -> None:
    """Have the gate's parameter among its own."""
    assert confirm
    DONE.append("own")


@delete(title="Secret", confirm=True)
async def secret(name: Annotated[SecretStr, Field(description="Which.")]) -> None:
    """Take what no question may show."""
    DONE.append(name.get_secret_value())


@delete(title="Outer", confirm=True)
async def outer(name: Which, ctx: Context) -> Gone:
    """Call another gated tool."""
    result = await ctx.fastmcp.call_tool("injected", {"name": name})
    assert (result.structured_content or {})["outcome"] == "applied"
    DONE.append("outer")
    return Gone(name=name)


def counted(function: Callable[P, R]) -> Callable[P, R]:
    """A decorator of somebody else's."""

    @functools.wraps(function)
    def call(*arguments: P.args, **named: P.kwargs) -> R:
        DONE.append("counted")
        return function(*arguments, **named)

    return call


@counted
@delete(title="Decorated", confirm=True)
@counted
def decorated(name: Which) -> Gone:
    """Be no coroutine, between two decorators of somebody else's."""
    DONE.append(
        "main" if threading.current_thread() is threading.main_thread() else "thread"
    )
    return Gone(name=name)


WHY = Exemption(hint="confirm", value=False, why="What it calls asks.")


@create(title="Its own client", confirm=False, exceptions=[WHY])
async def client_of_itself(era: Which, ctx: Context) -> Gone:
    """Be a client of the server that serves it."""
    async with Client(ctx.fastmcp, mode=era, elicitation_handler=person) as client:
        await client.call_tool("injected", {"name": "inner"})
    return Gone(name=era)


async def person(question: str, *_: object) -> ElicitResult[dict[str, bool]]:
    """Agree to everything."""
    QUESTIONS.append(question.split("asks: ")[1])
    return ElicitResult(action="accept", content={"confirm": True})


# tool: what it is called with, what the person is asked, what is done.
CALLS: dict[str, tuple[Message, list[str], list[str]]] = {
    "injected": (
        {"name": "a"},
        ["Injected?\nname: a"],
        ["injected"],
    ),
    "renamed": (
        {"from": "b"},
        ["From b?\nfrom: b"],
        ["renamed"],
    ),
    "own": (
        {"name": "c"},
        ["Own parameter?\nname: c"],
        ["own"],
    ),
    "outer": (
        {"name": "d"},
        ["Outer?\nname: d", "Injected?\nname: d"],
        ["injected", "outer"],
    ),
    "decorated": (
        {"name": "e"},
        ["Decorated?\nname: e"],
        ["counted", "counted", "thread"],
    ),
    "client_of_itself": ({}, ["Injected?\nname: inner"], ["injected"]),
}
pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("era", [LEGACY, MODERN])]


@pytest.fixture
def server() -> FastMCP:
    DONE.clear()
    QUESTIONS.clear()
    notes_server = create_server(SETTINGS)
    for function in (
        injected,
        renamed,
        own,
        secret,
        outer,
        decorated,
        client_of_itself,
    ):
        notes_server.add_tool(build_policy_tool(function))
    return notes_server


@pytest.mark.parametrize("tool", CALLS)
async def test_an_unusual_tool_is_applied_after_its_question(
    server: FastMCP, tool: str, era: str
) -> None:
    arguments, questions, done = CALLS[tool]
    if tool == "client_of_itself":
        arguments = {"era": era}
    async with Client(server, mode=era, elicitation_handler=person) as client:
        await client.call_tool(tool, arguments)
    assert (questions, done) == (QUESTIONS, DONE)


@pytest.mark.parametrize("tool", ["injected", "renamed", "own", "decorated"])
async def test_an_unusual_tool_is_applied_in_two_steps(
    server: FastMCP, tool: str, era: str
) -> None:
    arguments, _, done = CALLS[tool]
    async with Client(server, mode=era) as client:
        await client.call_tool(tool, arguments)
        assert DONE == []
        await client.call_tool(tool, arguments | {"confirm": True})
    assert done == DONE


async def test_a_secret_is_bound_but_not_shown(server: FastMCP, era: str) -> None:
    async with Client(server, mode=era) as client:
        first = (await client.call_tool("secret", {"name": "a"})).structured_content
        sent = {"name": "b", "confirm": True}
        second = await client.call_tool("secret", sent, raise_on_error=False)
    assert first is not None
    assert first["preview"]["question"] == "Secret?"
    assert first["preview"]["arguments"] == {"name": "**********"}
    assert second.is_error
    assert DONE == []


async def test_a_tool_that_calls_a_gated_one_has_no_two_steps(
    server: FastMCP, era: str
) -> None:
    async with Client(server, mode=era) as client:
        await client.call_tool("outer", {"name": "d"})
        arguments = {"name": "d", "confirm": True}
        refused = await client.call_tool("outer", arguments, raise_on_error=False)
    assert refused.is_error
    assert refused.content[0].text.startswith("injected needs")
    assert DONE == []

"""A tool keeps its declaration and its gate whatever else decorates it, and whether it is `async def` or `def`."""

import functools
import threading
from collections.abc import Callable
from typing import Annotated, Any, ParamSpec, TypeVar

import pytest
from attacks.gate.attacked import SETTINGS, built
from attacks.raw import LEGACY, MODERN
from fastmcp import Client
from fastmcp.client.elicitation import ElicitResult
from notes_mcp.policy import delete
from notes_mcp.server import create_server
from pydantic import BaseModel, Field

P = ParamSpec("P")
R = TypeVar("R")
Which = Annotated[str, Field(description="Which.")]
HAPPENED: list[str] = []


class Gone(BaseModel):
    """Result of the tools below."""

    name: str


def counted(function: Callable[P, R]) -> Callable[P, R]:
    """A decorator of somebody else's, made with functools.wraps."""

    @functools.wraps(function)
    def call(*arguments: P.args, **named: P.kwargs) -> R:
        HAPPENED.append("counted")
        return function(*arguments, **named)

    return call


@counted
@delete(title="Above", confirm="Above {name}?")
async def above(name: Which) -> Gone:
    """Have another decorator above the policy's."""
    HAPPENED.append("done")
    return Gone(name=name)


@delete(title="Below", confirm="Below {name}?")
@counted
async def below(name: Which) -> Gone:
    """Have another decorator below the policy's."""
    HAPPENED.append("done")
    return Gone(name=name)


@delete(title="Plain", confirm="Plain {name}?")
def plain(name: Which) -> Gone:
    """Be no coroutine."""
    HAPPENED.append("done" if threading.current_thread() is threading.main_thread() else "thread")
    return Gone(name=name)


# tool: what happens, in order, once a person agreed
TOOLS: dict[str, tuple[Callable[..., object], list[str]]] = {
    "above": (above, ["counted", "done"]),
    "below": (below, ["counted", "done"]),
    "plain": (plain, ["thread"]),
}


@pytest.mark.anyio
@pytest.mark.parametrize("agrees", [True, False], ids=["agrees", "declines"])
@pytest.mark.parametrize("era", [LEGACY, MODERN])
@pytest.mark.parametrize("name", TOOLS)
async def test_it_is_gated_and_runs_whole(name: str, era: str, agrees: bool) -> None:
    HAPPENED.clear()
    questions: list[str] = []

    async def person(question: str, *rest: object) -> ElicitResult[Any]:
        questions.append(question)
        return ElicitResult(action="accept", content={"confirm": agrees})

    function, expected = TOOLS[name]
    server = create_server(SETTINGS)
    server.add_tool(built(function))
    async with Client(server, mode=era, elicitation_handler=person) as client:
        (tool,) = [tool for tool in await client.list_tools() if tool.name == name]
        assert tool.title == name.title()
        assert set(tool.input_schema["properties"]) == {"name", "confirm"}
        answer = (await client.call_tool(name, {"name": "a"})).structured_content
    assert questions == [f"{server.name} asks: {name.title()} a?"]
    assert answer is not None
    assert answer["result"] == ({"name": "a"} if agrees else None)
    assert (expected if agrees else []) == HAPPENED

"""A destructive tool that nobody declared: refused at the start, and asked for when it comes late."""

import functools
import re
from collections.abc import Callable

import pytest
from fastmcp import Client, FastMCP
from fastmcp.exceptions import ToolError
from fastmcp.server.auth import require_scopes
from fastmcp.tools import Tool
from mcp_types import ToolAnnotations

from copier_fastmcp_engine.errors import StartError
from copier_fastmcp_engine.guard import guard_of
from engine.tests.engine_support.composing import destroy
from engine.tests.engine_support.notes import extend
from engine.tests.engine_support.targets import DONE, make_target_server

DESTROYS = ToolAnnotations(destructive_hint=True)


@pytest.mark.anyio
@pytest.mark.parametrize("late", [False, True], ids=["at-start", "late"])
@pytest.mark.parametrize("how", ["plain", "mounted", "scoped"])
async def test_an_undeclared_destructive_tool_does_not_run(
    how: str, late: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def destroy_here() -> None:
        DONE.append("by hand")

    def add(server: FastMCP) -> None:
        owner = server if how == "plain" else FastMCP("child")
        scopes = require_scopes("x") if how == "scoped" else None
        owner.tool(destroy_here, annotations=DESTROYS, auth=scopes, name="destroy")
        if owner is not server:
            server.mount(owner)

    if not late:
        monkeypatch.setattr(extend, "extend", add)
        with pytest.raises(
            StartError,
            match=rf"\A{re.escape(__file__)}: the destructive tool destroy has no gate.*\Z",
        ):
            make_target_server()
        return
    server = make_target_server()
    add(server)
    async with Client(server) as client:
        with pytest.raises(ToolError, match="destroy needs a person's confirmation"):
            await client.call_tool("destroy")
    assert DONE == []


def add_partial(server: FastMCP) -> str:
    """Add a partial function, which has no code of its own; return the file of its function."""
    function = functools.partial(destroy, name="a")
    tool = Tool.from_function(function, name="destroy", annotations=DESTROYS)
    server.add_tool(tool)
    return destroy.__code__.co_filename


def add_tool_without_function(server: FastMCP) -> str:
    """Mount a server whose tool has no function of ours, as that of an API has none."""

    class RemoteTool(Tool):
        """A tool of another process."""

    parameters = Tool.from_function(destroy).parameters
    child = FastMCP("child")
    child.add_tool(
        RemoteTool(name="destroy", parameters=parameters, annotations=DESTROYS)
    )
    server.mount(child)
    return "a mounted server"


@pytest.mark.parametrize("add", [add_partial, add_tool_without_function])
def test_the_refusal_of_a_destructive_tool_says_where_it_comes_from(
    add: Callable[[FastMCP], str],
) -> None:
    server = make_target_server()
    place = add(server)
    with pytest.raises(StartError) as refused:
        guard_of(server).check()
    assert str(refused.value).startswith(f"{place}: the destructive tool destroy")

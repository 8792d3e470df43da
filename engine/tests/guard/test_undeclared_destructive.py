"""A destructive tool that nobody declared: refused at the start, and asked for when it comes late."""

import pytest
from fastmcp import Client, FastMCP
from fastmcp.exceptions import ToolError
from fastmcp.server.auth import require_scopes
from mcp_types import ToolAnnotations

from copier_fastmcp_engine.errors import StartError
from engine.tests.engine_support.notes import extend
from engine.tests.engine_support.targets import DONE, make_target_server


@pytest.mark.anyio
@pytest.mark.parametrize("late", [False, True], ids=["at-start", "late"])
@pytest.mark.parametrize("how", ["plain", "mounted", "scoped"])
async def test_an_undeclared_destructive_tool_does_not_run(
    how: str, late: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def destroy() -> None:
        DONE.append("by hand")

    def add(server: FastMCP) -> None:
        owner = server if how == "plain" else FastMCP("child")
        scopes = require_scopes("x") if how == "scoped" else None
        hints = ToolAnnotations(destructive_hint=True)
        owner.tool(destroy, annotations=hints, auth=scopes)
        if owner is not server:
            server.mount(owner)

    if not late:
        monkeypatch.setattr(extend, "extend", add)
        with pytest.raises(
            StartError, match=r"\A.*: the destructive tool destroy has no gate.*\Z"
        ):
            make_target_server()
        return
    server = make_target_server()
    add(server)
    async with Client(server) as client:
        with pytest.raises(ToolError, match="destroy needs a person's confirmation"):
            await client.call_tool("destroy")
    assert DONE == []

"""A destructive tool that nobody declared: refused at the start, and asked for when it comes late."""

import pytest
from fastmcp import Client, FastMCP
from fastmcp.exceptions import ToolError
from fastmcp.server.auth import require_scopes
from mcp_types import ToolAnnotations

from copier_fastmcp_engine.errors import StartError
from engine.tests.engine_support.notes import extend
from engine.tests.engine_support.targets import DONE, serving


@pytest.mark.anyio
@pytest.mark.parametrize("late", [False, True], ids=["at-start", "late"])
@pytest.mark.parametrize("how", ["plain", "mounted", "scoped"])
async def test_tool_by_hand(
    how: str, late: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def destroy() -> None:
        DONE.append("by hand")

    def add(server: FastMCP) -> None:
        other = server if how == "plain" else FastMCP("other")
        scopes = require_scopes("x") if how == "scoped" else None
        other.tool(
            destroy, annotations=ToolAnnotations(destructive_hint=True), auth=scopes
        )
        if other is not server:
            server.mount(other)

    if not late:
        monkeypatch.setattr(extend, "extend", add)
        with pytest.raises(
            StartError, match=r"\A.*: the destructive tool destroy has no gate.*\Z"
        ):
            serving()
        return
    server = serving()
    add(server)
    async with Client(server) as client:
        with pytest.raises(ToolError, match="destroy needs a person's confirmation"):
            await client.call_tool("destroy")
    assert DONE == []

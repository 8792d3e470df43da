"""Which tools an override reaches: those of extend() and of mounts, not those of later; and those taken off the wire."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from fastmcp import Client, FastMCP
from fastmcp.exceptions import ToolError
from fastmcp.server.auth import require_scopes
from texts import (
    module,
    served,
    texts,
    write,
)


def test_dynamic_tools_are_outside_overrides(
    lab: Path, home: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A name unknown at start stays unknown: the tool that takes it later keeps its own words."""

    def late() -> str:
        """My own words."""
        return "late"

    text = "strict: false\ntools: {late: {description: D, enabled: false}, get_meter: {title: T}}"
    mcp = served(write(home / "t.yaml", text))
    assert caplog.messages == [f"{home}/t.yaml: Unknown tool: late (skipped)"]
    mcp.tool(late)
    assert texts(mcp)["tools"]["late"]["description"] == "My own words."
    with pytest.raises(module("engine.errors").StartError, match="Unknown tool: late"):
        served(write(home / "t.yaml", "tools: {late: {description: D}}"))


def test_a_tool_replaced_after_start_is_not_served_from_memory(
    lab: Path, home: Path
) -> None:
    mcp: Any = served(write(home / "t.yaml", "tools: {create_meter: {title: T}}"))
    assert "meter" in str(texts(mcp)["tools"]["create_meter"])
    mcp.local_provider.remove_tool("create_meter")
    assert "create_meter" not in texts(mcp)["tools"]

    def create_meter(volts: int) -> int:
        """Another."""
        return volts

    mcp.tool(create_meter, annotations={"readOnlyHint": True})
    module("engine.guard").guard_of(mcp).trust_reads = ["create_meter"]

    async def work() -> Any:
        async with Client(mcp) as client:
            return (await client.call_tool("create_meter", {"volts": 3})).data

    assert asyncio.run(work()) == 3


def test_tools_of_extend_count_as_known(
    lab: Path, home: Path, monkeypatch: Any
) -> None:
    def ping() -> str:
        """Answer."""
        return "pong"

    monkeypatch.setattr(module("extend"), "extend", lambda mcp: mcp.tool(ping))
    read = texts(
        served(write(home / "t.yaml", "tools: {ping: {title: Are you there?}}"))
    )
    ping_text = read["tools"]["ping"]
    assert (ping_text["title"], ping_text["annotated"]) == (
        "Are you there?",
        "Are you there?",
    )


def test_a_tool_behind_a_scope_counts_as_known(
    lab: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also on a mounted server, which lists only what its caller may see."""
    far = FastMCP("far")

    @far.tool(auth=require_scopes("far:read"))
    def far_tool() -> str:
        """Far away."""
        return "far"

    monkeypatch.setattr(module("extend"), "extend", lambda mcp: mcp.mount(far))
    served(
        write(
            home / "t.yaml", "tools: {delete_meter: {title: T}, far_tool: {title: T}}"
        )
    )


def test_a_tool_taken_off_the_wire_cannot_be_called(lab: Path, home: Path) -> None:
    mcp = served(write(home / "t.yaml", "tools: {create_meter: {enabled: false}}"))

    async def work() -> None:
        async with Client(mcp) as client:
            assert "create_meter" not in {
                tool.name for tool in await client.list_tools()
            }
            with pytest.raises(ToolError, match="Unknown tool"):
                await client.call_tool("create_meter", {"title": "t", "content": "c"})

    asyncio.run(work())

"""A preview counts for the tool that was previewed, also where another tool has its name and its arguments."""

import dataclasses
from pathlib import Path

import pytest
from fastmcp import FastMCP

from engine.tests.engine_support.calls import ACCEPT, CANNOT_ASK, call, message_of
from engine.tests.engine_support.composing import each_era, read_audit_log, text_of
from engine.tests.engine_support.notes.server import (
    TWO_STEP,
    notes_settings,
)
from engine.tests.engine_support.raw import ELICITS, MODERN, connect
from engine.tests.engine_support.targets import (
    DONE,
    build_policy_tool,
    make_target_server,
    wipe,
    wipe_each,
)

pytestmark = pytest.mark.anyio


async def test_servers_that_share_a_store_share_no_preview(tmp_path: Path) -> None:
    servers = []
    for name in ("notes-mcp", "orders-mcp"):
        policy = dataclasses.replace(TWO_STEP, server_name=name)
        settings = notes_settings(policy, state=str(tmp_path / "state"))
        servers.append(make_target_server(settings=settings))
    first, second = servers
    async with connect(first, MODERN, can=CANNOT_ASK) as raw:
        assert await call(raw, "wipe", name="a") == "preview"
    async with connect(second, MODERN, can=CANNOT_ASK) as raw:
        assert await call(raw, "wipe", name="a", confirm=True) == "error"
    assert DONE == []
    async with connect(first, MODERN, can=CANNOT_ASK) as raw:
        assert await call(raw, "wipe", name="a", confirm=True) == "applied"


@each_era
async def test_two_mounts_of_one_tool_share_no_preview(era: str) -> None:
    server = make_target_server()
    for name in ("left", "right"):
        child = FastMCP(name)
        child.add_tool(build_policy_tool(wipe))
        server.mount(child, namespace=name)
    async with connect(server, era, can=CANNOT_ASK) as raw:
        assert await call(raw, "left_wipe", name="a") == "preview"
        message = await message_of(raw, "right_wipe", name="a", confirm=True)
        assert "Call right_wipe without `confirm`" in text_of(message)
        assert DONE == []
        assert await call(raw, "left_wipe", name="a", confirm=True) == "applied"


@each_era
async def test_two_mounts_of_one_server_share_no_preview(era: str) -> None:
    server, child = make_target_server(), make_target_server()
    for name in ("left", "right"):
        server.mount(child, namespace=name)
    async with connect(server, era, can=CANNOT_ASK) as raw:
        assert await call(raw, "left_wipe", name="a") == "preview"
        assert await call(raw, "right_wipe", name="a", confirm=True) == "error"
        assert DONE == []
        assert await call(raw, "left_wipe", name="a", confirm=True) == "applied"


@each_era
async def test_the_audit_log_of_a_mounted_server_has_its_own_names(
    era: str, tmp_path: Path
) -> None:
    file = tmp_path / "audit.jsonl"
    server = make_target_server()
    server.mount(make_target_server(audit=str(file)), namespace="left")
    async with connect(server, era, ACCEPT, can=ELICITS) as raw:
        assert await call(raw, "left_wipe", name="a") == "applied"
    assert {line["tool"] for line in read_audit_log(file)} == {"wipe"}


@each_era
async def test_the_audit_log_names_a_mounted_tool_as_it_is_called(
    era: str, tmp_path: Path
) -> None:
    file = tmp_path / "audit.jsonl"
    server = make_target_server(audit=str(file))
    child = FastMCP("child")
    child.add_tool(build_policy_tool(wipe))
    child.add_tool(build_policy_tool(wipe_each))
    server.mount(child, namespace="left")
    async with connect(server, era, ACCEPT, can=ELICITS) as raw:
        assert await call(raw, "left_wipe", name="a") == "applied"
        await call(raw, "left_wipe_each", names=["b"])
    names = set()
    for line in read_audit_log(file):
        names.add(line["tool"])
    assert names == {"left_wipe", "left_wipe_each", "wipe"}

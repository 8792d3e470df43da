"""FastMCP's search in front of a server: hidden tools are served, gated, worded and checked as before."""

import json
from pathlib import Path
from typing import Any

import pytest
from fastmcp import Client, FastMCP
from fastmcp.server.transforms import Namespace
from fastmcp.server.transforms.search import RegexSearchTransform

from copier_fastmcp_engine.errors import StartError
from engine.tests.engine_support.composing import (
    NO,
    TWO_STEPS,
    YES,
    call_in_two_steps,
    call_tool,
    destroy,
    each_era,
)
from engine.tests.engine_support.notes import extend
from engine.tests.engine_support.notes.server import create_server
from engine.tests.engine_support.raw import Message, connect, outcome
from engine.tests.engine_support.targets import (
    DONE,
    SETTINGS,
    build_policy_tool,
    make_target_server,
    wipe,
)

pytestmark = pytest.mark.anyio


@pytest.fixture
def searched(monkeypatch: pytest.MonkeyPatch) -> None:
    """The seam adds a tool of its own, a namespace and a search."""

    def extended(server: FastMCP) -> None:
        server.add_tool(build_policy_tool(wipe))
        server.add_transform(RegexSearchTransform())
        server.add_transform(Namespace("my"))

    monkeypatch.setattr(extend, "extend", extended)


def make_server(**settings: object) -> FastMCP[Any]:
    """The server with other settings."""
    return create_server(SETTINGS.model_copy(update=settings))


async def search_tools(part: FastMCP, era: str) -> dict[str, Message]:
    """Return the tools that the search finds, by name."""
    async with connect(part, era, can={}) as raw:
        number = await raw.send(
            "tools/call", name="my_search_tools", arguments={"pattern": "note|wipe"}
        )
        message = await raw.receive(number)
    content = message["result"]["structuredContent"]
    return {tool["name"]: tool for tool in content["result"]}


@each_era
@pytest.mark.usefixtures("searched")
async def test_a_search_returns_the_same_definitions_as_a_list(
    era: str, tmp_path: Path
) -> None:
    path = tmp_path / "metadata.yaml"
    texts = {"my_get_note": {"title": "Mine", "description": "Zebra."}}
    path.write_text(json.dumps({"tools": texts}))
    part = make_server(metadata=path)
    for transform in part.transforms:
        if isinstance(transform, RegexSearchTransform):
            search = transform
    search._max_results = 50
    matches = await search_tools(part, era)
    assert matches["my_get_note"]["title"] == "Mine"
    assert matches["my_get_note"]["annotations"]["title"] == "Mine"
    assert matches["my_get_note"]["description"] == "Zebra."
    async with Client(part, mode=era) as client:
        names = {tool.name for tool in await client.list_tools()}
    assert names == {"my_search_tools", "my_call_tool"}
    part._transforms.remove(search)
    async with connect(part, era, can={}) as raw:
        message = await raw.receive(await raw.send("tools/list"))
    assert matches == {tool["name"]: tool for tool in message["result"]["tools"]}


@each_era
@pytest.mark.usefixtures("searched")
async def test_a_gated_call_through_the_search_is_asked_for(era: str) -> None:
    part = make_server()
    for answer, expected in ((NO, "declined"), (YES, "applied")):
        inner = {"name": "my_wipe", "arguments": {"name": "a"}}
        message = await call_tool(part, era, "my_call_tool", answer, **inner)
        assert outcome(message) == expected
    assert DONE == ["a"]
    steps = await call_in_two_steps(
        part, era, "my_wipe", through="my_call_tool", name="b"
    )
    assert steps == TWO_STEPS


@each_era
@pytest.mark.usefixtures("searched")
async def test_a_subset_holds_behind_the_search(era: str) -> None:
    part = make_server(tools=["my_get_note"])
    assert {*await search_tools(part, era)} == {"my_get_note"}
    direct: Message = {"name": "a"}
    indirect: Message = {"name": "my_wipe", "arguments": direct}
    for tool, arguments in (("my_wipe", direct), ("my_call_tool", indirect)):
        message = await call_tool(part, era, tool, YES, **arguments)
        assert message["result"]["isError"], message
    assert DONE == []


@pytest.mark.usefixtures("searched")
def test_settings_are_checked_at_the_start_behind_the_search() -> None:
    with pytest.raises(
        StartError, match=r"no tool is called 'my_get_nots'; there are .*my_get_note"
    ):
        make_server(tools=["my_get_nots"])


@each_era
async def test_the_search_of_a_mounted_server_calls_nothing_undeclared_unasked(
    era: str,
) -> None:
    part, child = make_target_server(), FastMCP("child")
    child.tool(destroy)
    child.add_transform(RegexSearchTransform())
    part.mount(child, namespace="child")
    for answer in (None, NO, YES):
        inner = {"name": "destroy", "arguments": {"name": "a"}}
        message = await call_tool(part, era, "child_call_tool", answer, **inner)
        assert bool(message["result"].get("isError")) is (answer is not YES), message
        assert (["a"] if answer is YES else []) == DONE
    reading = make_server(read_only=True)
    reading.mount(child, namespace="child")
    message = await call_tool(reading, era, "child_call_tool", YES, **inner)
    assert "child_call_tool cannot be called here" in str(message)

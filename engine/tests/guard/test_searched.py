"""A search of FastMCP's in front of a server: what it hides is served, gated, worded and checked as before."""

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
    called,
    destroy,
    each_era,
    in_two_steps,
)
from engine.tests.engine_support.notes import extend
from engine.tests.engine_support.notes.server import create_server
from engine.tests.engine_support.raw import Message, connect, outcome
from engine.tests.engine_support.targets import DONE, SETTINGS, built, serving, wipe

pytestmark = pytest.mark.anyio


@pytest.fixture
def searched(monkeypatch: pytest.MonkeyPatch) -> None:
    """The seam adds a tool of its own, a namespace and a search."""

    def extended(server: FastMCP) -> None:
        server.add_tool(built(wipe))
        server.add_transform(RegexSearchTransform())
        server.add_transform(Namespace("my"))

    monkeypatch.setattr(extend, "extend", extended)


def server(**settings: object) -> FastMCP[Any]:
    """The server with other settings."""
    return create_server(SETTINGS.model_copy(update=settings))


async def found(part: FastMCP, era: str) -> dict[str, Message]:
    """What the search finds, by name."""
    async with connect(part, era, can={}) as raw:
        sent = await raw.send(
            "tools/call", name="my_search_tools", arguments={"pattern": "note|wipe"}
        )
        message = await raw.receive(sent)
    return {
        tool["name"]: tool for tool in message["result"]["structuredContent"]["result"]
    }


@each_era
@pytest.mark.usefixtures("searched")
async def test_what_is_found_is_what_a_list_without_a_search_has(
    era: str, tmp_path: Path
) -> None:
    path = tmp_path / "metadata.yaml"
    texts = {"my_get_note": {"title": "Mine", "description": "Zebra."}}
    path.write_text(json.dumps({"tools": texts}))
    part = server(metadata=path)
    (search,) = [
        each for each in part.transforms if isinstance(each, RegexSearchTransform)
    ]
    search._max_results = 50
    seen = await found(part, era)
    assert (
        seen["my_get_note"]["title"]
        == seen["my_get_note"]["annotations"]["title"]
        == "Mine"
    )
    assert seen["my_get_note"]["description"] == "Zebra."
    async with Client(part, mode=era) as client:
        assert {tool.name for tool in await client.list_tools()} == {
            "my_search_tools",
            "my_call_tool",
        }
    part._transforms.remove(search)
    async with connect(part, era, can={}) as raw:
        listed = (await raw.receive(await raw.send("tools/list")))["result"]["tools"]
    assert seen == {tool["name"]: tool for tool in listed}


@each_era
@pytest.mark.usefixtures("searched")
async def test_a_gated_call_through_the_search_is_asked_for(era: str) -> None:
    part = server()
    for answer, expected in ((NO, "declined"), (YES, "applied")):
        inner = {"name": "my_wipe", "arguments": {"name": "a"}}
        message = await called(part, era, "my_call_tool", answer, **inner)
        assert outcome(message) == expected
    assert DONE == ["a"]
    steps = await in_two_steps(part, era, "my_wipe", through="my_call_tool", name="b")
    assert steps == TWO_STEPS


@each_era
@pytest.mark.usefixtures("searched")
async def test_a_part_is_a_part_behind_the_search(era: str) -> None:
    part = server(tools=["my_get_note"])
    assert {*await found(part, era)} == {"my_get_note"}
    for name, through in (("my_wipe", True), ("my_wipe", False)):
        inner: Message = (
            {"name": name, "arguments": {"name": "a"}} if through else {"name": "a"}
        )
        message = await called(
            part, era, "my_call_tool" if through else name, YES, **inner
        )
        assert message["result"]["isError"], message
    assert DONE == []


@pytest.mark.usefixtures("searched")
def test_what_is_checked_at_the_start_is_checked_behind_the_search() -> None:
    with pytest.raises(
        StartError, match=r"no tool is called 'my_get_nots'; there are .*my_get_note"
    ):
        server(tools=["my_get_nots"])


@each_era
async def test_the_search_of_a_mounted_server_calls_nothing_undeclared_unasked(
    era: str,
) -> None:
    part, child = serving(), FastMCP("child")
    child.tool(destroy)
    child.add_transform(RegexSearchTransform())
    part.mount(child, namespace="child")
    for answer in (None, NO, YES):
        inner = {"name": "destroy", "arguments": {"name": "a"}}
        message = await called(part, era, "child_call_tool", answer, **inner)
        assert bool(message["result"].get("isError")) is (answer is not YES), message
        assert (["a"] if answer is YES else []) == DONE
    reading = server(read_only=True)
    reading.mount(child, namespace="child")
    message = await called(reading, era, "child_call_tool", YES, **inner)
    assert "child_call_tool cannot be called here" in str(message)

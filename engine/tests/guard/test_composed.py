"""Tools that the registry did not build keep their gate, or get one.

Each row ran without a question, or failed, before the check that stops it existed.
"""

import json
from collections.abc import Callable

import pytest
from fastmcp import FastMCP
from fastmcp.server.transforms import ToolTransform
from fastmcp.server.transforms.search import RegexSearchTransform
from fastmcp.tools import Tool
from fastmcp.tools.tool_transform import ToolTransformConfig

from engine.tests.engine_support.composing import (
    NO,
    QUESTIONS,
    TWO_STEPS,
    WAYS,
    YES,
    called,
    destroy,
    each_era,
    in_two_steps,
    mounted,
    plain,
    raze,
    read_only,
    text,
    transformed,
    wire,
)
from engine.tests.engine_support.notes.server import create_server
from engine.tests.engine_support.raw import MODERN, Message, connect, outcome
from engine.tests.engine_support.targets import (
    DONE,
    SETTINGS,
    built,
    declare,
    serving,
    wipe,
)

pytestmark = pytest.mark.anyio


@each_era
@pytest.mark.parametrize("add_tool", WAYS)
async def test_what_nobody_declared_is_asked_for(
    add_tool: Callable[[FastMCP], str], era: str
) -> None:
    server = serving()
    tool = add_tool(server)
    argument = "title" if add_tool is transformed else "name"
    for answer in (None, NO, YES):
        message = await called(server, era, tool, answer, **{argument: "a"})
        assert bool(message["result"].get("isError")) is (answer is not YES), message
        assert (["a"] if answer is YES else []) == DONE
        if answer is None:
            assert f'declare("{tool}", ...)' in json.dumps(message).replace("\\", "")


@each_era
async def test_a_tool_of_the_policy_asks_wherever_it_is_mounted(era: str) -> None:
    server, child = serving(), FastMCP("child")
    child.add_tool(built(wipe))
    child.tool(raze)
    server.mount(child, namespace="child")
    for tool in ("child_wipe", "child_raze"):
        DONE.clear()
        for answer, expected in ((None, "preview"), (NO, "declined"), (YES, "applied")):
            message = await called(server, era, tool, answer, name="a")
            assert outcome(message) == expected, message
            assert len(QUESTIONS) == (answer is not None)
        assert DONE == ["a"]


@each_era
async def test_a_tool_of_the_policy_does_not_run_without_its_server(era: str) -> None:
    alone = FastMCP("alone")
    alone.add_tool(built(wipe))
    message = await called(alone, era, "wipe", YES, name="a")
    assert text(message).startswith("wipe runs through its own server only")
    assert DONE == []


@each_era
async def test_a_declared_name_has_its_hints_and_its_gate(era: str) -> None:
    server = serving()
    tool = mounted(server)
    declare(server, tool, "delete", title="Destroy", why="It is gone.")
    definition = await wire(server, era, tool)
    assert definition["title"] == "Destroy"
    assert definition["annotations"]["title"] == "Destroy"
    assert definition["annotations"].get("destructiveHint") is True
    assert "confirm" in definition["inputSchema"]["properties"]
    assert {"confirmed", "outcome", "result"} <= definition["outputSchema"][
        "properties"
    ].keys()
    for answer, expected in ((NO, "declined"), (YES, "applied")):
        message = await called(server, era, tool, answer, name="a")
        assert outcome(message) == expected, message
    assert message["result"]["structuredContent"]["result"] == {"destroyed": "a"}
    assert await in_two_steps(server, era, tool, name="b") == TWO_STEPS
    assert DONE == ["a", "b"]
    declare(server, tool, "read")
    assert text(await called(server, era, tool, None, name="b")) == '{"destroyed":"b"}'
    assert (await wire(server, era, tool))["annotations"]["readOnlyHint"] is True


def test_a_behavior_that_there_is_not_is_refused() -> None:
    with pytest.raises(
        TypeError, match="'remove' is not a behavior of x; use one of read, create"
    ):
        declare(serving(), "x", "remove")  # type: ignore[arg-type]


@each_era
async def test_its_own_read_only_hint_is_believed_where_the_settings_name_it(
    era: str,
) -> None:
    server = create_server(SETTINGS.model_copy(update={"trust_reads": ["dest*"]}))
    read_only(server)
    message = await called(server, era, "destroy", None, name="a")
    assert text(message) == '{"destroyed":"a"}'
    unhinted = create_server(SETTINGS.model_copy(update={"trust_reads": ["destroy"]}))
    plain(unhinted)
    message = await called(unhinted, era, "destroy", None, name="b")
    assert outcome(message) == "error"
    assert DONE == ["a"]


@each_era
async def test_search_and_renaming_keep_the_gate_and_its_second_step(era: str) -> None:
    server = serving()
    server.add_transform(ToolTransform({"wipe": ToolTransformConfig(name="raze")}))
    message = await called(server, era, "raze", None, name="a")
    assert outcome(message) == "preview"
    server.add_transform(RegexSearchTransform())
    outcomes = await in_two_steps(server, era, "raze", through="call_tool", name="b")
    assert outcomes == TWO_STEPS
    assert DONE == ["b"]


async def own_confirm(name: str, confirm: bool) -> Message:
    """Destroy one, with a parameter of its own that is called as the gate's is."""
    assert confirm
    return destroy(name)


@each_era
async def test_a_declared_tool_may_have_a_confirm_of_its_own(era: str) -> None:
    server, child = serving(), FastMCP("child")
    child.tool(own_confirm)
    server.mount(child)
    declare(server, "own_confirm", "delete")
    assert "own_confirm" in json.dumps(await wire(server, era, "own_confirm"))
    message = await called(server, era, "own_confirm", YES, name="a")
    assert (outcome(message), DONE) == ("applied", ["a"])


@each_era
async def test_a_boolean_is_not_a_number_there_either(era: str) -> None:
    server = serving()

    @server.tool
    def numbered(number: int) -> None:
        DONE.append(str(number))

    message = await called(server, era, "numbered", YES, number=True)
    assert text(message) == "number: true is not of type integer"
    assert DONE == []


@each_era
async def test_an_approval_is_of_one_version(era: str) -> None:
    server = serving()
    for version in ("1", "2"):

        @server.tool(version=version)
        def versioned(name: str, version: str = version) -> None:
            DONE.append(version)

    declare(server, "versioned", "delete")
    async with connect(server, era, can={}) as raw:
        outcomes = []
        for version, confirm in (("1", False), ("2", True), ("1", True)):
            raw.meta = {"fastmcp": {"version": version}}
            arguments = {"name": "a", "confirm": confirm}
            number = await raw.send("tools/call", name="versioned", arguments=arguments)
            outcomes.append(outcome(await raw.receive(number)))
    assert outcomes == ["preview", "error", "applied"]
    assert DONE == ["1"]


ODD: list[object] = [
    {"anyOf": [True, {"type": "integer"}]},
    {"$ref": "#/$defs/again"},
    {"$ref": "#/definitions/nowhere"},
    {"type": ["string", "null"]},
    True,
]


@pytest.mark.parametrize(
    "schema", ODD, ids=["true", "again", "nowhere", "types", "anything"]
)
async def test_a_schema_of_others_may_be_odd(schema: object) -> None:
    server = serving()
    tool = Tool.from_function(destroy)
    recursive = {"anyOf": [{"$ref": "#/$defs/again"}, {"type": "null"}]}
    tool.parameters = {
        "type": "object",
        "properties": {"name": schema},
        "$defs": {"again": recursive},
    }
    server.add_tool(tool)
    message = await called(server, MODERN, "destroy", YES, name="a")
    assert text(message) == '{"destroyed":"a"}', message


async def test_a_schema_of_others_may_name_no_arguments() -> None:
    server = serving()
    tool = Tool.from_function(asynchronous)
    tool.parameters = {"type": "object"}
    server.add_tool(tool)
    declare(server, "asynchronous", "delete")
    message = await called(server, MODERN, "asynchronous", YES)
    assert outcome(message) == "applied", message


async def asynchronous() -> None:
    """Be called with nothing."""

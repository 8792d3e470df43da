"""Tools that the registry did not build keep their gate, or get one.

Each row ran without a question, or failed, before the check that stops it existed.
"""

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Annotated, Any

import pytest
from fastmcp import FastMCP
from fastmcp.server.context import reset_transport, set_transport
from fastmcp.server.transforms import ToolTransform
from fastmcp.server.transforms.search import RegexSearchTransform
from fastmcp.tools import Tool, ToolResult
from fastmcp.tools.tool_transform import ToolTransformConfig
from mcp_types import ToolAnnotations
from pydantic import Field

from copier_fastmcp_engine.declarations import create, delete, read
from copier_fastmcp_engine.guard import guard_of
from copier_fastmcp_engine.policy import Behavior, Policy
from engine.tests.engine_support.composing import (
    NO,
    QUESTIONS,
    TWO_STEPS,
    WAYS,
    YES,
    add_mounted,
    add_read_only,
    add_transformed,
    call_in_two_steps,
    call_tool,
    destroy,
    each_era,
    fetch_definition,
    raze,
    read_audit_log,
    text_of,
)
from engine.tests.engine_support.notes.server import (
    CONFIRM_NOTHING,
    REFUSE,
    TWO_STEP,
    create_server,
    notes_settings,
)
from engine.tests.engine_support.raw import MODERN, Message, connect, outcome, user
from engine.tests.engine_support.targets import (
    DONE,
    SETTINGS,
    Name,
    Wiped,
    build_policy_tool,
    declare,
    declared_by_package,
    make_target_server,
    wipe,
    wipe_each,
)

pytestmark = pytest.mark.anyio


@each_era
@pytest.mark.parametrize("add_tool", WAYS)
async def test_an_undeclared_tool_asks_before_it_runs(
    add_tool: Callable[[FastMCP], str], era: str
) -> None:
    server = make_target_server()
    tool = add_tool(server)
    argument = "title" if add_tool is add_transformed else "name"
    for answer in (None, NO, YES):
        message = await call_tool(server, era, tool, answer, **{argument: "a"})
        assert bool(message["result"].get("isError")) is (answer is not YES), message
        assert (["a"] if answer is YES else []) == DONE
        if answer is None:
            assert f'declare("{tool}", ...)' in json.dumps(message).replace("\\", "")


@each_era
async def test_a_tool_of_the_policy_asks_wherever_it_is_mounted(era: str) -> None:
    server, child = make_target_server(), FastMCP("child")
    child.add_tool(build_policy_tool(wipe))
    child.tool(raze)
    server.mount(child, namespace="child")
    for tool in ("child_wipe", "child_raze"):
        DONE.clear()
        for answer, expected in ((None, "preview"), (NO, "declined"), (YES, "applied")):
            message = await call_tool(server, era, tool, answer, name="a")
            assert outcome(message) == expected, message
            assert len(QUESTIONS) == (answer is not None)
        assert DONE == ["a"]


@each_era
async def test_an_undeclared_tool_of_a_mounted_server_is_asked_for_once(
    era: str,
) -> None:
    child = make_target_server()
    child.tool(destroy)
    server = make_target_server(settings=notes_settings(REFUSE))
    server.mount(child, namespace="child")
    message = await call_tool(server, era, "child_destroy", YES, name="a")
    assert text_of(message) == '{"destroyed":"a"}'
    assert len(QUESTIONS) == 1
    assert DONE == ["a"]


@each_era
async def test_a_tool_that_searches_a_mounted_server_is_not_asked_for(era: str) -> None:
    child = make_target_server()
    child.add_transform(RegexSearchTransform())
    server = make_target_server()
    server.mount(child, namespace="child")
    message = await call_tool(server, era, "child_search_tools", None, pattern="wipe")
    assert "wipe_batch" in json.dumps(message)
    assert not message["result"].get("isError")


@each_era
async def test_a_tool_that_searches_asks_where_it_is_declared_so(era: str) -> None:
    server = make_target_server()
    server.add_transform(RegexSearchTransform())
    declare(server, "search_tools", "delete", title="Search", why="It is gone.")
    message = await call_tool(server, era, "search_tools", NO, pattern="wipe")
    assert outcome(message) == "declined"
    assert len(QUESTIONS) == 1


@create(title="Lend", confirm=False)
async def lend(name: Name) -> Wiped:
    """Call the function of another tool as it is served, past its server."""
    wiped: Wiped = await build_policy_tool(wipe).fn(name=name)
    return wiped


@each_era
async def test_a_gated_function_does_not_run_in_the_call_of_another_tool(
    era: str,
) -> None:
    server = make_target_server(600, lend)
    message = await call_tool(server, era, "lend", YES, name="a")
    assert text_of(message).startswith("a gated tool runs through its server only")
    assert DONE == []


@each_era
async def test_a_gated_function_does_not_run_in_a_resource(era: str) -> None:
    server = make_target_server()

    @server.resource("wiped://all")
    async def lend_to_reader() -> str:
        await build_policy_tool(wipe).fn(name="a")
        return "wiped"

    async with connect(server, era, YES) as raw:
        message = await raw.receive(await raw.send("resources/read", uri="wiped://all"))
    assert "a gated tool runs through its server only" in json.dumps(message)
    assert DONE == []


@each_era
async def test_a_mounted_tool_that_nobody_asks_for_has_one_line_in_the_log(
    era: str, tmp_path: Path
) -> None:
    file = tmp_path / "trail.jsonl"
    server = make_target_server(settings=notes_settings(REFUSE, audit=str(file)))
    child = FastMCP("child")
    child.add_tool(build_policy_tool(wipe_each, CONFIRM_NOTHING))
    server.mount(child, namespace="child")
    await call_tool(server, era, "child_wipe_each", YES, names=[])
    tools = [
        line["tool"] for line in read_audit_log(file) if line["outcome"] != "asked"
    ]
    assert tools == ["child_wipe_each"]


async def preview_raze(name: str) -> Message:
    """Return what would be razed."""
    return {"razed": name}


@delete(title="Raze", confirm="Raze {name}?", preview=preview_raze, scopes=["zz:raze"])
def raze_all(name: str, confirm: bool = False) -> Message:
    """Raze one, with an argument that has the name of the gate's."""
    DONE.append(f"{name} {confirm}")
    return {"razed": name}


@read(title="Look at some", scopes=["zz:read"])
async def look_scoped() -> Wiped:
    """Look at what needs a scope."""
    return Wiped(name="")


@each_era
@pytest.mark.parametrize("lists_scoped", [True, False])
async def test_only_what_needs_scopes_is_listed_to_those_who_lack_them(
    era: str, lists_scoped: bool
) -> None:
    server = make_target_server()
    guard_of(server).lists_scoped = lists_scoped
    scoped = build_policy_tool(look_scoped)
    server.add_tool(scoped)
    server.add_tool(Tool.from_tool(scoped, name="renamed"))
    server.tool(repeat, name="checked", auth=lambda context: False)
    transport = set_transport("streamable-http")
    async with connect(server, era) as raw:
        message = await raw.receive(await raw.send("tools/list"))
    reset_transport(transport)
    names = {tool["name"] for tool in message["result"]["tools"]}
    scoped_names = {"look_scoped", "renamed"}
    assert names & scoped_names == (scoped_names if lists_scoped else set())
    assert "checked" not in names


@each_era
async def test_a_declaration_outside_of_extend_is_for_the_server_of_the_package(
    era: str,
) -> None:
    server = make_target_server()
    server.tool(destroy)
    with declared_by_package("destroy", "read"):
        definition = await fetch_definition(server, era, "destroy")
    assert definition["annotations"]["readOnlyHint"] is True


@pytest.mark.parametrize(
    ("policy", "behavior", "is_replaced", "mentions"),
    [
        (TWO_STEP, "delete", False, True),
        (TWO_STEP, "delete", True, False),
        (TWO_STEP, "read", False, False),
        (REFUSE, "delete", False, False),
    ],
)
async def test_a_description_mentions_two_steps_unless_it_is_replaced(
    policy: Policy, behavior: Behavior, is_replaced: bool, mentions: bool
) -> None:
    server = make_target_server(settings=notes_settings(policy))
    server.tool(destroy)
    declare(server, "destroy", behavior)
    if is_replaced:
        guard_of(server).texts = {"destroy": {"description": "Mine."}}
    definition = await fetch_definition(server, MODERN, "destroy")
    assert ("confirm" in definition["description"]) == mentions


@each_era
async def test_a_renamed_tool_of_the_policy_is_defined_as_before(era: str) -> None:
    server = make_target_server()
    server.add_tool(Tool.from_tool(build_policy_tool(wipe), name="raze"))
    original = await fetch_definition(server, era, "wipe")
    renamed = await fetch_definition(server, era, "raze")
    assert renamed == original | {"name": "raze"}


async def test_a_tool_of_the_policy_keeps_the_description_that_a_transform_gives() -> (
    None
):
    server = make_target_server()
    tool = Tool.from_tool(build_policy_tool(wipe), name="raze", description="Mine.")
    server.add_tool(tool)
    definition = await fetch_definition(server, MODERN, "raze")
    assert definition["description"] == "Mine."


async def test_a_tool_that_is_added_under_a_former_name_is_found() -> None:
    server = make_target_server()
    guard_of(server).formerly["destroy"] = "wipe"
    renamed = await server.get_tool("destroy")
    server.tool(destroy)
    added = await server.get_tool("destroy")
    assert renamed is not None
    assert renamed.name == "wipe"
    assert added is not None
    assert added.name == "destroy"


async def test_a_tool_of_the_policy_keeps_its_declaration_under_a_declared_name() -> (
    None
):
    server = make_target_server()
    server.add_tool(Tool.from_tool(build_policy_tool(wipe), name="raze"))
    declare(server, "raze", "read")
    definition = await fetch_definition(server, MODERN, "raze")
    assert definition["annotations"]["destructiveHint"] is True


@read(title="Repeat")
def repeat(confirm: bool) -> Message:
    """Repeat an argument that has the name of the gate's."""
    return {"confirm": confirm}


@each_era
async def test_a_tool_of_fastmcp_asks_as_its_declaration_says(era: str) -> None:
    server = make_target_server()
    server.tool(raze_all)
    message = await call_tool(server, era, "raze_all", YES, name="a")
    assert outcome(message) == "applied"
    (question,) = QUESTIONS
    assert "Raze a?" in question
    assert "razed: a" in question
    assert await call_in_two_steps(server, era, "raze_all", name="b") == TWO_STEPS
    assert DONE == ["a True", "b True"]


@each_era
async def test_a_tool_of_fastmcp_needs_the_scopes_of_its_declaration(era: str) -> None:
    server = make_target_server()
    server.tool(raze_all)
    transport = set_transport("streamable-http")
    with user("ann"):
        message = await call_tool(server, era, "raze_all", YES, name="a")
    reset_transport(transport)
    assert "needs a token with zz:raze" in text_of(message)
    assert DONE == []


@each_era
async def test_a_tool_that_asks_nothing_gets_its_own_argument_confirm(era: str) -> None:
    server = make_target_server()
    server.tool(repeat)
    for value, text in ((True, "true"), (False, "false")):
        message = await call_tool(server, era, "repeat", None, confirm=value)
        assert text_of(message) == f'{{"confirm":{text}}}'


@each_era
async def test_the_question_about_an_undeclared_tool_has_its_title(era: str) -> None:
    server = make_target_server()
    server.tool(destroy, title="Destroy for good")
    await call_tool(server, era, "destroy", YES, name="a")
    (question,) = QUESTIONS
    assert "Destroy for good?" in question


class TheirTool(Tool):
    """A tool of a server that was made with another copy of the engine."""

    declaration: Any = None
    policy: Any = None

    async def run(self, arguments: dict[str, Any]) -> ToolResult:
        """Run it; that copy asks before, where its policy says so."""
        DONE.append(arguments["name"])
        return ToolResult(structured_content={"destroyed": arguments["name"]})


@each_era
@pytest.mark.parametrize("asks", [True, False, None])
async def test_a_tool_of_another_copy_of_the_engine_is_asked_for_once(
    era: str, asks: bool | None
) -> None:
    child = FastMCP("child")
    policy = SimpleNamespace(is_gated=lambda declaration: asks)
    child.add_tool(
        TheirTool(
            name="raze",
            parameters=Tool.from_function(destroy).parameters,
            declaration=SimpleNamespace(name="raze", behavior="delete", title="Raze"),
            policy=None if asks is None else policy,
        )
    )
    server = make_target_server()
    server.mount(child, namespace="child")
    await call_tool(server, era, "child_raze", YES, name="a")
    assert DONE == ["a"]
    assert len(QUESTIONS) == (not asks)


@read(title="Find")
async def zz_find(
    title: Annotated[str | None, Field(description="Which one.")] = None,
) -> Wiped:
    """Find one."""
    return Wiped(name=title or "")


def find(title: str | None = None) -> str:
    """Find one, undeclared."""
    return title or ""


@each_era
async def test_a_mounted_tool_of_ours_is_defined_as_the_servers_own(era: str) -> None:
    server, child = make_target_server(600, zz_find), FastMCP("child")
    child.add_tool(build_policy_tool(zz_find))
    server.mount(child, namespace="child")
    own = await fetch_definition(server, era, "zz_find")
    mounted = await fetch_definition(server, era, "child_zz_find")
    assert mounted["inputSchema"] == own["inputSchema"]


@each_era
async def test_an_undeclared_tool_is_defined_as_its_author_did(era: str) -> None:
    server, plain = make_target_server(), FastMCP("plain")
    for served in (server, plain):
        served.tool(find)
    own = await fetch_definition(plain, era, "find")
    assert "null" in json.dumps(own["inputSchema"])
    guarded = await fetch_definition(server, era, "find")
    assert guarded["inputSchema"] == own["inputSchema"]


@each_era
@pytest.mark.parametrize(
    ("method", "params"),
    [("resources/read", {"uri": "shelf://none"}), ("prompts/get", {"name": "none"})],
    ids=["resource", "prompt"],
)
async def test_what_is_not_there_is_not_found(
    era: str, method: str, params: Message
) -> None:
    errors = []
    for server in (make_target_server(), FastMCP("plain")):
        async with connect(server, era) as raw:
            message = await raw.receive(await raw.send(method, **params))
        errors.append(message["error"])
    guarded, plain = errors
    assert guarded == plain


@each_era
async def test_a_tool_of_the_policy_does_not_run_without_its_server(era: str) -> None:
    alone = FastMCP("alone")
    alone.add_tool(build_policy_tool(wipe))
    message = await call_tool(alone, era, "wipe", YES, name="a")
    assert text_of(message).startswith("wipe runs through its own server only")
    assert DONE == []


@each_era
async def test_a_declared_name_has_its_hints_and_its_gate(era: str) -> None:
    server = make_target_server()
    tool = add_mounted(server)
    declare(server, tool, "delete", title="Destroy", why="It is gone.")
    definition = await fetch_definition(server, era, tool)
    assert definition["title"] == "Destroy"
    assert definition["annotations"]["title"] == "Destroy"
    assert definition["annotations"].get("destructiveHint") is True
    assert "confirm" in definition["inputSchema"]["properties"]
    assert {"confirmed", "outcome", "result"} <= definition["outputSchema"][
        "properties"
    ].keys()
    for answer, expected in ((NO, "declined"), (YES, "applied")):
        message = await call_tool(server, era, tool, answer, name="a")
        assert outcome(message) == expected, message
    assert message["result"]["structuredContent"]["result"] == {"destroyed": "a"}
    assert await call_in_two_steps(server, era, tool, name="b") == TWO_STEPS
    assert DONE == ["a", "b"]
    declare(server, tool, "read")
    assert (
        text_of(await call_tool(server, era, tool, None, name="b"))
        == '{"destroyed":"b"}'
    )
    assert (await fetch_definition(server, era, tool))["annotations"][
        "readOnlyHint"
    ] is True


def test_an_unknown_behavior_is_refused() -> None:
    with pytest.raises(
        TypeError, match="'remove' is not a behavior of x; use one of read, create"
    ):
        declare(make_target_server(), "x", "remove")  # type: ignore[arg-type]


@each_era
async def test_a_read_only_hint_is_trusted_where_a_setting_names_the_tool(
    era: str,
) -> None:
    server = create_server(SETTINGS.model_copy(update={"trust_reads": ["dest*"]}))
    add_read_only(server)
    message = await call_tool(server, era, "destroy", None, name="a")
    assert text_of(message) == '{"destroyed":"a"}'
    for hints in (None, ToolAnnotations(destructive_hint=False)):
        unhinted = create_server(
            SETTINGS.model_copy(update={"trust_reads": ["destroy"]})
        )
        unhinted.tool(destroy, annotations=hints)
        message = await call_tool(unhinted, era, "destroy", None, name="b")
        assert outcome(message) == "error"
    assert DONE == ["a"]


@each_era
async def test_search_and_renaming_keep_the_gate_and_its_second_step(era: str) -> None:
    server = make_target_server()
    server.add_transform(ToolTransform({"wipe": ToolTransformConfig(name="raze")}))
    message = await call_tool(server, era, "raze", None, name="a")
    assert outcome(message) == "preview"
    server.add_transform(RegexSearchTransform())
    outcomes = await call_in_two_steps(
        server, era, "raze", through="call_tool", name="b"
    )
    assert outcomes == TWO_STEPS
    assert DONE == ["b"]


async def own_confirm(name: str, confirm: bool) -> Message:
    """Destroy one, with a parameter of its own that is called as the gate's is."""
    assert confirm
    return destroy(name)


@each_era
async def test_a_declared_tool_may_have_a_confirm_of_its_own(era: str) -> None:
    server, child = make_target_server(), FastMCP("child")
    child.tool(own_confirm)
    server.mount(child)
    declare(server, "own_confirm", "delete")
    assert "own_confirm" in json.dumps(
        await fetch_definition(server, era, "own_confirm")
    )
    message = await call_tool(server, era, "own_confirm", YES, name="a")
    assert (outcome(message), DONE) == ("applied", ["a"])


@each_era
async def test_a_boolean_is_no_number_in_an_undeclared_tool(era: str) -> None:
    server = make_target_server()

    @server.tool
    def numbered(number: int) -> None:
        DONE.append(str(number))

    message = await call_tool(server, era, "numbered", YES, number=True)
    assert text_of(message) == "number: true is not of type integer"
    assert DONE == []


@each_era
async def test_an_approval_does_not_hold_for_another_version(era: str) -> None:
    server = make_target_server()
    for version in ("1", "2"):

        @server.tool(version=version)
        def versioned(name: str, version: str = version) -> None:
            DONE.append(version)

    declare(server, "versioned", "delete")
    async with connect(server, era, can={}) as raw:
        outcomes = []
        for version, confirm in (("1", False), ("2", True), ("1", True)):
            raw.meta = {"fastmcp": {"version": version}}
            arguments: Message = {"name": "a"}
            if confirm:
                arguments["confirm"] = True
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
async def test_an_unusual_foreign_schema_is_served(schema: object) -> None:
    server = make_target_server()
    tool = Tool.from_function(destroy)
    recursive = {"anyOf": [{"$ref": "#/$defs/again"}, {"type": "null"}]}
    tool.parameters = {
        "type": "object",
        "properties": {"name": schema},
        "$defs": {"again": recursive},
    }
    server.add_tool(tool)
    message = await call_tool(server, MODERN, "destroy", YES, name="a")
    assert text_of(message) == '{"destroyed":"a"}', message


async def test_a_foreign_schema_without_properties_is_served() -> None:
    server = make_target_server()
    tool = Tool.from_function(asynchronous)
    tool.parameters = {"type": "object"}
    server.add_tool(tool)
    declare(server, "asynchronous", "delete")
    message = await call_tool(server, MODERN, "asynchronous", YES)
    assert outcome(message) == "applied", message


async def asynchronous() -> None:
    """Be called with nothing."""

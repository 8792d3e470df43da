"""Tools are served as declared: hints, scopes, read-only; and what a start refuses or reports."""

import dataclasses
import logging
from collections.abc import Callable
from pathlib import Path

import pytest
from fastmcp import FastMCP
from fastmcp.server.auth import AccessToken
from fastmcp.server.context import reset_transport, set_transport
from fastmcp.server.middleware.caching import ResponseCachingMiddleware
from fastmcp.server.transforms import ResourcesAsTools
from fastmcp.server.transforms.search import RegexSearchTransform
from fastmcp.tools import Tool
from mcp.server.auth.middleware.auth_context import auth_context_var
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser

from copier_fastmcp_engine.declarations import declare, read
from copier_fastmcp_engine.errors import StartError
from copier_fastmcp_engine.guard import guard_of
from copier_fastmcp_engine.policy import Behavior, Meaning
from copier_fastmcp_engine.registry import resource
from engine.tests.engine_support.composing import (
    READS,
    add_mounted,
    add_read_only,
    call_tool,
    destroy,
    each_era,
    fetch_definition,
    text_of,
    zz_look,
)
from engine.tests.engine_support.notes import extend
from engine.tests.engine_support.notes.server import TWO_STEP, create_server
from engine.tests.engine_support.notes.server import NotesSettings as Settings
from engine.tests.engine_support.raw import MODERN, Message, connect, outcome
from engine.tests.engine_support.servers import TRUTH, make_server
from engine.tests.engine_support.targets import (
    DONE,
    SETTINGS,
    build_policy_tool,
    make_target_server,
    wipe,
)

OPEN = resource("open://all", name="Open", description="All.")
SCOPED = resource("scoped://all", name="Scoped", description="All.", scopes=["zz:read"])
READ_ONLY = "it may write, and this server is read-only"
pytestmark = pytest.mark.anyio


async def test_hints_changed_on_the_way_stop_the_start_and_are_put_right_when_late(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def add(server: FastMCP) -> None:
        server.add_tool(
            Tool.from_tool(build_policy_tool(wipe), name="raze", annotations=READS)
        )

    server = make_target_server()
    add(server)
    copy = await fetch_definition(server, MODERN, "raze")
    original = await fetch_definition(server, MODERN, "wipe")
    assert copy["annotations"] == original["annotations"]
    monkeypatch.setattr(extend, "extend", add)
    with pytest.raises(
        StartError, match=r"raze is served with other hints than it declares: .*"
    ):
        create_server(SETTINGS)


ALL = {
    "list_tools",
    "list_resources",
    "list_prompts",
    "read_resource",
    "get_prompt",
    "call_tool",
}


@pytest.mark.parametrize(
    ("settings", "refused_tool"),
    [
        ({}, "every tool"),
        (
            {"call_tool_settings": {"included_tools": ["get_note", "delete_note"]}},
            "delete_note",
        ),
        (
            {"call_tool_settings": {"included_tools": ["get_note", "zz_late"]}},
            "zz_late",
        ),
        ({"call_tool_settings": {"included_tools": ["get_note"]}}, None),
        ({"call_tool_settings": {"enabled": False}}, None),
    ],
    ids=["all", "a-write", "a-name-that-is-not-there", "a-read", "none"],
)
def test_a_cache_may_answer_for_declared_reads_alone(
    settings: Message, refused_tool: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = ResponseCachingMiddleware(**settings)
    monkeypatch.setattr(extend, "extend", lambda server: server.add_middleware(cache))
    if refused_tool is None:
        create_server(SETTINGS)
        return
    with pytest.raises(
        StartError, match=rf"CachingMiddleware would answer for {refused_tool};"
    ):
        create_server(SETTINGS)


async def zz_tell() -> Message:
    """Tell something."""
    return {"told": True}


async def zz_open() -> Message:
    """Tell everybody something."""
    return {"told": True}


def make_child(settings: Message) -> FastMCP:
    """A server with a read, a write and what nobody declared, and a cache for some of them."""
    child = FastMCP("child", middleware=[ResponseCachingMiddleware(**settings)])
    child.add_tool(build_policy_tool(zz_look))
    child.add_tool(build_policy_tool(wipe))
    child.tool(zz_tell)
    return child


def cache_calls(*names: str) -> Message:
    """Settings of a cache that answers for calls of some tools, and for nothing that is read."""
    off = {"enabled": False}
    included = {"included_tools": [*names]} if names else off
    return {"call_tool_settings": included, "read_resource_settings": off}


@read(title="Scoped", scopes=["zz:read"])
async def zz_own() -> Message:
    """Look at what needs a scope."""
    return {"told": True}


def test_no_cache_answers_for_a_read_with_scopes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def extend_(server: FastMCP) -> None:
        server.add_tool(build_policy_tool(zz_own))
        server.add_middleware(ResponseCachingMiddleware(**cache_calls("zz_own")))

    monkeypatch.setattr(extend, "extend", extend_)
    with pytest.raises(StartError, match="CachingMiddleware would answer for zz_own;"):
        create_server(SETTINGS)


@pytest.mark.parametrize(
    ("settings", "refused_tool"),
    [
        ({}, "every tool"),
        (cache_calls("zz_look", "wipe"), "wipe"),
        (cache_calls("zz_tell"), "zz_tell"),
        (cache_calls("zz_look", "child_zz_look"), "child_zz_look"),
        (cache_calls("zz_look"), None),
        (cache_calls("zz_look", "zz_told"), "zz_told"),
        (cache_calls(), None),
    ],
    ids=["all", "a-write", "undeclared", "another-name", "a-read", "not-there", "none"],
)
@pytest.mark.parametrize("deep", [False, True], ids=["mounted", "deeper"])
def test_a_mounted_cache_may_answer_for_declared_reads_alone(
    settings: Message,
    refused_tool: str | None,
    deep: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def extend_(server: FastMCP) -> None:
        between = FastMCP("between") if deep else server
        between.mount(
            make_child(settings), namespace="child", tool_names={"zz_tell": "told"}
        )
        if deep:
            server.mount(between)

    monkeypatch.setattr(extend, "extend", extend_)
    if refused_tool is None:
        create_server(SETTINGS)
        return
    with pytest.raises(
        StartError, match=rf"CachingMiddleware would answer for {refused_tool};"
    ):
        create_server(SETTINGS)


def test_a_cache_knows_a_declared_tool_by_its_own_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def extend_(server: FastMCP) -> None:
        server.mount(make_child(cache_calls("zz_tell")), namespace="child")
        declare("child_zz_tell", "read")

    monkeypatch.setattr(extend, "extend", extend_)
    create_server(SETTINGS)


@pytest.mark.parametrize("where", ["child", "here"])
def test_no_cache_answers_for_a_resource_with_scopes(
    where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = ResponseCachingMiddleware(call_tool_settings={"enabled": False})

    def extend_(server: FastMCP) -> None:
        child = FastMCP("child")
        child.add_resource(OPEN(zz_open))
        child.add_resource(SCOPED(zz_tell))
        server.mount(child, namespace="child")
        (server if where == "here" else child).add_middleware(cache)

    monkeypatch.setattr(extend, "extend", extend_)
    with pytest.raises(StartError, match="CachingMiddleware would answer for Scoped;"):
        create_server(SETTINGS)


def test_a_cache_may_answer_for_what_everybody_may_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def extend_(server: FastMCP) -> None:
        server.add_resource(OPEN(zz_open))
        settings: Message = {"call_tool_settings": {"enabled": False}}
        server.add_middleware(ResponseCachingMiddleware(**settings))

    monkeypatch.setattr(extend, "extend", extend_)
    create_server(SETTINGS)


def test_no_cache_answers_for_a_tool_that_calls_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def extend_(server: FastMCP) -> None:
        server.add_transform(RegexSearchTransform())
        server.add_middleware(ResponseCachingMiddleware(**cache_calls("call_tool")))

    monkeypatch.setattr(extend, "extend", extend_)
    with pytest.raises(
        StartError, match="CachingMiddleware would answer for call_tool;"
    ):
        create_server(SETTINGS)


async def test_no_tool_runs_in_the_background() -> None:
    server = make_target_server()
    task = Tool.from_function(asynchronous, task=True)
    server.add_tool(task)
    assert await server.get_tasks() == []
    tool = await server.get_tool("asynchronous")
    assert tool
    assert tool.task_config.mode == "forbidden"


async def asynchronous(name: str) -> None:
    """Be something that could run as a task."""
    DONE.append(name)


async def test_an_undeclared_tool_is_named_at_the_start(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(extend, "extend", add_mounted)
    create_server(SETTINGS)
    (record,) = [line for line in caplog.records if line.levelno == logging.WARNING]
    assert record.getMessage().startswith(
        "a person is asked before undeclared child_destroy: say what it does"
    )
    caplog.clear()

    def extended(server: FastMCP) -> None:
        add_mounted(server)
        declare("child_destroy", "read")

    monkeypatch.setattr(extend, "extend", extended)
    create_server(SETTINGS)
    assert caplog.records == []


def add_resource_tools(server: FastMCP) -> None:
    """Add FastMCP's tools for resources, which only read those of the server."""
    server.add_transform(ResourcesAsTools(server))


@pytest.mark.parametrize("add", [add_read_only, add_resource_tools])
def test_nobody_is_asked_to_declare_a_trusted_read_or_a_tool_of_fastmcp(
    add: Callable[[FastMCP], object],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(extend, "extend", add)
    create_server(SETTINGS, trust_reads=["destroy"])
    assert caplog.records == []


@pytest.mark.parametrize("behavior", ["read", "delete"])
def test_a_file_describes_confirm_of_a_tool_that_asks(
    behavior: Behavior, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path = tmp_path / "metadata.yaml"
    path.write_text(
        "tools:\n  destroy: {arguments: {confirm: {description: Whether to go on.}}}\n"
    )

    def extend_(server: FastMCP) -> None:
        server.tool(destroy)
        declare("destroy", behavior)

    monkeypatch.setattr(extend, "extend", extend_)
    if behavior == "delete":
        create_server(SETTINGS, metadata=path)
        return
    with pytest.raises(StartError, match="'destroy' has no argument 'confirm'"):
        create_server(SETTINGS, metadata=path)


def test_a_hint_that_the_profile_leaves_out_is_no_other_hint() -> None:
    behaviors = {
        **TWO_STEP.behaviors,
        "read": Meaning.parse("read", TRUTH["read"], "always never true false"),
    }
    policy = dataclasses.replace(TWO_STEP, behaviors=behaviors)
    server = make_server(policy, zz_look)
    guard_of(server).check()


@each_era
async def test_without_confirmation_an_undeclared_tool_is_served_and_named(
    era: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    class Asking(Settings):
        policy = dataclasses.replace(TWO_STEP, confirm="none")

    monkeypatch.setattr(extend, "extend", add_mounted)
    server = create_server(Asking(**SETTINGS.model_dump()))
    assert caplog.messages[0].startswith(
        "nobody is asked before undeclared child_destroy: "
    )
    assert (
        outcome(await call_tool(server, era, "child_destroy", None, name="a")) == "None"
    )
    assert DONE == ["a"]


@each_era
async def test_read_only_goes_by_the_declaration(era: str) -> None:
    server = create_server(SETTINGS.model_copy(update={"read_only": True}))
    add_read_only(server)
    server.add_tool(build_policy_tool(zz_look))
    server.add_tool(
        Tool.from_tool(build_policy_tool(wipe), name="raze", annotations=READS)
    )
    async with connect(server, era, can={}) as raw:
        message = await raw.receive(await raw.send("tools/list"))
    names = {tool["name"] for tool in message["result"]["tools"]}
    assert "zz_look" in names
    assert names.isdisjoint({"destroy", "raze", "delete_note"})
    for tool in ("destroy", "raze"):
        refused = text_of(await call_tool(server, era, tool, None, name="a"))
        assert refused == f"{tool} cannot be called here: {READ_ONLY}"
    assert DONE == []


async def test_scopes_without_a_verifier_are_reported_over_http(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    server = create_server(SETTINGS)
    server.http_app()
    assert caplog.records == []
    server.add_tool(
        build_policy_tool(read(title="Scoped", scopes=["zz:read"])(zz_scoped))
    )
    server.add_resource(SCOPED(zz_scoped))
    server.http_app()
    (line,) = caplog.messages
    assert line.endswith("nobody can use these over HTTP: zz_scoped, Scoped")


@each_era
async def test_a_resource_is_hidden_from_callers_without_its_scopes(
    era: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def extend_(server: FastMCP) -> None:
        server.add_resource(OPEN(zz_open))
        server.add_resource(SCOPED(zz_scoped))

    monkeypatch.setattr(extend, "extend", extend_)
    server = create_server(SETTINGS)
    before = set_transport("streamable-http")
    try:
        async with connect(server, era, can={}) as raw:
            message = await raw.receive(await raw.send("resources/list"))
    finally:
        reset_transport(before)
    assert [row["name"] for row in message["result"]["resources"]] == ["Open"]


@each_era
async def test_scopes_hold_through_a_mount_and_for_a_resource(era: str) -> None:
    """Also where a transform on the way drops what FastMCP hides the tool by."""
    server, child = make_target_server(), FastMCP("child")
    scoped = build_policy_tool(read(title="Scoped", scopes=["zz:read"])(zz_scoped))
    child.add_tool(scoped.model_copy(update={"auth": None}))
    server.mount(child, namespace="child")
    server.add_resource(SCOPED(zz_scoped))
    before = set_transport("streamable-http")
    try:
        for scopes, kind in (([], "error"), (["zz:read"], "result")):
            token = AccessToken(
                token="t", client_id="app", scopes=scopes, subject="ann"
            )
            reset = auth_context_var.set(AuthenticatedUser(token))
            async with connect(server, era, can={}) as raw:
                number = await raw.send("resources/read", uri="scoped://all")
                assert kind in await raw.receive(number)
                number = await raw.send(
                    "tools/call", name="child_zz_scoped", arguments={}
                )
                message = await raw.receive(number)
                assert ("insufficient_scope" in text_of(message)) is (kind == "error")
            auth_context_var.reset(reset)
    finally:
        reset_transport(before)


@each_era
async def test_scopes_of_a_mounted_template_hold_at_each_address(era: str) -> None:
    """Also where another template of its server matches `{zz-id}`, the name of its parameter."""
    server, child = make_target_server(), FastMCP("child")

    @child.resource("notes://{first}-{last}")
    async def zz_between(first: str, last: str) -> str:
        return f"{first}, {last}"

    @child.resource("notes://{zz-id}")
    @resource("notes://{zz-id}", name="N", description="N.", scopes=["zz:read"])
    async def zz_note(zz_id: str) -> str:
        return zz_id

    server.mount(child, namespace="child")
    before = set_transport("streamable-http")
    try:
        async with connect(server, era, can={}) as raw:
            for address, kind in (("1", "error"), ("1-2", "result")):
                number = await raw.send(
                    "resources/read", uri=f"notes://child/{address}"
                )
                assert kind in await raw.receive(number), address
    finally:
        reset_transport(before)


async def zz_scoped() -> Message:
    """Answer who has the scope."""
    return {"told": True}

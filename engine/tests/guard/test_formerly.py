"""A former name of a tool: it has the gate and scopes of the tool, and is not listed."""

import json
import logging
from pathlib import Path
from typing import Any

import pytest
from fastmcp import FastMCP
from fastmcp.server.auth import AccessToken
from fastmcp.server.context import reset_transport, set_transport
from mcp.server.auth.middleware.auth_context import auth_context_var
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser

from copier_fastmcp_engine.declarations import declare, delete, read
from copier_fastmcp_engine.errors import StartError
from copier_fastmcp_engine.guard import guard_of
from copier_fastmcp_engine.metadata.overrides import override
from copier_fastmcp_engine.subsets import Facts, Subset
from engine.tests.engine_support.composing import (
    NO,
    YES,
    call_in_two_steps,
    call_tool,
    destroy,
    each_era,
    fetch_definition,
    text_of,
)
from engine.tests.engine_support.composing import TWO_STEPS as STEPS
from engine.tests.engine_support.notes import extend
from engine.tests.engine_support.notes.server import PACKAGE, TWO_STEP, create_server
from engine.tests.engine_support.raw import MODERN, connect, outcome
from engine.tests.engine_support.targets import (
    DONE,
    SETTINGS,
    Name,
    Wiped,
    build_policy_tool,
    make_target_server,
)

pytestmark = pytest.mark.anyio


@delete(title="Raze", formerly=["zz_level", "zz_flatten"], deprecated='Use "wipe".')
async def zz_raze(name: Name) -> Wiped:
    """Raze one."""
    DONE.append(name)
    return Wiped(name=name)


@read(title="See", formerly=["zz_view"], scopes=["zz:read"])
async def zz_see(name: Name) -> Wiped:
    """See one."""
    DONE.append(name)
    return Wiped(name=name)


def make_renamed_server(**settings: object) -> FastMCP[Any]:
    """A server with tools that had other names."""
    server = make_target_server(settings=SETTINGS.model_copy(update=settings))
    for function in (zz_raze, zz_see):
        server.add_tool(build_policy_tool(function))
    guard_of(server).check()
    return server


@each_era
async def test_an_old_name_is_gated_like_the_new_one(era: str) -> None:
    server = make_renamed_server()
    for name in ("zz_raze", "zz_level", "zz_flatten"):
        DONE.clear()
        assert outcome(await call_tool(server, era, name, NO, name="a")) == "declined"
        assert await call_in_two_steps(server, era, name, name="b") == STEPS
        assert "b" in DONE
        first = await call_tool(server, era, name, None, name="c", confirm=True)
        assert outcome(first) == "error"
        assert outcome(await call_tool(server, era, name, YES, name="d")) == "applied"
        assert DONE == ["b", "d"]


@each_era
async def test_a_preview_is_of_one_tool_by_whatever_name_and_applied_once(
    era: str,
) -> None:
    outcomes = []
    async with connect(make_renamed_server(), era, can={}) as raw:
        for name, confirm in (
            ("zz_raze", False),
            ("zz_level", True),
            ("zz_raze", True),
        ):
            arguments: dict[str, object] = {"name": "a"}
            if confirm:
                arguments["confirm"] = True
            number = await raw.send("tools/call", name=name, arguments=arguments)
            outcomes.append(outcome(await raw.receive(number)))
    assert outcomes == ["preview", "applied", "error"]
    assert DONE == ["a"]


@each_era
@pytest.mark.parametrize(
    ("scopes", "expected"),
    [
        ([], "error"),
        (["zz:read"], "None"),
    ],
)
async def test_an_old_name_needs_the_scopes_of_the_new_one(
    era: str, scopes: list[str], expected: str
) -> None:
    user = AuthenticatedUser(
        AccessToken(token="t", client_id="app", scopes=scopes, subject="ann")
    )
    transport = set_transport("streamable-http")
    reset = auth_context_var.set(user)
    try:
        for name in ("zz_see", "zz_view"):
            message = await call_tool(make_renamed_server(), era, name, YES, name="a")
            assert outcome(message) == expected
    finally:
        auth_context_var.reset(reset)
        reset_transport(transport)
    assert bool(DONE) is (expected == "None")


@each_era
async def test_an_old_name_is_not_listed_and_writes_nothing_where_only_reads_are_served(
    era: str,
) -> None:
    async with connect(make_renamed_server(), era, can={}) as raw:
        message = await raw.receive(await raw.send("tools/list"))
    names = [tool["name"] for tool in message["result"]["tools"]]
    assert {"zz_raze", "zz_see"} <= {*names}
    assert not {"zz_level", "zz_flatten", "zz_view"} & {*names}
    for part in ({"read_only": True}, {"no_destructive": True}):
        refused = await call_tool(
            make_renamed_server(**part),
            era,
            "zz_level",
            YES,
            name="a",
            confirm=True,
        )
        assert "zz_raze cannot be called here" in str(refused)
    assert DONE == []


def test_a_pattern_with_an_old_name_still_leaves_the_tool_out() -> None:
    raze = Facts(
        "zz_raze",
        None,
        is_read_only=False,
        is_destructive=True,
        formerly=["zz_level"],
    )
    assert Subset(exclude=["zz_lev*"]).reason_left_out(raze) == "it is excluded"
    assert Subset(tools=["zz_level"]).reason_left_out(raze) is None
    Subset(exclude=["zz_level"]).check([raze])


async def test_a_setting_with_an_old_name_leaves_the_tool_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def add_raze(server: FastMCP) -> None:
        server.add_tool(build_policy_tool(zz_raze))

    monkeypatch.setattr(extend, "extend", add_raze)
    server = create_server(SETTINGS, exclude=["zz_lev*"])
    message = await call_tool(server, MODERN, "zz_raze", YES, name="a")
    assert "zz_raze cannot be called here: it is excluded" in text_of(message)
    assert DONE == []


async def test_an_old_name_of_a_mounted_tool_is_free_for_another(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    child = make_renamed_server()

    def add_both(server: FastMCP) -> None:
        server.mount(child, namespace="in")
        server.tool(destroy, name="zz_level")

    monkeypatch.setattr(extend, "extend", add_both)
    server = create_server()
    for name in ("zz_level", "in_zz_level"):
        await call_tool(server, MODERN, name, YES, name=name)
    assert DONE == ["zz_level", "in_zz_level"]


@each_era
async def test_a_deprecated_tool_works_and_is_marked(
    era: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def extended(server: FastMCP) -> None:
        server.tool(destroy)
        declare("destroy", "delete", deprecated="Use wipe.", formerly=["zz_end"])

    monkeypatch.setattr(extend, "extend", extended)
    server = make_target_server()
    for name, use in (("destroy", "Use wipe."), ("zz_end", "Use wipe.")):
        DONE.clear()
        with caplog.at_level(logging.INFO, f"{PACKAGE}.process"):
            assert (
                outcome(await call_tool(server, era, name, YES, name="a")) == "applied"
            )
        line = caplog.records[-1]
        assert line.levelno == logging.WARNING
        assert json.loads(line.message)["deprecated"] == use
        assert DONE == ["a"]
    destroy_tool = await fetch_definition(server, era, "destroy")
    raze_tool = await fetch_definition(make_renamed_server(), era, "zz_raze")
    assert destroy_tool["description"].endswith(
        "undeclared. Two-step confirmation.\n\nDeprecated: Use wipe."
    )
    assert raze_tool["description"] == (
        'Raze one. Two-step confirmation.\n\nDeprecated: Use "wipe".'
    )
    assert destroy_tool["_meta"]["deprecated"] == "Use wipe."
    assert raze_tool["_meta"]["deprecated"] == 'Use "wipe".'


@pytest.mark.parametrize("old", ["wipe", "zz_level", "zz_mine"])
async def test_an_old_name_of_another_tool_stops_the_start(
    monkeypatch: pytest.MonkeyPatch, old: str
) -> None:
    @read(title="Mine", formerly=[old])
    async def zz_mine(name: Name) -> Wiped:
        """Mine."""
        return Wiped(name=name)

    server = make_renamed_server()
    server.add_tool(build_policy_tool(zz_mine))
    line = f"(zz_mine|zz_raze) was formerly {old}, which is the name of another tool; remove it from"
    with pytest.raises(StartError, match=line):
        guard_of(server).check()


async def test_a_mounted_server_answers_to_old_names_behind_its_namespace() -> None:
    outer = create_server()
    outer.mount(make_renamed_server(), namespace="in")
    assert (
        outcome(await call_tool(outer, MODERN, "in_zz_level", NO, name="a"))
        == "declined"
    )
    assert DONE == []


def test_formerly_must_be_a_list() -> None:
    with pytest.raises(TypeError, match="formerly is a list"):
        read(title="x", formerly="zz_view")


@pytest.mark.parametrize("entry", ["", "  zz_raze: {title: Mine}\n"])
async def test_a_users_file_may_have_the_old_name(tmp_path: Path, entry: str) -> None:
    path = tmp_path / "metadata.yaml"
    path.write_text(f"tools:\n{entry}  zz_level: {{title: Old, description: Ours.}}\n")
    server = make_renamed_server()
    override(TWO_STEP, server, path, guard_of(server).formerly)
    tool = await fetch_definition(server, MODERN, "zz_raze")
    assert tool["title"] == ("Mine" if entry else "Old")

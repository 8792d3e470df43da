"""A policy is a value: several servers of one process have policies, logs and declarations of their own."""

import logging
from types import SimpleNamespace
from typing import Any

import pytest
from fastmcp import FastMCP

from copier_fastmcp_engine.declarations import collecting, create, declare, delete, put
from copier_fastmcp_engine.errors import StartError
from copier_fastmcp_engine.facade import check_api
from copier_fastmcp_engine.guard import guard_of
from copier_fastmcp_engine.logs import log_startup
from copier_fastmcp_engine.policy import Meaning, Policy
from engine.tests.engine_support.servers import (
    client_of,
    make_policy,
    make_server,
    make_settings,
    outcome_of,
)

DONE: list[str] = []


@delete(title="Wipe", confirm=None)
async def wipe(name: str) -> None:
    """Wipe one."""
    DONE.append(name)


@put(title="Archive")
async def archive(name: str) -> None:
    """Archive one."""
    DONE.append(name)


@pytest.fixture(autouse=True)
def _nothing_done() -> None:
    DONE.clear()


@pytest.mark.anyio
async def test_two_servers_of_a_process_have_policies_of_their_own(era: str) -> None:
    careful = make_server(make_policy("careful-mcp", confirm="writes"), wipe, archive)
    careless = make_server(make_policy("careless-mcp", confirm="none"), wipe, archive)
    async with client_of(careful, era, agrees=False) as client:
        assert await outcome_of(client, "wipe", name="a") == "declined"
        assert await outcome_of(client, "archive", name="a") == "declined"
    assert DONE == []
    async with client_of(careless, era, agrees=False) as client:
        assert await outcome_of(client, "wipe", name="a") == "ok"
        assert await outcome_of(client, "archive", name="a") == "ok"
    assert DONE == ["a", "a"]


@pytest.mark.anyio
async def test_a_mounted_server_keeps_its_policy(era: str) -> None:
    outer = make_server(make_policy("outer-mcp", confirm="none"), archive)
    inner = make_server(make_policy("inner-mcp", confirm="deletes"), wipe, archive)
    outer.mount(inner, namespace="inner")
    async with client_of(outer, era, agrees=False) as client:
        assert await outcome_of(client, "archive", name="a") == "ok"
        assert await outcome_of(client, "inner_archive", name="b") == "ok"
        assert await outcome_of(client, "inner_wipe", name="c") == "declined"
    assert DONE == ["a", "b"]


@pytest.mark.anyio
async def test_a_strict_server_asks_before_the_tools_of_a_mounted_lenient_one(
    era: str,
) -> None:
    outer = make_server(make_policy("outer-mcp", confirm="writes"))
    inner = make_server(make_policy("inner-mcp", confirm="none"), archive)
    outer.mount(inner, namespace="inner")
    async with client_of(outer, era, agrees=False) as client:
        assert (
            await outcome_of(client, "inner_archive", name="a", confirm=True)
            == "declined"
        )
        assert DONE == []
    async with client_of(outer, era, agrees=True) as client:
        assert (
            await outcome_of(client, "inner_archive", name="a", confirm=True)
            == "applied"
        )
    assert DONE == ["a"]


@pytest.mark.anyio
async def test_declare_is_for_the_server_that_is_being_built(era: str) -> None:
    first = make_server(make_policy("first-mcp"))
    second = make_server(make_policy("second-mcp"))
    child = FastMCP("child")

    @child.tool
    def look(name: str) -> str:
        DONE.append(name)
        return name

    with collecting(guard_of(first).declared_elsewhere):
        declare("look", "read")
    for server in (first, second):
        server.mount(child)
    async with client_of(first, era) as client:
        assert not (await client.call_tool("look", {"name": "a"})).is_error
    async with client_of(second, era) as client:
        assert await outcome_of(client, "look", name="b") == "error"
    assert DONE == ["a"]


@pytest.mark.parametrize("name", ["notes-mcp", "other-mcp"])
def test_log_lines_are_named_after_the_server(
    name: str, caplog: pytest.LogCaptureFixture
) -> None:
    package = name.replace("-", "_")
    settings = make_settings(make_policy(name))
    # A server's command line sets the level of its package's logger; the engine may lie outside the package
    with caplog.at_level(logging.INFO, package):
        log_startup(settings, "stdio")
    (record,) = [line for line in caplog.records if '"start"' in line.getMessage()]
    assert record.name == f"{package}.process"


def test_a_meter_is_named_after_the_server(monkeypatch: pytest.MonkeyPatch) -> None:
    from copier_fastmcp_engine.confirmation import gate

    meters: list[str] = []

    def get_meter(name: str) -> Any:
        meters.append(name)
        return SimpleNamespace(create_counter=lambda name: name)

    monkeypatch.setattr("opentelemetry.metrics.get_meter", get_meter)
    gate._fallback_counter.cache_clear()
    gate._fallback_counter("meters-mcp")
    gate._fallback_counter.cache_clear()
    assert meters == ["meters-mcp"]


@pytest.mark.parametrize(
    ("truth", "wire", "error"),
    [
        (
            "true false true maybe",
            "always always always always",
            "'maybe' is not one of",
        ),
        (
            "true false true declared",
            "always always always often",
            "'often' is not one of",
        ),
        ("true false true", "always always always always", "write 4 words"),
    ],
)
def test_a_wrong_word_in_a_profile_is_one_line(
    truth: str, wire: str, error: str
) -> None:
    with pytest.raises(ValueError, match=error) as caught:
        Meaning.parse("read", truth, wire)
    assert str(caught.value).startswith("profile.py: read, ")


def profile(**changes: object) -> SimpleNamespace:
    """Return the constants of a rendered profile.py."""
    row = ("true false true declared", "always always always always")
    names = ["read", "create", "ensure", "append", "update", "put", "delete", "action"]
    constants: dict[str, object] = {
        "__name__": "notes_mcp.policy.profile",
        "SERVER_NAME": "notes-mcp",
        "ENV_PREFIX": "NOTES_MCP_",
        "BEHAVIORS": dict.fromkeys(names, row),
        "FINER": {},
        "DESTRUCTIVE": "deletes",
        "CONFIRM": "deletes",
        "CONFIRM_FALLBACK": "two_step",
        "PREVIEW_FIRST": False,
    }
    return SimpleNamespace(**{**constants, **changes})


def test_a_profile_names_its_package() -> None:
    policy = Policy.from_profile(profile())
    assert (policy.package, policy.has_consent) == ("notes_mcp", False)


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"CONFIRM": "delete"}, "CONFIRM: 'delete' is not one of none, deletes"),
        ({"CONFIRM_FALLBACK": "ask"}, "CONFIRM_FALLBACK: 'ask' is not one of two_step"),
        ({"BEHAVIORS": {}}, "no row for read, create"),
    ],
)
def test_a_wrong_constant_in_a_profile_is_one_line(
    change: dict[str, object], error: str
) -> None:
    with pytest.raises(ValueError, match=error):
        Policy.from_profile(profile(**change))


def test_a_project_for_another_engine_is_one_line() -> None:
    check_api(make_policy(), 1)
    with pytest.raises(
        StartError, match="written for engine API 2, this engine has 1; run `copier"
    ):
        check_api(make_policy(), 2)


@create(title="Add")
async def add(name: str) -> None:
    """Add one."""


def test_finer_rows_apply_to_a_name_and_the_declaration_overrules_them() -> None:
    row = {
        "by": "policy",
        "hint": "idempotent",
        "value": True,
        "why": "Names are unique.",
    }
    policy = make_policy(finer={"create add": [row]})
    declaration = vars(add)["__declaration__"]
    assert policy.truth(declaration)["idempotent"] is True
    assert policy.exceptions(declaration) == [row]
    exemption = {"hint": "idempotent", "value": False, "why": "They are not."}
    changed = create(title="Add", exceptions=[exemption]).named("add")  # type: ignore[list-item]
    assert policy.truth(changed)["idempotent"] is False


@pytest.mark.anyio
async def test_metadata_files_word_the_tools_of_a_mounted_server(era: str) -> None:
    server = make_server(make_policy())
    child = FastMCP("child")

    @child.tool
    def drop(name: str) -> str:
        return name

    server.mount(child)
    guard = guard_of(server)
    with collecting(guard.declared_elsewhere):
        declare("drop", "delete", title="Drop")
    guard.check()
    assert guard.gated_names() == ["drop"]
    guard.texts = {
        "drop": {
            "title": "Drop One",
            "arguments": {"confirm": {"description": "Mine."}},
        }
    }
    async with client_of(server, era) as client:
        (tool,) = await client.list_tools()
    assert tool.title == "Drop One"
    assert tool.annotations is not None
    assert tool.annotations.title == "Drop One"
    assert tool.input_schema["properties"]["confirm"]["description"] == "Mine."

"""Calls of the default server: parameters, read-only, log lines, hosts."""

import asyncio
import json
import logging
import re
import socket
import sys
from collections.abc import AsyncIterator
from typing import Any, Self
from unittest.mock import Mock

import httpx2
import pytest
from fastmcp import Client, Context
from fastmcp.exceptions import ToolError
from pydantic import BaseModel, ValidationError, model_validator

from copier_fastmcp_engine import http
from copier_fastmcp_engine.cli import explain
from copier_fastmcp_engine.confirmation.wording import changed_arguments
from copier_fastmcp_engine.declarations import read
from copier_fastmcp_engine.errors import StartError
from copier_fastmcp_engine.guard import guard_of
from copier_fastmcp_engine.http import listen
from engine.tests.engine_support.notes.server import PACKAGE, TWO_STEP, create_server
from engine.tests.engine_support.notes.server import NotesSettings as Settings
from engine.tests.engine_support.targets import SETTINGS, build_policy_tool

pytestmark = pytest.mark.anyio
Notes = Client[Any]


class Answer(BaseModel):
    """Result of zz_tell."""

    has_request: bool


@read(title="Tell")
async def zz_tell(ctx: Context) -> Answer:
    """Tell whether there is a request."""
    return Answer(has_request=ctx.request_context is not None)


@pytest.mark.parametrize(
    ("database", "expected"),
    [
        (
            "driver://u:secret@h/db",
            "backend.py: connect: OSError; see .*'driver://h/db'",
        ),
        ("driver://h/db", "backend.py: connect: OSError: lost driver://h/db; see .*"),
        ("~nosuch/db", "backend.py: connect: OSError: lost ~nosuch/db; see .*'/.*'"),
        ("host=h password=secret", "backend.py: connect: OSError; see .*'…'"),
    ],
    ids=["password", "address", "path", "names"],
)
def test_no_password_is_in_a_start_error(database: str, expected: str) -> None:
    connect = Mock(side_effect=OSError(f"lost {database}"))
    with pytest.raises(StartError) as error:
        create_server(connect=connect, database=database)
    assert re.fullmatch(f"{expected}.*", str(error.value))


class Strict(Settings):
    """Settings of an author's own: one has no default, and two do not fit together."""

    needed: str
    count: int = 0

    @model_validator(mode="after")
    def _fits(self) -> Self:
        assert self.needed != "odd", "that does not fit"
        return self


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({}, "setting needed: Field required; set NOTES_MCP_NEEDED$"),
        ({"needed": "odd"}, "settings: Assertion failed, that does not fit"),
        (
            {"needed": "x", "count": "db://u:hunter2@h"},
            "setting count: Input should be .*integer",
        ),
        (
            {"needed": "x", "count": "password=hunter2"},
            "setting count: Input should be .*integer",
        ),
        (
            {"needed": "x", "count": "one"},
            "setting count: .* \\(got 'one'\\); change NOTES_MCP_COUNT$",
        ),
    ],
    ids=["missing", "together", "address", "named", "plain"],
)
def test_an_invalid_setting_reveals_no_other_value(
    monkeypatch: pytest.MonkeyPatch,
    values: dict[str, Any],
    expected: str,
) -> None:
    monkeypatch.setenv("NOTES_MCP_STATE_KEYS", "hunter2" * 6)
    with pytest.raises(ValidationError) as error:
        Strict(**values)
    code, line = explain(error.value, TWO_STEP)
    assert (code, "hunter2" in f"{line} {error.value}") == (1, False)
    assert re.match(expected, line), line


def test_what_only_equals_a_default_is_shown() -> None:
    defaults = {
        "bool": True,
        "number": 1.0,
        "none": None,
        "list": [1],
    }
    properties = {}
    for name, value in defaults.items():
        properties[name] = {"default": value}
    schema = {"properties": properties}
    assert changed_arguments(defaults, schema, defaults) == {}
    sent = {
        "bool": 1,
        "number": True,
        "none": False,
        "list": [True],
    }
    assert changed_arguments(sent, schema, sent) == sent


@pytest.fixture
async def client() -> AsyncIterator[Notes]:
    async with Client(create_server(SETTINGS)) as client:
        yield client


async def content(client: Notes, tool: str, **arguments: object) -> dict[str, Any]:
    """Return the structured content of a call."""
    return (await client.call_tool(tool, arguments)).structured_content or {}


async def error(client: Notes, tool: str, **arguments: object) -> str:
    """Return the error of a refused call."""
    with pytest.raises(ToolError) as raised:
        await client.call_tool(tool, arguments)
    return str(raised.value)


async def test_a_context_parameter_is_injected_and_not_in_the_schema() -> None:
    server = create_server(SETTINGS)
    server.add_tool(build_policy_tool(zz_tell))
    async with Client(server) as client:
        tools = {tool.name: tool for tool in await client.list_tools()}
        assert tools["zz_tell"].input_schema.get("properties") == {}
        assert await content(client, "zz_tell") == {"has_request": True}


async def test_read_only_serves_only_declared_reads() -> None:
    settings = SETTINGS.model_copy(update={"read_only": True})
    async with Client(create_server(settings)) as client:
        names = {tool.name for tool in await client.list_tools()}
        refusal = await error(client, "create_note", title="a", content="b")
    assert names == {"get_note", "search_notes"}
    reason = "it may write, and this server is read-only"
    assert refusal == f"create_note cannot be called here: {reason}"


async def test_every_call_is_one_log_line_without_argument_values(
    client: Notes, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, f"{PACKAGE}.process"):
        await content(client, "create_note", title="secret", content="secret")
        await error(client, "get_note", note_id=99)
    lines = []
    for record in caplog.records:
        if record.name == f"{PACKAGE}.process":
            assert "secret" not in record.message
            lines.append(json.loads(record.message))
    for line in lines:
        assert isinstance(line["ms"], float)
    created, failed = lines
    assert created["tool"] == "create_note"
    assert (created["behavior"], created["outcome"]) == ("create", "ok")
    assert failed["tool"] == "get_note"
    assert (failed["behavior"], failed["outcome"]) == ("read", "error")


def test_over_http_no_answer_waits_for_the_client(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With Nagle's algorithm the second part of an answer would wait 40 ms, until the first is acknowledged."""
    server, delayed = create_server(SETTINGS), []

    async def run(*_: Any, sockets: list[socket.socket], **__: Any) -> None:
        with socket.create_connection(sockets[0].getsockname()):
            accepted, _from = sockets[0].accept()
            with accepted:
                delayed.append(
                    not accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
                )

    monkeypatch.setattr(server, "run_async", run)
    listen(guard_of(server), Settings(host="127.0.0.1", port=0))
    assert delayed == [False]


@pytest.mark.parametrize("installed", [True, False])
def test_over_http_uvloop_serves_where_it_is_installed(
    monkeypatch: pytest.MonkeyPatch, installed: bool
) -> None:
    pytest.importorskip("uvloop")
    loops = []

    async def run(*_: Any, **__: Any) -> None:
        loops.append(type(asyncio.get_running_loop()).__module__)

    server = create_server(SETTINGS)
    monkeypatch.setattr(server, "run_async", run)
    if not installed:
        monkeypatch.setattr(http, "find_spec", lambda name: None)
    listen(guard_of(server), Settings(host="127.0.0.1", port=0))
    assert ("uvloop" in loops[0]) is installed


def test_over_http_a_thread_is_not_kept_waiting_by_the_event_loop(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    intervals = []

    async def run(*_: Any, **__: Any) -> None:
        intervals.append(sys.getswitchinterval())

    server = create_server(SETTINGS)
    monkeypatch.setattr(server, "run_async", run)
    usual = 0.005
    sys.setswitchinterval(usual)
    try:
        listen(guard_of(server), Settings(host="127.0.0.1", port=0))
    finally:
        sys.setswitchinterval(usual)
    assert intervals[0] < usual


async def test_http_app_refuses_foreign_host_headers() -> None:
    """As `fastmcp run` and an ASGI server do, which leave hosts unchecked: DNS rebinding."""
    app = create_server(SETTINGS).http_app()
    statuses = []
    for host in ("localhost", "evil.example"):
        local = httpx2.ASGITransport(app, client=("127.0.0.1", 1))
        async with httpx2.AsyncClient(
            transport=local, base_url="http://127.0.0.1"
        ) as client:
            response = await client.get("/health", headers={"Host": host})
            statuses.append(response.status_code)
    assert statuses == [200, 421]

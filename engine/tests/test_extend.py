"""The author's `extend.py`, of which any function may be removed."""

from types import ModuleType
from typing import Any

import pytest
from cyclopts import App
from fastmcp import Client

from copier_fastmcp_engine.cli import run_cli
from copier_fastmcp_engine.server import build_server
from engine.tests.engine_support.notes.server import TWO_STEP, notes_settings

pytestmark = pytest.mark.anyio


def connect_nothing(settings: Any) -> None:
    """Open no store."""


async def test_a_server_starts_with_an_empty_extend_file(era: str) -> None:
    server = build_server(
        notes_settings(),
        connect=connect_nothing,
        extend=ModuleType("extend"),
        instructions="Notes.",
    )
    async with Client(server, mode=era) as client:
        names = {tool.name for tool in await client.list_tools()}
    assert "get_note" in names


def run_with(
    monkeypatch: pytest.MonkeyPatch, *words: str, commands: Any = None
) -> object:
    """Run the command line with these words, and return its exit code."""
    monkeypatch.setattr("sys.argv", ["notes-mcp", *words])
    with pytest.raises(SystemExit) as stopped:
        run_cli(TWO_STEP, "Notes.", commands)
    return stopped.value.code


def test_the_command_line_needs_no_commands_of_the_author(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_with(monkeypatch, "run", "--prt", "1") == 2
    assert "--prt" in capsys.readouterr().err


def test_an_author_can_replace_run(monkeypatch: pytest.MonkeyPatch) -> None:
    runs = []

    def commands(app: App) -> None:
        app["run"].default_command = lambda: runs.append("the author's")

    assert run_with(monkeypatch, "run", commands=commands) == 0
    assert runs == ["the author's"]


@pytest.mark.parametrize("words", [["run"], ["run", "--read-only"]])
def test_an_interrupt_while_a_server_is_loaded_ends_it_without_a_traceback(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: list[str],
) -> None:
    def load(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("copier_fastmcp_engine.project.Project.load", load)
    monkeypatch.setattr("gc.disable", lambda: None)
    assert run_with(monkeypatch, *words) == 130
    assert capsys.readouterr().err == ""

"""The author's `extend.py`, of which any function may be removed."""

from types import ModuleType
from typing import Any

import pytest
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


def test_the_command_line_needs_no_commands_of_the_author() -> None:
    runs: list[dict[str, bool]] = []
    app: Any = lambda **options: runs.append(options)  # noqa: E731
    run_cli(app, TWO_STEP, None)
    assert runs == [{"exit_on_error": False, "print_error": False}]

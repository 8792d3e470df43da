"""The annotation policy, asked through a real client. Managed by the template, whose pytest plugin has the fixtures."""

import os
import sys
from pathlib import Path

import pytest
from fastmcp import Client
from fastmcp.client.transports import StdioTransport

from .cases import Suite, Tool


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


def test_every_registered_tool_has_annotations(suite: Suite, tool: Tool) -> None:
    rules = ("annotations-present", "hints-known", "hints-boolean", "hints-complete")
    suite.check_rules(rules, tool.name)


def test_destructive_hint_implies_not_read_only(suite: Suite, tool: Tool) -> None:
    suite.check_rules(["read-only-excludes-destructive"], tool.name)


def test_all_tools_have_titles(suite: Suite, tool: Tool) -> None:
    suite.check_rules(["title-written", "titles-equal", "title-not-name"], tool.name)


def test_all_parameters_have_descriptions(suite: Suite, tool: Tool) -> None:
    suite.check_rules(["parameters-described"], tool.name)


def test_tool_read_only_hint_matches_policy(suite: Suite, tool: Tool) -> None:
    suite.check_declared(tool)
    suite.check_rules(["hints-match-behavior"], tool.name)


def test_every_tool_keeps_the_rule(suite: Suite, rule: str) -> None:
    suite.check_rules([rule])


def test_what_a_model_reads_of_the_tools_keeps_its_budget(suite: Suite) -> None:
    suite.check_budget()


def test_the_lock_pins_every_hint_and_gate(suite: Suite) -> None:
    suite.check_lock()


def test_the_tool_table_is_up_to_date(suite: Suite) -> None:
    suite.check_table()


def test_only_the_pinned_tools_are_marked_destructive(suite: Suite) -> None:
    suite.check_destructive()


def test_no_tool_currently_marked_destructive(suite: Suite) -> None:
    suite.check_destructive()  # collected instead of the one above, where the lock has none


def test_every_probe_has_its_tool(suite: Suite) -> None:
    suite.check_probe_files()


def test_no_engine_file_is_edited(suite: Suite) -> None:
    suite.check_engine_files()


@pytest.mark.anyio
async def test_both_eras_serve_the_same_tools(suite: Suite, era: str) -> None:
    tools = await suite.list_tools(Client(suite.server, mode=era))
    suite.check_served(tools)


@pytest.mark.anyio
async def test_stdio_serves_the_same_tools(suite: Suite) -> None:
    command = ["-c", "from nextcloud_login_mcp.cli import main; main()", "run"]
    environ = os.environ | suite.environment()
    transport = StdioTransport(sys.executable, command, environ, keep_alive=False)
    tools = await suite.list_tools(Client(transport))
    suite.check_served(tools)


@pytest.mark.anyio
async def test_a_metadata_file_changes_every_text_and_no_hint(
    suite: Suite, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, era: str
) -> None:
    await suite.check_metadata(era, tmp_path, monkeypatch)

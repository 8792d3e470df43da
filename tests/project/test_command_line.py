"""The generated command line: what is not understood is one line, what is asked for is what clients see."""

import asyncio
import json
import re
from pathlib import Path

import pytest
from support import Renders, python, server
from wire import stdio


def test_a_bad_setting_is_one_line(project: Path) -> None:
    done = server(project, "tools", "list", NOTES_MCP_CONFIRM_SECONDS="soon")
    assert done.returncode == 1
    assert re.fullmatch(
        r"notes-mcp: setting confirm_seconds: .*'soon'.*\n", done.stderr
    )


def test_a_port_that_is_none_is_not_understood(project: Path) -> None:
    done = server(project, "run", "--http", "--port", "99999")
    assert (done.returncode, done.stdout) == (2, "")
    assert "99999" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["run", "--bogus"], "Unknown option: --bogus"),
        (["serve"], "Unknown command"),
        (["tools", "wire"], "NAME"),
        (["metadata", "set", "get_note"], "FIELD"),
        (["run", "--port", "99999"], "99999"),
    ],
)
def test_a_command_line_that_is_wrong_is_one_line(
    project: Path, words: list[str], message: str
) -> None:
    done = server(project, *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert re.fullmatch(f"notes-mcp: .*{message}.*--help`.*\n", done.stderr)


@pytest.mark.parametrize(
    ("flags", "left"),
    [
        (["--read-only", "--exclude", "search_*"], {"get_note"}),
        (
            ["--no-destructive", "--toolsets", "get_note,create_note,delete_note"],
            {"get", "create"},
        ),
        (
            ["--tools", "*_note", "--exclude", "a*,s*,u*,e*"],
            {"get", "create", "delete"},
        ),
    ],
    ids=["read-only", "no-destructive", "tools"],
)
def test_the_flags_of_run_serve_a_part(
    project: Path, tmp_path: Path, flags: list[str], left: set[str]
) -> None:
    async def listed() -> set[str]:
        async with stdio(project, tmp_path, "2026-07-28", *flags) as client:
            return {tool.name for tool in await client.list_tools()}

    expected = {f"{name.removesuffix('_note')}_note" for name in left}
    assert asyncio.run(listed()) == expected


def test_the_list_of_tools_is_that_of_a_server_with_these_settings(
    example: Renders,
) -> None:
    def rows(**settings: str) -> dict[str, str]:
        done = server(example("nextcloud"), "tools", "list", "--json", **settings)
        return {row["name"]: row["toolset"] for row in json.loads(done.stdout)}

    every = rows()
    assert set(every.values()) > {"notes", "calendar"}, every
    notes = {name for name, toolset in every.items() if toolset == "notes"}
    part = rows(
        NEXTCLOUD_MCP_TOOLSETS="notes:readonly,calendar",
        NEXTCLOUD_MCP_EXCLUDE="*_create_event",
    )
    assert notes > notes & part.keys() > set()
    assert {*part.values()} == {"notes", "calendar"}


def test_wire_prints_one_tool_and_a_wrong_name_is_one_line(project: Path) -> None:
    shown = json.loads(server(project, "tools", "wire", "delete_note").stdout)
    assert shown["annotations"]["destructiveHint"] is True
    wrong = server(project, "tools", "wire", "nothing")
    assert (wrong.returncode, wrong.stderr.count("\n")) == (1, 1)


def test_the_bytes_of_each_tool_are_shown_and_are_few(project: Path) -> None:
    rows = json.loads(server(project, "tools", "list", "--json").stdout)
    read = rest = 0
    for row in rows:
        read += row["bytes"]["model"]
        rest += row["bytes"]["rest"]
    assert read <= 3_100
    assert 2 + len(rows) - 1 + read + rest <= 7_100  # as tools/list puts them in a line
    shown = server(project, "tools", "list", "--bytes").stdout
    assert shown.endswith(
        f"A model reads {read:,} bytes of 9 tools; {rest:,} are for programs.\n"
    )
    assert f" {rows[0]['bytes']['model']} " in shown
    assert "bytes" not in server(project, "tools", "list").stdout


def test_fastmcp_reads_the_project_file(project: Path) -> None:
    done = python(project, "-m", "fastmcp.cli", "inspect", "fastmcp.json", "--skip-env")
    assert "notes-mcp" in done.stdout, done.stdout + done.stderr

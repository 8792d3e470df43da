"""The generated command line: what is not understood is one line, what is asked for is what clients see."""

import json
import re
from pathlib import Path

from support import python, server


def test_a_bad_setting_is_one_line(project: Path) -> None:
    done = server(project, "tools", "list", NOTES_MCP_CONFIRM_SECONDS="soon")
    assert done.returncode == 1
    assert re.fullmatch(r"notes-mcp: setting confirm_seconds: .*'soon'.*\n", done.stderr)


def test_a_port_that_is_none_is_not_understood(project: Path) -> None:
    done = server(project, "run", "--http", "--port", "99999")
    assert (done.returncode, done.stdout) == (2, "")
    assert "99999" in done.stderr
    assert "Traceback" not in done.stderr


def test_wire_prints_one_tool_and_a_wrong_name_is_one_line(project: Path) -> None:
    shown = json.loads(server(project, "tools", "wire", "delete_note").stdout)
    assert shown["annotations"]["destructiveHint"] is True
    wrong = server(project, "tools", "wire", "nothing")
    assert (wrong.returncode, wrong.stderr.count("\n")) == (1, 1)


def test_the_bytes_of_each_tool_are_shown_and_are_few(project: Path) -> None:
    rows = json.loads(server(project, "tools", "list", "--json").stdout)
    read, rest = (sum(row["bytes"][part] for row in rows) for part in ("model", "rest"))
    assert read <= 3_000
    assert 2 + len(rows) - 1 + read + rest <= 7_000  # as tools/list puts them in a line
    shown = server(project, "tools", "list", "--bytes").stdout
    assert shown.endswith(f"A model reads {read:,} bytes of 9 tools; {rest:,} are for programs.\n")
    assert f" {rows[0]['bytes']['model']} " in shown
    assert "bytes" not in server(project, "tools", "list").stdout


def test_fastmcp_reads_the_project_file(project: Path) -> None:
    done = python(project, "-m", "fastmcp.cli", "inspect", "fastmcp.json", "--skip-env")
    assert "notes-mcp" in done.stdout, done.stdout + done.stderr

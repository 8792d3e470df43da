"""`install`: what each client is told starts the server, and what else its file holds stays."""

import asyncio
import base64
import json
import os
import re
import shlex
import sys
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from fastmcp import Client
from support import python, server

FILES = {
    "claude": (".mcp.json", "mcpServers"),
    "cursor": (".cursor/mcp.json", "mcpServers"),
    "vscode": (".vscode/mcp.json", "servers"),
}
each_client = pytest.mark.parametrize("client", FILES)


def program(folder: Path, name: str, text: str) -> dict[str, str]:
    """A stand-in for a client's own program, which this machine does not have; it notes its arguments."""
    path = folder / name
    said = shlex.quote(str(folder / "said"))
    path.write_text(f'#!/bin/sh\n{text}\nprintf "%s\\n" "$@" > {said}\n')
    path.chmod(0o755)
    return {"PATH": f"{folder}{os.pathsep}/usr/bin:/bin"}


@each_client
def test_the_entry_starts_the_server(project: Path, tmp_path: Path, client: str) -> None:
    env = [
        f"PYTHONPATH={project / 'src'}",
        "NOTES_MCP_DATABASE=:memory:",
        "NOTES_MCP_METADATA=none",
    ]
    words = [word for pair in env for word in ("--env", pair)]
    done = server(project, "install", client, "--workspace", str(tmp_path), "--read-only", *words)
    assert (done.returncode, done.stderr) == (0, "")
    file, key = FILES[client]
    entry = json.loads((tmp_path / file).read_text(encoding="utf-8"))[key]["notes-mcp"]

    async def names() -> set[str]:
        async with Client({"mcpServers": {"notes-mcp": entry}}) as connected:
            return {tool.name for tool in await connected.list_tools()}

    assert asyncio.run(names()) == {"search_notes", "get_note"}


@pytest.mark.parametrize("client", ["claude", "vscode"])
def test_what_else_stands_in_the_file_stays(project: Path, tmp_path: Path, client: str) -> None:
    file, key = FILES[client]
    path = tmp_path / file
    path.parent.mkdir(exist_ok=True)
    others: dict[str, Any] = {
        "inputs": [{"id": "ä", "type": "x"}],
        key: {"other": {"strange": [1]}},
    }
    path.write_text(json.dumps(others), encoding="utf-8")
    path.chmod(0o640)
    for _ in range(2):
        done = server(project, "install", client, "--workspace", str(tmp_path))
        assert done.returncode == 0, done.stderr
    found = json.loads(path.read_text(encoding="utf-8"))
    entry = {"command": sys.executable, "args": ["-m", "notes_mcp", "run"], "env": {}}
    assert found[key].pop("notes-mcp") == entry
    assert found == others
    assert path.stat().st_mode & 0o777 == 0o640
    assert os.listdir(path.parent) == ["mcp.json" if "/" in file else file]


@pytest.mark.parametrize("text", ["{ // mine\n}", '{"mcpServers": 1}'])
def test_a_file_that_cannot_be_written_back_is_left_alone(
    project: Path, tmp_path: Path, text: str
) -> None:
    path = tmp_path / ".mcp.json"
    path.write_text(text)
    done = server(project, "install", "claude", "--workspace", str(tmp_path))
    assert (done.returncode, done.stderr.count("\n"), path.read_text()) == (1, 1, text)
    assert str(path) in done.stderr
    assert '"-m", "notes_mcp", "run"' in done.stderr


def test_it_goes_through_the_clients_own_programs(project: Path, tmp_path: Path) -> None:
    environ = program(tmp_path, "claude", '[ "$1" = --version ] && echo "1.0 (Claude Code)"')
    done = server(project, "install", "claude", "--env", "A=x y", **environ)
    assert done.returncode == 0, done.stderr
    wanted = ["mcp", "add", "--scope", "user", "notes-mcp", "-e", "A=x y", "--", sys.executable]
    assert (tmp_path / "said").read_text().splitlines() == [*wanted, "-m", "notes_mcp", "run"]
    done = server(project, "install", "vscode", **program(tmp_path, "code", ":"))
    assert done.returncode == 0, done.stderr
    option, text = (tmp_path / "said").read_text().splitlines()
    entry = {"command": sys.executable, "args": ["-m", "notes_mcp", "run"], "env": {}}
    assert (option, json.loads(text)) == ("--add-mcp", {"name": "notes-mcp", **entry})


def test_a_missing_client_is_one_line_with_what_to_do(project: Path, tmp_path: Path) -> None:
    done = server(project, "install", "claude", PATH=str(tmp_path))
    assert (done.returncode, done.stderr.count("\n")) == (1, 1), done.stderr
    assert "claude mcp add" in done.stderr
    refused = server(
        project, "install", "vscode", **program(tmp_path, "code", "echo no >&2; exit 3")
    )
    assert (refused.returncode, refused.stderr) == (1, "`code` refused: no\n")


def test_cursor_gets_a_link_with_the_entry(project: Path, tmp_path: Path) -> None:
    done = server(project, "install", "cursor", PATH=str(tmp_path))
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    asked = parse_qs(urlsplit(done.stderr.split()[-1]).query)
    assert asked["name"] == ["notes-mcp"]
    entry = json.loads(base64.urlsafe_b64decode(asked["config"][0]))
    assert (entry["command"], entry["args"]) == (sys.executable, ["-m", "notes_mcp", "run"])


@pytest.mark.parametrize("words", [["--env", "A"], ["--workspace", "nowhere"]])
def test_a_mistake_is_one_line(project: Path, words: list[str]) -> None:
    done = server(project, "install", "claude", *words)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)
    assert words[1] in done.stderr


@pytest.mark.parametrize("words", [["run", "--prt", "1"], ["install", "emacs"]])
def test_what_is_not_understood_is_said_on_stderr(project: Path, words: list[str]) -> None:
    done = server(project, *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert words[-2 if words[0] == "run" else -1] in done.stderr


HELP = """
import sys
from notes_mcp.cli import app
for words in sys.argv[1:]:
    print("HELP", words)
    app([*words.split(), "--help"], result_action="return_value")
"""
COMMANDS = [
    "",
    "run",
    "install",
    "tools",
    "tools add",
    "tools list",
    "policy",
    "policy check",
    "metadata set",
]


def test_help_says_what_each_word_does_without_color(project: Path) -> None:
    done = python(project, "-c", HELP, *COMMANDS, TERM="xterm-256color", COLUMNS="200")
    assert (done.returncode, done.stderr) == (0, "")
    assert "\x1b" not in done.stdout
    assert "--no-" not in done.stdout
    pages = done.stdout.split("HELP")[1:]
    assert len(pages) == len(COMMANDS)
    assert [page for page in pages if "Exit codes:" not in page] == []
    rows = [line.strip("│ ") for line in done.stdout.splitlines() if line.startswith("│ ")]
    assert len(rows) > 30
    assert [row for row in rows if not re.search(r"\S {2,}\S", row)] == []


def test_a_shell_learns_the_commands(project: Path, tmp_path: Path) -> None:
    done = server(project, "--install-completion", "--shell", "bash", HOME=str(tmp_path))
    assert done.returncode == 0, done.stderr
    written = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert any("install" in path.read_text() and "metadata" in path.read_text() for path in written)

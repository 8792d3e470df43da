"""A generated server's command line: its help, what it does not understand, a shell's completion."""

import re
from pathlib import Path

import pytest
from support import python, server

HELP = """
import sys
from notes_mcp.cli import main
for words in sys.argv[1:]:
    print("HELP", words)
    sys.argv = ["notes-mcp", *words.split(), "--help"]
    try:
        main()
    except SystemExit as end:
        assert not end.code
"""
COMMANDS = ["", "run", "tools", "tools list", "tools wire", "metadata", "metadata set"]


@pytest.mark.parametrize("words", [["run", "--prt", "1"], ["juggle"]])
def test_what_is_not_understood_is_said_on_stderr(
    project: Path, words: list[str]
) -> None:
    done = server(project, *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert words[-2 if words[0] == "run" else -1] in done.stderr


def test_help_says_what_each_word_does_without_color(project: Path) -> None:
    done = python(project, "-c", HELP, *COMMANDS, TERM="xterm-256color", COLUMNS="200")
    assert (done.returncode, done.stderr) == (0, "")
    assert "\x1b" not in done.stdout
    assert {*re.findall(r"--no-[\w-]+", done.stdout)} == {"--no-destructive"}, (
        "no flag's contrary"
    )
    pages = done.stdout.split("HELP")[1:]
    assert len(pages) == len(COMMANDS)
    assert [page for page in pages if "Exit codes:" not in page] == []
    rows = []
    for line in done.stdout.splitlines():
        if line.startswith("│ "):
            rows.append(line.strip("│ "))
    assert len(rows) > 20
    for row in rows:
        assert re.search(r"\S {2,}\S", row), row


@pytest.mark.parametrize(
    ("options", "expected"),
    [([], {"fastmcp"}), (["--read-only"], {"fastmcp", "cyclopts"})],
)
def test_a_client_that_starts_the_server_loads_no_parser_of_words_or_docstrings(
    project: Path, options: list[str], expected: set[str]
) -> None:
    words = ["-X", "importtime", "-m", "notes_mcp", "run", *options]
    done = python(project, *words, NOTES_MCP_DATABASE=":memory:")
    assert done.returncode == 0, done.stderr
    modules = set()
    for line in done.stderr.splitlines():
        modules.add(line.rpartition("|")[2].strip())
    assert modules & {"fastmcp", "cyclopts", "griffe"} == expected


def test_a_shell_learns_the_commands(project: Path, tmp_path: Path) -> None:
    done = server(
        project, "--install-completion", "--shell", "bash", HOME=str(tmp_path)
    )
    assert done.returncode == 0, done.stderr
    written = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert any(
        "tools" in path.read_text() and "metadata" in path.read_text()
        for path in written
    )

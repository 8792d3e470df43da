"""`audit --against OLD`: two versions of a server compared; `--patch`: the diff that `annotate` would write."""

import json
import os
import shlex
import subprocess
from pathlib import Path
from typing import Any

import foreign_server
import forked
import pytest
from calling import call
from foreign_server import GOOD, READ, TEXT, WRITE, tool

from copier_fastmcp.auditing.comparison import load_definitions
from copier_fastmcp_engine.testing import lock
from copier_fastmcp_engine.testing.rules import Tool

OLD = [
    tool("get_note", READ),
    tool("delete_note", WRITE),
    tool("list_tags", READ, "", "limit"),
    tool("find_note", READ, "", "query"),
    tool("add_tag", WRITE | {"destructiveHint": False}),
]
NEW = [
    tool("get_note", READ, description="Get a note by its ID."),
    tool("delete_note", WRITE | {"destructiveHint": False}),
    tool("list_labels", READ, "List Tags", "limit"),
    tool("find_note", READ, "", "query", inputSchema={"type": "object", "properties": {"query": TEXT}, "required": ["query"]}),
    tool("count_notes", READ | {"idempotentHint": True}),
]  # fmt: skip
LABELED = [
    ("add_tag", "BREAKING", "is gone"),
    ("delete_note", "RELAXED", "destructiveHint true -> false"),
    ("find_note", "BREAKING", 'input.required [] -> ["query"]'),
    ("list_tags", "RENAMED", "is list_labels now"),
]


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    """Recorded lists of two versions."""
    old, new = tmp_path / "old.json", tmp_path / "new.json"
    old.write_text(json.dumps(OLD), encoding="utf-8")
    new.write_text(json.dumps({"tools": NEW}), encoding="utf-8")
    return old, new


def list_changes(
    done: "subprocess.CompletedProcess[str]",
) -> list[tuple[str, str, str]]:
    """List the labeled changes of `--json`, sorted."""
    rows = []
    for row in json.loads(done.stdout):
        rows.append((row["tool"], row["label"], row["change"]))
    return sorted(row for row in rows if row[1])


def test_two_files(files: tuple[Path, Path], tmp_path: Path) -> None:
    old, new = files
    done = call(tmp_path, "audit", "--file", new, "--against", old, "--json")
    assert (done.returncode, done.stderr) == (1, "")
    assert list_changes(done) == LABELED
    back = call(tmp_path, "audit", "--file", old, "--against", new, "--json")
    assert (
        "delete_note",
        "RELAXED",
        "destructiveHint false -> true",
    ) not in list_changes(back)


def test_the_loud_changes_come_first_for_people(
    files: tuple[Path, Path], tmp_path: Path
) -> None:
    old, new = files
    done = call(tmp_path, "audit", "--file", new, "--against", old)
    lines = done.stdout.splitlines()
    assert done.returncode == 1
    assert lines[0] == "delete_note: RELAXED: destructiveHint true -> false"
    assert "count_notes: is new" in lines
    assert lines[-1].startswith("5 tools compared with 5, ")
    assert "1 RELAXED, 2 BREAKING, 1 RENAMED" in lines[-1]


def test_new_tools_stricter_hints_and_words_do_not_fail(tmp_path: Path) -> None:
    old, new = tmp_path / "old.json", tmp_path / "new.json"
    stricter = [tool("add_tag", WRITE, description="Add a tag."), tool("get_tag", READ)]
    old.write_text(json.dumps([tool("add_tag", WRITE | {"destructiveHint": False})]))
    new.write_text(json.dumps(stricter))
    done = call(tmp_path, "audit", "--file", new, "--against", old)
    assert (done.returncode, done.stderr) == (0, "")
    assert "get_tag: is new" in done.stdout
    assert "add_tag: destructiveHint false -> true" in done.stdout


def test_a_command_against_a_command_and_a_file(tmp_path: Path) -> None:
    server = str(Path(foreign_server.__file__))
    command = shlex.join(forked.python([server, "good", str(tmp_path / "log")]))
    same = call(tmp_path, "audit", "--server", command, "--against", command)
    counted = f"{len(GOOD)} tools compared with {len(GOOD)}, no changes\n"
    assert (same.returncode, same.stdout) == (0, counted)
    old = tmp_path / "old.json"
    old.write_text(json.dumps([*GOOD, tool("get_more", READ)]))
    done = call(tmp_path, "audit", "--server", command, "--against", old, "--json")
    assert list_changes(done) == [("get_more", "BREAKING", "is gone")]


@pytest.mark.skipif(os.name != "posix", reason="a script with a mode")
def test_an_executable_file_is_a_command(tmp_path: Path) -> None:
    server = str(Path(foreign_server.__file__))
    command = shlex.join(forked.python([server, "good", str(tmp_path / "log")]))
    script = tmp_path / "server"
    script.write_text(f"#!/bin/sh\nexec {command}\n", encoding="utf-8")
    script.chmod(0o755)
    assert len(load_definitions(str(script), 60).tools) == len(GOOD)


@pytest.fixture
def project(tmp_path: Path) -> tuple[Path, Path]:
    """A project's lock, and that of an older version where one tool was still gated."""
    wire = tool("delete_note", WRITE, description="Delete a note.")
    (tmp_path / "older").mkdir()
    for folder, gated in ((tmp_path, False), (tmp_path / "older", True)):
        pinned = lock.build_lock(
            [Tool(wire, {"behavior": "delete", "gated": gated})], {}
        )
        (folder / lock.FILE).write_text(lock.format_lock(pinned), encoding="utf-8")
    return tmp_path, tmp_path / "older" / lock.FILE


@pytest.mark.parametrize("from_stdin", [True, False])
def test_a_lock_against_a_lock_keeps_what_no_wire_shows(
    project: tuple[Path, Path], from_stdin: bool
) -> None:
    folder, old = project
    word, stdin = ("-", old.read_text("utf-8")) if from_stdin else (str(old), "")
    done = call(folder, "audit", "--against", word, "--json", stdin=stdin)
    assert list_changes(done) == [("delete_note", "RELAXED", "gate lost")]


def test_a_lock_against_a_list_compares_what_the_wire_shows(
    project: tuple[Path, Path],
) -> None:
    folder, old = project
    listed = folder / "tools.json"
    listed.write_text(
        json.dumps([tool("delete_note", WRITE, description="Delete a note.")])
    )
    done = call(folder, "audit", "--file", listed, "--against", old)
    assert (done.returncode, done.stdout) == (0, "1 tool compared with 1, no changes\n")


@pytest.mark.parametrize(
    ("old", "code", "message"),
    [
        ("none.json", 2, "none.json is not there"),
        ("http://127.0.0.1:9/mcp", 2, "could not check http://127.0.0.1:9/mcp: "),
        ("no-such-command-here", 2, "is no file, address or command; of a commit: "),
        ("HEAD", 2, "HEAD is no file, address or command; of a commit: git show "),
        ("false", 2, "could not check false: "),
        ("text.txt", 2, "could not check text.txt: "),
        ("", 2, "an empty text is no file, address or command"),
    ],
)
def test_what_cannot_be_compared_is_one_line(
    old: str, code: int, message: str, tmp_path: Path
) -> None:
    (tmp_path / "new.json").write_text("[]")
    (tmp_path / "text.txt").write_text("a text")
    program = tmp_path / "bin/HEAD"  # as Debian's libwww-perl has it
    program.parent.mkdir()
    program.write_text("#!/bin/sh\nexit 1\n")
    program.chmod(0o755)
    path = f"{program.parent}{os.pathsep}{os.environ['PATH']}"
    words = ["audit", "--file", "new.json", "--against", old]
    done = call(tmp_path, *words, PATH=path)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (code, "", 1), (
        done.stderr
    )
    assert message in done.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--clients"], "--against and --clients"),
        (["--sarif"], "--against and --sarif"),
        (["--baseline", "x"], "--against and --baseline"),
        (["--snapshot", "x"], "--against and --snapshot"),
        (["--patch"], "--against and --patch"),
        (["--file", "b.json"], "--against compares one server"),
        (["--directory", "openai"], "--against and --directory"),
    ],
)
def test_what_does_not_go_with_a_comparison(
    words: list[str], message: str, tmp_path: Path
) -> None:
    done = call(tmp_path, "audit", "--file", "a.json", "--against", "old.json", *words)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1), (
        done.stderr
    )
    assert message in done.stderr


SOURCE = '''from fastmcp import FastMCP

mcp = FastMCP("notes")
notes: dict[int, str] = {}


@mcp.tool
def get_note(note_id: int) -> str:
    """Get a note by its ID."""
    return notes[note_id]
'''


def _repository(folder: Path) -> Path:
    (folder / "server.py").write_text(SOURCE, encoding="utf-8")
    (folder / "pyproject.toml").write_text('[project]\nname = "notes"\nversion = "1"\ndependencies = ["fastmcp>=3"]\n')  # fmt: skip
    git: list[Any] = ["git", "-C", folder]
    for words in (["init", "-q"], ["add", "-A"]):
        subprocess.run([*git, *words], check=True)
    identity = ["-c", "user.name=a", "-c", "user.email=a@example.com"]
    subprocess.run([*git, *identity, "commit", "-qm", "Begin"], check=True)
    return folder


def test_the_patch_applies_and_nothing_is_written(tmp_path: Path) -> None:
    folder = _repository(tmp_path)
    done = call(folder, "audit", "--patch")
    assert done.returncode == 1, done.stderr
    assert (folder / "server.py").read_text("utf-8") == SOURCE
    subprocess.run(
        ["git", "-C", folder, "apply", "-"], input=done.stdout, text=True, check=True
    )
    assert "readOnlyHint" in (folder / "server.py").read_text("utf-8")
    second = call(folder, "audit", "--patch")
    assert (second.returncode, second.stdout) == (0, "")


def test_the_patch_names_served_tools_that_the_source_does_not_show(
    tmp_path: Path,
) -> None:
    folder = _repository(tmp_path)
    (folder / "tools.json").write_text(json.dumps([tool("get_note"), tool("get_late")]))
    done = call(folder, "audit", "--file", "tools.json", "--patch")
    assert done.stdout.startswith("--- ")
    assert "get_late" in done.stderr
    assert "get_note: " not in done.stderr


def test_a_patch_without_a_source_is_one_line(tmp_path: Path) -> None:
    done = call(tmp_path, "audit", "--patch")
    assert (done.returncode in (1, 2), done.stdout, done.stderr.count("\n")) == (
        True,
        "",
        1,
    )

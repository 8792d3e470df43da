"""`adopt` adds the policy to an existing server in one diff, without changing function bodies."""

import ast
import json
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
from adopting.samples import LOW, ORDINARY, SDK1
from lifecycle import ENGINE, commit, released, uncommitted, update
from support import ROOT, git, python

from copier_fastmcp.adopting.live_comparison import list_tools as list_served
from copier_fastmcp.cli import main

PYPROJECT = """[project]
name = "team-notes"
version = "1"
requires-python = ">=3.10"
dependencies = [
    "fastmcp>=3",  # the framework
]

[tool.ruff]
line-length = 88

[tool.pytest.ini_options]
addopts = "-q"
"""
MYPY = ROOT / "examples/rendered/notes/config/mypy.ini"
LISTED = """
import asyncio, json
from fastmcp import Client
from server import mcp

async def listed():
    async with Client(mcp) as client:
        tools = await client.list_tools()
    print(json.dumps([t.model_dump(by_alias=True, exclude_none=True, mode="json") for t in tools]))

asyncio.run(listed())
"""


def create_server(folder: Path, text: str = ORDINARY, **files: str) -> Path:
    """Create an existing server in a git repository."""
    folder.mkdir(exist_ok=True)
    (folder / "server.py").write_text(text)
    (folder / "pyproject.toml").write_text(PYPROJECT)
    (folder / ".gitignore").write_text("__pycache__/\n")
    for name, held in files.items():
        (folder / name).write_text(held)
    git(folder, "init", "--quiet")
    commit(folder)
    return folder


def list_tools(project: Path) -> dict[str, dict[str, Any]]:
    done = python(project, "-c", LISTED, PYTHONPATH=str(project))
    assert done.returncode == 0, done.stderr
    return {tool["name"]: tool for tool in json.loads(done.stdout)}


@pytest.fixture(scope="module")
def adopted(template: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The ordinary server after adoption; tests must not change it."""
    folder = create_server(tmp_path_factory.mktemp("adopted") / "it")
    words = [
        "adopt",
        str(folder),
        "--unattended",
        "--raise",
        "--template",
        str(template),
        "--ref",
        "v99.0.0",
    ]
    assert main(words) == 0
    return folder


@pytest.fixture
def mine(adopted: Path, tmp_path: Path) -> Path:
    """A writable copy of the adopted server."""
    return shutil.copytree(adopted, tmp_path / "mine")


def test_the_diff_touches_no_body_and_no_setting(adopted: Path) -> None:
    def bodies(text: str) -> list[str]:
        nodes = [n for n in ast.walk(ast.parse(text)) if isinstance(n, ast.FunctionDef)]
        for node in nodes:
            node.decorator_list = []
        return [ast.unparse(node) for node in nodes]

    assert bodies((adopted / "server.py").read_text()) == bodies(ORDINARY)
    removed = []
    for line in git(adopted, "diff", "-U0").splitlines():
        if line[0] == "-":
            removed.append(line)
    assert removed == [
        "--- a/pyproject.toml",
        '-requires-python = ">=3.10"',
        '-    "fastmcp>=3",  # the framework',
        "--- a/server.py",
    ]
    assert (
        'line-length = 88\n\n[tool.pytest.ini_options]\naddopts = "-q"\n'
        in (adopted / "pyproject.toml").read_text()
    )
    assert not (adopted / "src").exists()


def test_it_serves_the_same_but_for_hints_titles_and_gate(
    adopted: Path, tmp_path: Path
) -> None:
    before, after = list_tools(create_server(tmp_path / "before")), list_tools(adopted)
    assert after.keys() == before.keys()
    for name, tool in after.items():
        gated = tool["annotations"]["destructiveHint"] and "confirm" in str(
            tool["inputSchema"]
        )
        assert bool(gated) is (name in ("delete_note", "read_next"))
        assert tool.get("_meta") == before[name].get("_meta")
        description = tool["description"].removesuffix(" Two-step confirmation.")
        assert description == before[name]["description"]
        if not gated:
            assert description == tool["description"]
            assert tool["inputSchema"] == before[name]["inputSchema"]
            assert tool.get("outputSchema") == before[name].get("outputSchema")
    assert (
        after["save_note"]["annotations"]["readOnlyHint"] is False
    )  # its author said true
    assert after["add-tag"]["title"] == "Tag a note"
    assert after["read_next"]["annotations"]["idempotentHint"] is False


def test_the_command_that_started_it_before_starts_it_after(
    adopted: Path, tmp_path: Path
) -> None:
    before = create_server(tmp_path / "before")
    names: list[list[str]] = []
    for folder in (before, adopted):
        command = f"{sys.executable} {folder / 'server.py'}"
        names.append([tool["name"] for tool in list_served(command)])
    assert names[0] == names[1] != []


def test_its_own_suite_passes_and_its_authors_runs_none_of_it(mine: Path) -> None:
    pinned = python(mine, "tests/policy/pin.py", PYTHONPATH="")
    assert "hold 8 tools" in pinned.stdout, pinned.stderr
    done = python(
        mine, "tests/policy/check.py", "-p", "no:cacheprovider", PYTHONPATH=""
    )
    assert " failed" not in done.stdout, done.stdout
    assert "get_note is unprobed: it was adopted" in done.stdout
    text = (mine / "server.py").read_text()
    (mine / "server.py").write_text(text.replace("@policy.delete(", "@policy.put(", 1))
    done = python(
        mine, "tests/policy/check.py", "-p", "no:cacheprovider", PYTHONPATH=""
    )
    assert "delete_note: RELAXED" in done.stdout
    settings = mine / "pyproject.toml"
    settings.write_text(
        settings.read_text() + "\n[tool.copier-fastmcp]\nserver-bytes = 100\n"
    )
    done = python(mine, "tests/policy/check.py", "-k", "budget", PYTHONPATH="")
    assert "of all are set" in done.stdout, (
        "a budget is kept that its author sets, and no other"
    )
    author = python(mine, "-m", "pytest", "-p", "no:cacheprovider", PYTHONPATH="")
    assert (author.returncode, "error" in author.stdout) == (5, False), author.stdout


def test_adopting_twice_changes_nothing(mine: Path, template: Path) -> None:
    commit(mine)
    assert main(["adopt", str(mine), "--unattended", "--template", str(template)]) == 0
    assert uncommitted(mine) == set()


def test_a_tool_that_came_later_is_adopted_too(
    mine: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (mine / "server.py").read_text()
    new = '@mcp.tool\ndef purge_notes() -> None:\n    """Purge all."""\n    NOTES.clear()\n\n\nif __name__'
    (mine / "server.py").write_text(text.replace("if __name__", new))
    commit(mine)
    assert main(["adopt", str(mine), "--unattended"]) == 0
    assert uncommitted(mine) == {"server.py", "tests/tools/test_purge_notes.py"}
    stderr = capsys.readouterr().err
    assert "\npurge_notes: each asks the user" in f"\n{stderr}", "no other tool changes"
    assert "read_next" not in stderr, "what is declared is not asked about again"
    assert '    title="Purge Notes",\n' in (mine / "server.py").read_text()


@pytest.mark.nightly  # test_removing and test_engine_pin update an adopted server too
def test_an_update_to_the_next_release_is_clean(
    mine: Path, template: Path, tmp_path: Path
) -> None:
    commit(mine)
    release = released(
        template,
        tmp_path / "template",
        "v100.0.0",
        (ENGINE + "errors.py", "", "\n# Release 100.\n"),
        ("template/tests/policy/cases.py.jinja", "", "\n# Release 100.\n"),
        ("template/README.md.jinja", "", "\nRelease 100.\n"),
    )
    answers = mine / ".copier-answers.yml"
    answers.write_text(answers.read_text().replace(str(template), str(release)))
    commit(mine)
    update(mine, "v100.0.0")
    names = git(mine, "diff", "--name-only", "HEAD~1").split()
    assert names == [
        ".copier-answers.yml",
        "engine/errors.py",
        "tests/policy/cases.py",
        "tests/policy/engine.json",
    ]


REFUSED = {
    "a low-level server": ({"text": LOW}, "this is a low-level server"),
    "SDK 1": (
        {"text": SDK1},
        "this server is written with SDK 1; adopt needs FastMCP 4.1",
    ),
    "a folder above the server's": (
        {
            "text": "from fastmcp import FastMCP\n\ndef serve(mcp, all):\n    for one in all:\n        mcp.tool(one)\n"
        },
        "no server is made here",
    ),
    "an older FastMCP": (
        {"pyproject.toml": '[project]\ndependencies = ["fastmcp<4"]\n'},
        "pyproject.toml asks for fastmcp<4; adopt needs FastMCP 4.1: raise it to fastmcp",
    ),
    "no TOML": ({"pyproject.toml": "[project"}, "pyproject.toml: "),
    "no Python": ({"text": "def f(:"}, "server.py:1: not read as Python: "),
    "a file in the way": (
        {"policy.py": ""},
        "policy.py: has the name of the policy's folder",
    ),
    "another project of ours": ({".copier-answers.yml": "a: 1\n"}, "`update` it"),
}


@pytest.mark.parametrize(("files", "line"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_adopted_is_one_line_and_writes_nothing(
    files: dict[str, str],
    line: str,
    tmp_path: Path,
    template: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    folder = create_server(tmp_path / "it", **files)
    words = [
        "adopt",
        str(folder),
        "--unattended",
        "--raise",
        "--template",
        str(template),
        "--ref",
        "v99.0.0",
    ]
    assert main(words) in (1, 2)
    (message,) = capsys.readouterr().err.splitlines()
    assert line in message
    assert uncommitted(folder) == set()


def test_uncommitted_work_or_no_git_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = create_server(tmp_path / "it")
    (folder / "notes.txt").write_text("mine")
    assert main(["adopt", str(folder), "--unattended"]) == 1
    assert "commit notes.txt first" in capsys.readouterr().err
    shutil.rmtree(folder / ".git")
    assert main(["adopt", str(folder), "--unattended"]) == 1
    assert (
        "run `git init` and commit first, so that git can undo what adopt writes"
        in capsys.readouterr().err
    )


def test_a_report_of_rows_needs_no_clean_tree_and_writes_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = create_server(tmp_path / "it")
    assert main(["adopt", str(folder), "--dry-run", "--json"]) == 0
    rows = {row["tool"]: row for row in json.loads(capsys.readouterr().out)}
    assert rows["read_next"]["asked"] is True
    assert main(["adopt", str(folder), "--dry-run", "--unattended"]) == 0
    stdout, stderr = capsys.readouterr()
    assert (
        "\ndelete_note, read_next: each asks the user from now on, also accepts `confirm`"
        in stderr
    )
    assert "2 files would be changed, " in stderr
    assert "--- a/pyproject.toml\n" in stdout
    assert "\n+++ pyproject.toml" not in stdout
    assert uncommitted(folder) == set()


BROUGHT = ("policy", "tests/policy")


def check_brought(adopted: Path, *words: str) -> None:
    """Run a Python tool on the files that an adoption adds."""
    done = python(adopted, "-m", *words, *BROUGHT)
    assert done.returncode == 0, done.stdout + done.stderr


def test_what_is_brought_is_linted(adopted: Path) -> None:
    check_brought(adopted, "ruff", "format", "--no-cache", "--check")
    check_brought(adopted, "ruff", "check", "--no-cache")


@pytest.mark.nightly  # the same files are typed in every rendered project
def test_what_is_brought_is_typed(adopted: Path) -> None:
    check_brought(adopted, "mypy", "--config-file", str(MYPY), "--cache-dir=/dev/null")

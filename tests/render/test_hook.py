"""The hook changes no file of a fresh project, writes nowhere else, and always exits with 0."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import copier
import pytest
from support import ROOT, git, render

from copier_fastmcp.project.copier_process import run_format_hook

UGLY, PRETTY = '"""Mine."""\n\nx = {  }\n', '"""Mine."""\n\nx = {}\n'
HOOK = ROOT / "hooks/polish.py"


def hash_files(folder: Path) -> dict[str, str]:
    """Hash every file below a folder."""
    hashes = {}
    for path in folder.rglob("*"):
        if path.is_file() and ".git" not in path.parts:
            digest = hashlib.sha256(path.read_bytes()).hexdigest()
            hashes[str(path.relative_to(folder))] = digest
    return hashes


@pytest.fixture
def mine(project: Path, tmp_path: Path) -> Path:
    """A fresh project that a test may change."""
    return shutil.copytree(project, tmp_path / "p")


def run(project: Path, **environ: str) -> subprocess.CompletedProcess[str]:
    """Run the hook in the project as Copier does."""
    return subprocess.run(
        [sys.executable, str(HOOK)],
        cwd=project,
        env=os.environ | environ,
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_fresh_copy_is_the_same_with_the_hook_and_without(
    project: Path, template: Path, tmp_path: Path
) -> None:
    plain = render(template, tmp_path / "plain")
    assert hash_files(plain) == hash_files(project)


def test_it_says_in_one_line_what_it_did(mine: Path) -> None:
    done = run(mine)
    assert (done.returncode, done.stdout) == (0, "formatted and linted with ruff\n")


@pytest.mark.parametrize("place", ["git repository", "old folder"])
def test_it_writes_nothing_where_something_was_before(mine: Path, place: str) -> None:
    ugly = mine / "src/notes_mcp/extend.py"
    ugly.write_text("x = {  }\n")
    if place == "git repository":
        git(mine, "init", "--quiet")
    else:
        older = mine / "mine.txt"
        older.write_text("mine")
        os.utime(older, (1, 1))
    before = hash_files(mine)
    done = run(mine)
    assert hash_files(mine) == before
    assert "ruff format --check has something to say" in done.stdout
    assert done.returncode == 0


def test_recopy_keeps_what_the_owner_wrote(mine: Path) -> None:
    git(mine, "init", "--quiet")
    git(mine, "add", "--all")
    git(mine, "commit", "--quiet", "--message=start")
    extension = mine / "src/notes_mcp/extend.py"
    extension.write_text("x = {  }\n")
    copier.run_recopy(mine, defaults=True, overwrite=True, unsafe=True, quiet=True)
    assert extension.read_text() == "x = {  }\n"


def test_without_ruff_it_names_the_remedy(mine: Path) -> None:
    code = (
        "import importlib.util, runpy, sys\n"
        "find = importlib.util.find_spec\n"
        "importlib.util.find_spec = lambda name, *a: None if name == 'ruff' else find(name, *a)\n"
        f"runpy.run_path({str(HOOK)!r}, run_name='__main__')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=mine,
        env=os.environ | {"PATH": "/nowhere"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0
    assert done.stdout.count("\n") == 1
    assert "uv tool install ruff" in done.stdout


@pytest.mark.parametrize("how", ["relative", "absolute"])
def test_a_template_that_an_update_will_not_find_is_named(
    template: Path, tmp_path: Path, how: str
) -> None:
    source = os.path.relpath(template, tmp_path) if how == "relative" else str(template)
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "copier",
            "copy",
            "--defaults",
            "--skip-tasks",
            source,
            "my notes",
        ],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    output = " ".join(done.stderr.split())
    assert "notes-mcp is ready in my notes." in output
    assert ("`copier update` will not find its template" in output) == (
        how == "relative"
    )


@pytest.mark.parametrize("place", ["here", "there"])
def test_a_repository_that_was_there_keeps_what_it_had(
    template: Path, tmp_path: Path, place: str
) -> None:
    """Into a folder with a repository and files of its own, named by its path or as `.` from inside."""
    project = tmp_path / "p"
    project.mkdir()
    git(project, "init", "--quiet")
    (project / "mine.py").write_text("x = {  }\n")
    git(project, "add", "--all")
    git(project, "commit", "--quiet", "--message=mine")
    words = [
        "copy",
        "--defaults",
        "--trust",
        str(template),
        "." if place == "here" else "p",
    ]
    done = subprocess.run(
        [sys.executable, "-m", "copier", *words],
        cwd=project if place == "here" else tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert (project / "mine.py").read_text() == "x = {  }\n"
    assert not git(project, "diff", "--name-only")
    output = " ".join(done.stderr.split())
    assert "notes-mcp is ready in" in output
    assert ("git init" in output) is False
    assert ("cd " in output) == (place == "there")
    assert "uv run tests/policy/pin.py" in output


def test_new_runs_it_for_a_trusted_template_only(
    template: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = render(template, tmp_path / "p")
    ugly = project / "src/notes_mcp/extend.py"
    ugly.write_text(UGLY)
    assert run_format_hook(project) == ""
    assert ugly.read_text() == UGLY
    settings = tmp_path / "settings.yml"
    settings.write_text(json.dumps({"trust": [str(template)]}))
    monkeypatch.setenv("COPIER_SETTINGS_PATH", str(settings))
    assert run_format_hook(project) == "formatted and linted with ruff"
    assert ugly.read_text() == PRETTY

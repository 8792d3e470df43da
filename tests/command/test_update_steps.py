"""Steps of an update by themselves, in repositories without a server."""

from pathlib import Path

import pytest
from calling import environment
from lifecycle import commit
from support import git

from copier_fastmcp.updates.checkouts import (
    Release,
    Result,
    _pin_and_check,
    _record_template,
)
from copier_fastmcp.updates.conflicts import conflicting_files, describe_conflicts
from copier_fastmcp.updates.reports import format_markdown, format_text
from copier_fastmcp.updates.worktrees import Worktree

CONFLICT = """first
<<<<<<< before updating
mine
=======
theirs
and more of it
>>>>>>> after updating
"""


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository whose server can be pinned by a script of its own."""
    for name, value in environment().items():
        monkeypatch.setenv(name, value)
    project = tmp_path / "mine"
    (project / "tests/policy").mkdir(parents=True)
    git(project, "init", "--quiet")
    (project / ".copier-answers.yml").write_text("_src_path: /old\n")
    (project / "tests/policy/pin.py").write_text(
        "raise SystemExit('it does not start')\n"
    )
    commit(project)
    return project


def test_a_server_that_was_never_pinned(mine: Path) -> None:
    result = Result(str(mine), "failed")
    release = Release(None, pin=True)
    with Worktree(mine) as worktree:
        _pin_and_check(worktree, release, result)
        assert result.tools[0].startswith(
            "not pinned: tests/policy/pin.py: it does not start"
        )
        pin = worktree.project / "tests/policy/pin.py"
        pin.write_text("open('annotations.lock.json', 'w').write('{}')\n")
        _pin_and_check(worktree, release, result)
    assert result.tools == [
        "pinned for the first time: there was no lock to compare with"
    ]
    assert result.files["annotations.lock.json"] == "new"


def test_the_new_address_of_a_template_is_a_commit_of_its_own(mine: Path) -> None:
    with Worktree(mine) as worktree:
        _record_template(worktree, "/new")
        assert (
            git(worktree.root, "log", "-1", "--format=%s")
            == "The template is at /new\n"
        )
        assert (
            worktree.root / ".copier-answers.yml"
        ).read_text() == "_src_path: /new\n"
    assert (mine / ".copier-answers.yml").read_text() == "_src_path: /old\n"


def test_a_conflict_says_what_the_release_changes(mine: Path) -> None:
    (mine / "a.txt").write_text(CONFLICT)
    (mine / "b.txt.rej").write_text("rejected\n")
    names = conflicting_files(mine)
    assert names == ["a.txt", "b.txt.rej"]
    assert describe_conflicts(mine, names) == [
        "a.txt:2: the release has `theirs` and 1 more, here is `mine`",
        "b.txt.rej: the edit here does not fit the release's text",
    ]


def test_the_lock_is_no_new_file_of_the_author(mine: Path) -> None:
    files = {"annotations.lock.json": "changed", "src/notes_mcp/tools/a.py": "new"}
    text = format_text(Result(str(mine), "clean", ["v1 -> v2"], files=files))
    pinned, _, yours = text.partition("Files that are yours now:")
    assert "annotations.lock.json" in pinned
    assert yours.split() == ["src/notes_mcp/tools/a.py"]


def test_a_file_in_conflict_is_under_one_heading(mine: Path) -> None:
    files = {"src/notes_mcp/tools/a.py": "changed", "src/notes_mcp/tools/b.py": "new"}
    in_conflict = ["src/notes_mcp/tools/a.py"]
    text = format_text(Result(str(mine), "conflict", in_conflict, files=files))
    conflicts, _, yours = text.partition("Files that are yours now:")
    assert conflicts.partition("Conflicts:")[2].split() == in_conflict
    assert yours.split() == ["src/notes_mcp/tools/b.py"]


def test_a_report_puts_relaxations_first_and_keeps_lines_short(mine: Path) -> None:
    tools = ["a: title x -> y", "b: RELAXED: gate lost", f"c: why {'word ' * 60}"]
    result = Result(
        str(mine), "relaxed", ["v1 -> v2"], tools=tools, files={"README.md": "changed"}
    )
    text = format_markdown([result])
    assert text.index("Relaxed for clients") < text.index("Other changes for clients")
    assert "<details><summary>Policy and shared files (1)</summary>" in text
    for report in (text, format_text(result)):
        assert max(map(len, report.splitlines())) <= 200
        assert report.count("word") == 60, "wrapped, not cut"

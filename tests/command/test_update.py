"""`update`: what changed is told, what would be lost is refused, a conflict waits on its branch."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from calling import at_hand, call, environment, interruptible
from lifecycle import TOOLS, bytes_of, commit, released, said, start
from support import git, pin

TABLES = "src/copier_fastmcp/tables.json"
ROW = '"explicit": {"hints": "explicit", "destructive": "deletes_and_overwrites"'
BOUND = '"fastmcp>=4.1,<5"'


@pytest.fixture(scope="module")
def releases(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """v3 relaxes a hint, raises a bound once more and brings a file."""
    copied = tmp_path_factory.mktemp("releases") / "template"
    return released(
        repository,
        copied,
        "v3.0.0",
        (TABLES, ROW, ROW.replace("_and_overwrites", "")),
        ("template/.envrc", "", "use uv\n"),
    )


@pytest.fixture(scope="module")
def made(releases: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A pinned server from v1."""
    project = start(releases, tmp_path_factory.mktemp("made") / "p", tools=[*TOOLS, "update_note"])
    pin(project)
    commit(project, "pinned")
    return project


@pytest.fixture
def mine(made: Path, tmp_path: Path) -> Path:
    """A copy of it to write in."""
    return shutil.copytree(made, tmp_path / "my notes")


def update(project: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run the verb as somebody who trusts the template."""
    return call(project, "update", "--trust", "--ref", "v3.0.0", *words, **at_hand(project))


def test_it_says_what_changed_and_stands_on_a_branch(mine: Path, tmp_path: Path) -> None:
    branch = git(mine, "branch", "--show-current").strip()
    before, head = bytes_of(mine), git(mine, "rev-parse", "HEAD")
    tried = update(mine, "--dry-run")
    assert (tried.returncode, bytes_of(mine)) == (0, before), tried.stderr
    assert tried.stdout.startswith("clean: v1.0.0 -> v3.0.0\n")
    assert "  .envrc: new\n" in tried.stdout
    report = tmp_path / "report.md"
    done = update(mine, "--check", "git log --oneline; exit 0", "--report", str(report))
    assert done.returncode == 0, done.stderr
    assert "  update_note: RELAXED: destructiveHint true -> false\n" in done.stdout
    assert done.stdout.endswith("on the branch template-v3.0.0: look at it, then merge it\n")
    assert git(mine, "branch", "--show-current") == "template-v3.0.0\n"
    assert git(mine, "rev-parse", branch) == head
    assert "annotations.lock.json" in git(mine, "show", "--stat", "HEAD")
    assert git(mine, "status", "--porcelain") == ""
    text = report.read_text()
    assert text.startswith("## my notes: clean\n\nv1.0.0 -> v3.0.0\n")
    assert "### What clients see\n\n- update_note: RELAXED: destructiveHint true" in text
    assert "### Check, before and after\n\n- passed\n- passed\n" in text


def test_a_conflict_waits_on_its_branch(mine: Path) -> None:
    path = mine / "pyproject.toml"
    path.write_text(path.read_text().replace(BOUND, '"fastmcp==4.1.0"'))
    commit(mine)
    before, refs = bytes_of(mine), git(mine, "for-each-ref")
    rolled = update(mine, "--roll-back", "--json")
    assert (rolled.returncode, json.loads(rolled.stdout)["detail"]) == (1, ["pyproject.toml"])
    assert (bytes_of(mine), git(mine, "for-each-ref")) == (before, refs)
    done = update(mine)
    assert done.returncode == 1
    assert "Conflicts:\n  pyproject.toml\n" in done.stdout
    assert git(mine, "branch", "--show-current") == "template-v3.0.0\n"
    assert "UU pyproject.toml" in git(mine, "status", "--porcelain")
    assert "<<<<<<< before updating" in path.read_text()
    path.write_text(path.read_text().replace("<<<<<<< before updating\n", ""))
    commit(mine, "resolved")
    assert git(mine, "for-each-ref").count("\n") == refs.count("\n") + 1


def test_what_would_be_lost_is_refused_by_a_dry_run_too(mine: Path) -> None:
    """The clone of a dry run does not hold what git ignores; the checkout does."""
    (mine / ".gitignore").write_text((mine / ".gitignore").read_text() + ".envrc\n")
    (mine / ".envrc").write_text("export TOKEN=mine\n")
    commit(mine)
    before = bytes_of(mine)
    for words in (["--dry-run"], []):
        done = update(mine, *words)
        assert done.returncode == 1
        assert ".envrc: git ignores it, and v3.0.0 would write over it; move it" in done.stdout
        assert (bytes_of(mine), git(mine, "status", "--porcelain")) == (before, "")


@pytest.mark.nightly
@pytest.mark.skipif(sys.platform == "win32", reason="needs a terminal of POSIX")
def test_in_a_terminal_it_is_tried_and_asked_for(mine: Path) -> None:
    pexpect = pytest.importorskip("pexpect")
    before, refs = bytes_of(mine), git(mine, "for-each-ref")
    child = pexpect.spawn(
        sys.executable,
        ["-P", "-m", "copier_fastmcp", "update", "--trust", "--ref", "v3.0.0"],
        cwd=mine,
        env=environment(**at_hand(mine), PROMPT_TOOLKIT_NO_CPR="1", TERM="xterm"),
        preexec_fn=interruptible,
        encoding="utf-8",
        dimensions=(40, 100),
        timeout=300,
    )
    child.expect_exact("clean: v1.0.0 -> v3.0.0")
    child.expect_exact(".envrc: new")
    child.expect_exact("Write it?")
    child.send("n")
    child.expect_exact("nothing was written")
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 130
    assert (bytes_of(mine), git(mine, "for-each-ref")) == (before, refs)


@pytest.mark.nightly
def test_a_template_that_has_moved(mine: Path, releases: Path, tmp_path: Path) -> None:
    place = shutil.copytree(releases, tmp_path / "its new place")
    done = update(mine, "--template", str(place), "--unpinned", "--data", "author=Ann")
    assert done.returncode == 0, done.stdout + done.stderr
    assert (said(mine)["_src_path"], said(mine)["_commit"]) == (str(place), "v3.0.0")
    assert 'author: "" -> "Ann"' in done.stdout
    assert git(mine, "log", "--format=%s", "-2").splitlines() == [
        "Update the template to v3.0.0",
        f"The template is at {place}",
    ]


def test_data_that_names_no_answer(tmp_path: Path) -> None:
    done = call(tmp_path, "update", "--data", "MIT")
    assert (done.returncode, done.stdout) == (1, "")
    assert "--data 'MIT' names no answer; write it as license=MIT" in done.stderr

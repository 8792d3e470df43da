"""`update`: what changed is told, what would be lost is refused, a conflict waits on its branch."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from calling import call, environment, interruptible, uv_settings
from lifecycle import TOOLS, bytes_of, commit, load_answers, released, start
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
def pinned_project(releases: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A pinned server from v1."""
    project = start(
        releases, tmp_path_factory.mktemp("pinned") / "p", tools=[*TOOLS, "update_note"]
    )
    pin(project)
    commit(project, "pinned")
    return project


@pytest.fixture
def mine(pinned_project: Path, tmp_path: Path) -> Path:
    """A copy of it to write in."""
    return shutil.copytree(pinned_project, tmp_path / "my notes")


def update(project: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run the verb as somebody who trusts the template."""
    return call(
        project, "update", "--trust", "--ref", "v3.0.0", *words, **uv_settings(project)
    )


def show(project: Path, branch: str, path: str) -> str:
    """A file on a branch."""
    return git(project, "show", f"{branch}:{path}")


def test_the_change_is_on_a_branch_and_nothing_else_changes(
    mine: Path, tmp_path: Path
) -> None:
    (mine / "notes.txt").write_text("in no commit\n")
    before, head = bytes_of(mine), git(mine, "rev-parse", "HEAD")
    status, index = (
        git(mine, "status", "--porcelain"),
        (mine / ".git/index").read_bytes(),
    )
    tried = update(mine, "--dry-run")
    assert tried.stdout.startswith("relaxed: v1.0.0 -> v3.0.0\n"), tried.stderr
    assert tried.returncode == 1, "a relaxation is not clean"
    assert "  .envrc: new\n" in tried.stdout
    assert git(mine, "branch", "--list", "template-*") == ""
    report = tmp_path / "report.md"
    checked = (
        "--check",
        "git log --oneline; echo x > left.txt",
        "--report",
        str(report),
    )
    done = update(mine, *checked)
    assert done.returncode == 1, done.stderr
    assert "  update_note: RELAXED: destructiveHint true -> false\n" in done.stdout, (
        done.stderr
    )
    assert "uncommitted, so not on the branch: notes.txt" in done.stdout
    last = "on the branch template-v3.0.0: look at it, then git merge template-v3.0.0\n"
    assert done.stdout.endswith(last)
    assert bytes_of(mine) == before
    assert (mine / ".git/index").read_bytes() == index
    assert git(mine, "status", "--porcelain") == status
    assert git(mine, "rev-parse", "HEAD") == head
    assert git(mine, "worktree", "list").count("\n") == 1
    stat = git(mine, "show", "--stat", "template-v3.0.0")
    assert "annotations.lock.json" in stat
    assert "left.txt" not in stat
    assert show(mine, "template-v3.0.0", ".envrc") == "use uv\n"
    text = report.read_text()
    assert text.startswith("## my notes: relaxed\n\nv1.0.0 -> v3.0.0\n")
    assert (
        "### Relaxed for clients\n\n- update_note: RELAXED: destructiveHint true"
        in text
    )
    assert "### Check, before and after\n\n- passed\n- passed\n" in text
    assert max(map(len, text.splitlines())) <= 200
    git(mine, "merge", "--quiet", "template-v3.0.0")
    assert (mine / "notes.txt").read_text() == "in no commit\n"
    second = update(mine)
    assert (second.returncode, second.stdout) == (0, "up to date: v3.0.0\n")


def test_here_puts_the_change_into_a_clean_tree(mine: Path) -> None:
    (mine / "notes.txt").write_text("in no commit\n")
    before = bytes_of(mine)
    refused = update(mine, "--here")
    assert refused.returncode == 1
    assert (
        "commit notes.txt first, since the change goes into the tree" in refused.stdout
    )
    assert bytes_of(mine) == before
    (mine / "notes.txt").unlink()
    done = update(mine, "--here")
    assert done.stdout.endswith(
        "not staged: look at it with git diff, then commit\n"
    ), done.stderr
    assert load_answers(mine)["_commit"] == "v3.0.0"
    assert (mine / ".envrc").read_text() == "use uv\n"
    assert git(mine, "diff", "--cached", "--name-only") == ""
    assert git(mine, "for-each-ref").count("\n") == 1


def test_a_conflict_is_on_its_branch_with_what_the_release_changes(mine: Path) -> None:
    path = mine / "pyproject.toml"
    path.write_text(path.read_text().replace(BOUND, '"fastmcp==4.1.0"'))
    commit(mine)
    before, refs = bytes_of(mine), git(mine, "for-each-ref")
    rolled = update(mine, "--roll-back", "--json")
    assert (rolled.returncode, json.loads(rolled.stdout)["detail"]) == (
        1,
        ["pyproject.toml"],
    )
    assert (bytes_of(mine), git(mine, "for-each-ref")) == (before, refs)
    done = update(mine)
    assert done.returncode == 1
    line = '`"fastmcp>=4.1.2,<5",`, here is `"fastmcp==4.1.0",`'
    assert line in done.stdout
    assert bytes_of(mine) == before
    assert "<<<<<<< before updating" in show(mine, "template-v3.0.0", "pyproject.toml")
    git(mine, "switch", "--quiet", "template-v3.0.0")
    path.write_text(path.read_text().replace("<<<<<<< before updating\n", ""))
    commit(mine, "resolved")
    assert git(mine, "for-each-ref").count("\n") == refs.count("\n") + 1


@pytest.mark.nightly
def test_a_file_of_the_author_that_the_release_adds_is_refused_by_name(
    mine: Path,
) -> None:
    """The worktree does not hold what git ignores; the checkout does."""
    (mine / ".gitignore").write_text((mine / ".gitignore").read_text() + ".envrc\n")
    (mine / ".envrc").write_text("export TOKEN=mine\n")
    commit(mine)
    before, refs = bytes_of(mine), git(mine, "for-each-ref")
    for words in (["--dry-run"], [], ["--here"]):
        done = update(mine, *words)
        assert done.returncode == 1
        assert (
            ".envrc: is here and in no commit, and the change adds it; move it"
            in done.stdout
        )
        assert (bytes_of(mine), git(mine, "status", "--porcelain")) == (before, "")
        assert git(mine, "for-each-ref") == refs


@pytest.mark.nightly
def test_a_file_that_gitignore_names_is_on_the_branch(mine: Path) -> None:
    (mine / ".gitignore").write_text((mine / ".gitignore").read_text() + ".envrc\n")
    commit(mine)
    update(mine, "--unpinned")
    assert show(mine, "template-v3.0.0", ".envrc") == "use uv\n"


@pytest.mark.nightly
@pytest.mark.skipif(sys.platform == "win32", reason="needs a terminal of POSIX")
def test_in_a_terminal_it_is_tried_and_asked_for(mine: Path) -> None:
    pexpect = pytest.importorskip("pexpect")
    before, refs = bytes_of(mine), git(mine, "for-each-ref")
    child = pexpect.spawn(
        sys.executable,
        ["-P", "-m", "copier_fastmcp", "update", "--trust", "--ref", "v3.0.0"],
        cwd=mine,
        env=environment(**uv_settings(mine), PROMPT_TOOLKIT_NO_CPR="1", TERM="xterm"),
        preexec_fn=interruptible,
        encoding="utf-8",
        dimensions=(40, 100),
        timeout=300,
    )
    child.expect_exact("relaxed: v1.0.0 -> v3.0.0")
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
    assert done.returncode == 1, "the release relaxes a hint"
    assert done.stdout.startswith("relaxed: v1.0.0 -> v3.0.0\n"), done.stderr
    git(mine, "switch", "--quiet", "template-v3.0.0")
    assert (load_answers(mine)["_src_path"], load_answers(mine)["_commit"]) == (
        str(place),
        "v3.0.0",
    )
    assert 'author: "" -> "Ann"' in done.stdout
    assert git(mine, "log", "--format=%s", "-2").splitlines() == [
        "Update the template to v3.0.0",
        f"The template is at {place}",
    ]


@pytest.mark.parametrize("verb", ["update", "add"])
def test_a_recorded_version_that_the_template_lacks(mine: Path, verb: str) -> None:
    """As Copier records for a template with uncommitted changes."""
    answers = mine / ".copier-answers.yml"
    text = answers.read_text(encoding="utf-8")
    answers.write_text(
        text.replace("_commit: v1.0.0", "_commit: 0badc0de"), encoding="utf-8"
    )
    git(mine, "commit", "--quiet", "--all", "--message=lost")
    words = ["get_shelf"] if verb == "add" else []
    done = call(mine, verb, *words)
    assert done.returncode
    shown = " ".join((done.stdout + done.stderr).split())  # a long path breaks the line
    assert "Unknown revision: '0badc0de'; " in shown
    assert "_commit in .copier-answers.yml" in shown


def test_an_answer_that_the_template_has_no_question_for(mine: Path) -> None:
    before = git(mine, "rev-parse", "HEAD")
    done = call(mine, "update", "--data", "licence=MIT", "--trust")
    assert done.returncode == 1, done.stdout
    shown = " ".join((done.stdout + done.stderr).split())
    assert "--data licence: no such question; the answers are " in shown
    assert git(mine, "rev-parse", "HEAD") == before
    assert git(mine, "branch", "--list", "template-*") == ""


def test_a_version_that_is_not_there_names_the_option_once(mine: Path) -> None:
    done = call(mine, "update", "--ref", "v99", "--unattended")
    assert done.returncode
    shown = " ".join((done.stdout + done.stderr).split())
    assert "Unknown revision: 'v99'" in shown
    assert shown.count("with --ref") == 1
    assert shown.count(".copier-answers.yml") == 1


def test_data_that_names_no_answer(tmp_path: Path) -> None:
    done = call(tmp_path, "update", "--data", "MIT")
    assert (done.returncode, done.stdout) == (1, "")
    assert "--data 'MIT' names no answer; write it as license=MIT" in done.stderr

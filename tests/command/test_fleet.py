"""`fleet`: each outcome of a checkout, and what is asked for wrongly."""

import json
import re
import shutil
from pathlib import Path

import pytest
from calling import call, fleet
from lifecycle import bytes_of, commit
from support import git, render

from copier_fastmcp.errors import UnableError
from copier_fastmcp.fleet import _listed
from copier_fastmcp.updating.checkouts import OWN_CHECKS, _check


@pytest.fixture(scope="module")
def made(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of three: a clean one, one whose policy edit conflicts, one with uncommitted work."""
    folder = tmp_path_factory.mktemp("made")
    answers = {"tools": "get_note", "backend": "none"}
    for name in ("clean", "edited", "dirty"):
        project = render(repository, folder / name, answers, vcs_ref="v1.0.0")
        git(project, "init", "--quiet")
        commit(project)
    path = folder / "edited/pyproject.toml"
    path.write_text(path.read_text().replace('"fastmcp>=4.1,<5"', '"fastmcp==4.1.0"'))
    commit(folder / "edited")
    (folder / "dirty/notes.txt").write_text("mine\n")
    return folder


@pytest.fixture
def three(made: Path, tmp_path: Path) -> list[Path]:
    """A copy of them to write in."""
    return [shutil.copytree(made / name, tmp_path / name) for name in ("clean", "edited", "dirty")]


def test_each_outcome_and_going_on(three: list[Path], tmp_path: Path) -> None:
    before = [bytes_of(project) for project in three]
    state = tmp_path / "state.json"
    empty = tmp_path / "no project"
    empty.mkdir()
    done = fleet(*three, empty, "--ref", "v2.0.0", "--state", state)
    assert done.returncode == 1
    lines = [re.split(r"\s{2,}", line) for line in done.stdout.splitlines()]
    assert [line[1] for line in lines[:4]] == ["clean", "conflict", "failed", "failed"]
    assert [line[3] for line in lines[:4]] == [
        "v1.0.0 -> v2.0.0",
        "pyproject.toml",
        "uncommitted changes; commit or stash them",
        f".copier-answers.yml is not in {empty}; run this in the project",
    ]
    assert done.stdout.endswith("4 projects: 1 clean, 0 up to date, 3 to look at\n")
    assert [bytes_of(project) for project in three[1:]] == before[1:], "left as they were"
    assert git(three[1], "status", "--porcelain") == ""
    path = three[1] / "pyproject.toml"
    path.write_text(path.read_text().replace('"fastmcp==4.1.0"', '"fastmcp>=4.1,<5"'))
    (three[1] / "CLAUDE.md").unlink()
    commit(three[1])
    (three[2] / "notes.txt").unlink()
    again = fleet(*three, "--ref", "v2.0.0", "--state", state)
    assert again.returncode == 0, again.stdout
    assert str(three[0]) not in again.stderr, "what was done is not done again"
    note = "clean; v1.0.0 -> v2.0.0; 1 policy file is not as it has them: copier-fastmcp drift"
    told = [re.sub(r"\s{2,}[\d.]+ s\s+", "; ", line) for line in again.stdout.splitlines()]
    assert [line.endswith(note) for line in told[:3]] == [False, True, False]
    assert again.stdout.endswith("3 projects: 3 clean, 0 up to date, 0 to look at\n")
    last = fleet(*three, "--ref", "v2.0.0")
    assert last.stdout.endswith("3 projects: 0 clean, 3 up to date, 0 to look at\n")
    assert last.returncode == 0


@pytest.mark.nightly
def test_a_check_that_fails_leaves_the_project(three: list[Path]) -> None:
    before = bytes_of(three[0])
    done = fleet(three[0], "--ref", "v2.0.0", "--check", "echo no good; exit 1")
    assert done.returncode == 1
    assert "the check already fails before the update: echo no good; exit 1: no good" in done.stdout
    assert bytes_of(three[0]) == before
    assert git(three[0], "branch", "--format=%(refname:short)").strip() in ("main", "master")


@pytest.mark.nightly
def test_a_check_that_the_update_breaks_says_so(three: list[Path]) -> None:
    words = "! grep -q 'Release 2' AGENTS.md || (echo 'error: no' >&2; echo '  Caused by: us' >&2; exit 1)"
    done = fleet(three[0], "--ref", "v2.0.0", "--check", words)
    assert "the check fails after the update: " in done.stdout
    assert ": error: no Caused by: us" in done.stdout


def test_each_server_has_a_check_of_its_own(tmp_path: Path) -> None:
    assert _check(tmp_path, "true") == "true"
    with pytest.raises(UnableError, match="there is no scripts/check and no tests/policy/check"):
        _check(tmp_path, "own")
    for path, command in reversed(OWN_CHECKS.items()):
        (tmp_path / path).parent.mkdir(parents=True)
        (tmp_path / path).touch()
        assert _check(tmp_path, "own") == command


@pytest.mark.nightly
def test_servers_from_before_the_fork(three: list[Path], repository: Path, tmp_path: Path) -> None:
    """They look for its releases where they came from, until somebody names it."""
    fork = tmp_path / "fork"
    git(tmp_path, "clone", "--quiet", str(repository), str(fork))
    git(fork, "tag", "v2.1.0", "v2.0.0")
    lost = fleet(three[0], "--dry-run", "--ref", "v2.1.0")
    assert lost.returncode == 1
    assert f"the template {repository}: Unknown revision: 'v2.1.0'" in lost.stdout
    assert "; name another with --template" in lost.stdout
    for outcome in ("1 clean, 0 up to date", "0 clean, 1 up to date"):
        done = fleet(three[0], "--ref", "v2.1.0", "--template", fork)
        assert outcome in done.stdout, done.stdout
    assert f"_src_path: {fork}\n" in (three[0] / ".copier-answers.yml").read_text()


def test_a_branch_of_that_name_is_not_taken(three: list[Path]) -> None:
    project = three[0]
    git(project, "switch", "--quiet", "--create", "template-v2.0.0")
    (project / "mine.txt").write_text("mine\n")
    commit(project)
    git(project, "switch", "--quiet", "--detach", "HEAD~1")
    git(project, "branch", "template-v9.0.0", "template-v2.0.0")
    refs = git(project, "for-each-ref") + git(project, "rev-parse", "HEAD")
    early = fleet(project, "--ref", "v9.0.0")  # no such release, but that is not even asked
    assert "the branch template-v9.0.0 is there" in early.stdout
    done = fleet(project, "--ref", "v2.0.0")
    assert done.returncode == 1, done.stdout
    assert "the branch template-v2.0.0 is there; merge it or delete it" in done.stdout
    assert git(project, "for-each-ref") + git(project, "rev-parse", "HEAD") == refs
    assert git(project, "branch", "--show-current") == "", "still on no branch"
    assert git(project, "status", "--porcelain") == ""


@pytest.mark.nightly
def test_what_is_rehearsed_is_what_will_happen(three: list[Path], tmp_path: Path) -> None:
    git(three[0], "branch", "template-v2.0.0")
    (three[0] / "mine.txt").write_text("mine\n")
    commit(three[0])
    git(three[1], "switch", "--quiet", "--create", "template-v2.0.0")
    (three[1] / "mine.txt").write_text("mine\n")
    commit(three[1])
    git(three[1], "switch", "--quiet", "-")
    below = tmp_path / "all/servers/one"
    shutil.copytree(three[0], below, ignore=shutil.ignore_patterns(".git"))
    git(tmp_path / "all", "init", "--quiet")
    commit(tmp_path / "all")
    for words in (["--dry-run"], []):
        done = fleet(*three, below, "--ref", "v2.0.0", *words)
        lines = [re.split(r"\s{2,}", line) for line in done.stdout.splitlines()]
        assert [line[1] for line in lines[:4]] == ["clean", "failed", "failed", "failed"]
        assert [line[3] for line in lines[1:4]] == [
            "the branch template-v2.0.0 is there; merge it or delete it",
            "uncommitted changes; commit or stash them",
            "not the root of its repository; run `copier update` in it by hand",
        ]


def test_files_that_git_was_told_not_to_show_are_kept(three: list[Path]) -> None:
    git(three[1], "config", "status.showUntrackedFiles", "no")
    (three[1] / "notes.txt").write_text("mine\n")
    done = fleet(three[1], "--ref", "v2.0.0")
    assert "uncommitted changes; commit or stash them" in done.stdout
    assert (three[1] / "notes.txt").read_text() == "mine\n"


@pytest.mark.parametrize("signal", ["INT", "TERM"])
def test_leaving_puts_back_the_project_at_hand(three: list[Path], signal: str) -> None:
    before = bytes_of(three[0])
    leave = f"touch left.txt; kill -{signal} $PPID; sleep 9"
    done = fleet(*three[:2], "--ref", "v2.0.0", "--check", leave)
    assert (done.returncode, done.stderr.splitlines()[-1]) == (130, "copier-fastmcp: stopped")
    assert bytes_of(three[0]) == before
    assert git(three[0], "status", "--porcelain") == ""


@pytest.mark.nightly  # an update is killed in every run, by tests/update/test_faults.py
def test_killed_twice_and_gone_on_with(three: list[Path], tmp_path: Path) -> None:
    """Nobody puts anything back in between; what a killed update left is stashed, not lost."""
    (three[2] / "notes.txt").unlink()
    path = three[1] / "pyproject.toml"
    path.write_text(path.read_text().replace('"fastmcp==4.1.0"', '"fastmcp>=4.1,<5"'))
    commit(three[1])
    count = tmp_path / "count"
    deadly = f"echo x >> '{count}'; case $(wc -l < '{count}') in 2|6) kill -9 $PPID;; esac"
    words = (*three, "--ref", "v2.0.0", "--state", tmp_path / "state.json", "--check", deadly)
    for project in three[:2]:
        killed = fleet(*words)
        assert killed.returncode == -9
        assert git(project, "status", "--porcelain") != ""
    done = fleet(*words)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.endswith("3 projects: 3 clean, 0 up to date, 0 to look at\n")
    assert done.stderr.count("what an update left that was killed is stashed") == 1
    for project in three:
        assert git(project, "branch", "--show-current") == "template-v2.0.0\n"
        assert git(project, "status", "--porcelain") == ""


@pytest.mark.nightly
def test_what_a_check_leaves_behind_is_not_committed(three: list[Path]) -> None:
    done = fleet(three[0], "--ref", "v2.0.0", "--check", "touch left.txt; echo x >> README.md")
    assert done.returncode == 0, done.stdout
    assert "left.txt" not in git(three[0], "show", "--stat", "HEAD")
    assert "README.md" not in git(three[0], "show", "--stat", "HEAD")
    assert git(three[0], "status", "--porcelain") == ""


@pytest.mark.nightly
def test_after_a_roll_back_it_is_done_again(three: list[Path], tmp_path: Path) -> None:
    words = (three[0], "--ref", "v2.0.0", "--state", tmp_path / "state.json")
    assert fleet(*words).returncode == 0
    git(three[0], "switch", "--quiet", "-")
    assert str(three[0]) not in fleet(*words).stderr, "it waits on its branch"
    git(three[0], "merge", "--quiet", "template-v2.0.0")
    assert str(three[0]) not in fleet(*words).stderr, "it is merged"
    git(three[0], "-c", "user.name=t", "-c", "user.email=t@t", "revert", "--no-edit", "HEAD")
    again = fleet(*words)
    assert str(three[0]) in again.stderr
    assert again.returncode == 0, again.stdout
    assert "v1.0.0 -> v2.0.0" in again.stdout
    assert "_commit: v2.0.0" in (three[0] / ".copier-answers.yml").read_text()


@pytest.mark.nightly
def test_a_commit_that_is_refused_leaves_the_project(three: list[Path]) -> None:
    hook = three[0] / ".git/hooks/pre-commit"
    hook.write_text("#!/bin/sh\necho not today >&2; exit 1\n")
    hook.chmod(0o755)
    git(three[0], "switch", "--quiet", "--detach")
    before = bytes_of(three[0])
    done = fleet(three[0], "--ref", "v2.0.0")
    assert done.returncode == 1
    assert "not today" in done.stdout
    assert bytes_of(three[0]) == before
    assert git(three[0], "branch", "--list", "template-*") == ""
    assert git(three[0], "branch", "--show-current") == ""


def test_no_code_runs_unless_somebody_says_so(three: list[Path], tmp_path: Path) -> None:
    before = bytes_of(three[0])
    refused = call(tmp_path, "fleet", three[0], "--ref", "v2.0.0")
    assert refused.returncode == 1
    assert "at v2.0.0 (" in refused.stdout
    runs = "may run: migration hooks/guard.py; task hooks/polish.py in a new project only; "
    assert f"{runs}read it, then say --trust" in refused.stdout
    assert bytes_of(three[0]) == before
    done = fleet(*three[:2], "--ref", "v2.0.0", "--json", "--report", tmp_path / "report.md")
    assert done.returncode == 1, done.stderr
    assert done.stderr.count("hooks/polish.py") == 1, "what runs is named first, and once"
    result, edited = json.loads(done.stdout)
    assert (result["project"], result["outcome"]) == (str(three[0]), "clean")
    assert edited["outcome"] == "conflict"
    report = (tmp_path / "report.md").read_text()
    for way in ("copier-fastmcp drift", "copier-fastmcp restore", "the guide for policy owners"):
        assert way in report
    assert "v1.0.0 -> v2.0.0" in report


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--state", "x", "--dry-run", "p"], "--state keeps what was done"),
        (["@/no/such/list"], "No such file"),
        ([], "no project is named"),
        (["@EMPTY"], "no project is named"),
        (["@LATIN"], "LATIN: not UTF-8"),
        (["p", "--ref", "v2.0.0", "--state", "ODD"], "ODD holds no results of an earlier run"),
        (["p", "--state", "x"], "--state goes with --ref"),
        (
            ["p", "--ref", "v2.0.0", "--state", "EMPTY"],
            "EMPTY holds no results of an earlier run; delete it",
        ),
        (["p", "--ref", "v2.0.0", "--state", "EMPTY/no"], "--state: "),
        (["p", "--report", "EMPTY/no"], "EMPTY is not a folder; make it, or name another"),
    ],
)
def test_wrong_usage(words: list[str], why: str, tmp_path: Path) -> None:
    (tmp_path / "EMPTY").touch()
    (tmp_path / "LATIN").write_bytes(b"\xe9")
    (tmp_path / "ODD").write_text(
        '{"ref": "v2.0.0", "results": [{"project": 1, "outcome": "clean"}]}'
    )
    done = call(
        tmp_path,
        "fleet",
        *(re.sub("EMPTY|LATIN|ODD", rf"{tmp_path}/\g<0>", word) for word in words),
    )
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert why in done.stderr


def test_a_comment_in_a_list_of_checkouts_may_be_indented(tmp_path: Path) -> None:
    listed = tmp_path / "all.txt"
    listed.write_text("# ours\none\n\n  # theirs\n  two\n")
    assert _listed((f"@{listed}", "three")) == ["one", "two", "three"]

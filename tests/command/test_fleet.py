"""`fleet`: each outcome of a checkout, and what is asked for wrongly."""

import json
import re
import shutil
from pathlib import Path

import pytest
from calling import call, fleet
from lifecycle import bytes_of, commit
from support import git, nightly_but, render

from copier_fastmcp.errors import UnableError
from copier_fastmcp.fleet import list_projects
from copier_fastmcp.updates.checkouts import OWN_CHECKS, check_command


@pytest.fixture(scope="module")
def projects(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of three: a clean one, one whose policy edit conflicts, one with uncommitted work."""
    folder = tmp_path_factory.mktemp("projects")
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
def three(projects: Path, tmp_path: Path) -> list[Path]:
    """A copy of them to write in."""
    copies = []
    for name in ("clean", "edited", "dirty"):
        copies.append(shutil.copytree(projects / name, tmp_path / name))
    return copies


BRANCH = "template-v2.0.0"


def rows(text: str) -> list[list[str]]:
    """The columns of a table; a long row is wrapped."""
    lines = re.sub(r"\n  +", "  ", text).splitlines()
    table = []
    for line in lines:
        cells = re.split(r"\s{2,}", line, maxsplit=3)
        table.append([" ".join(cell.split()) for cell in cells])
    return table


def test_each_outcome_and_going_on(three: list[Path], tmp_path: Path) -> None:
    before = [bytes_of(project) for project in three]
    status = [git(project, "status", "--porcelain") for project in three]
    state = tmp_path / "state.json"
    empty = tmp_path / "no project"
    empty.mkdir()
    done = fleet(*three, empty, "--ref", "v2.0.0", "--state", state)
    assert done.returncode == 1
    lines = rows(done.stdout)
    assert [line[1] for line in lines[:4]] == ["clean", "conflict", "clean", "failed"]
    assert [line[3] for line in lines[:4]] == [
        "v1.0.0 -> v2.0.0",
        "pyproject.toml",
        "v1.0.0 -> v2.0.0",
        f"{empty} is not a git repository; run `git init` and commit first",
    ]
    assert done.stdout.endswith("4 projects: 2 clean, 0 up to date, 2 to look at\n")
    assert [bytes_of(project) for project in three] == before, "left as they were"
    assert [git(project, "status", "--porcelain") for project in three] == status
    assert [git(project, "branch", "--list", BRANCH) != "" for project in three] == [
        1,
        0,
        1,
    ]
    assert "notes.txt" not in git(three[2], "show", "--stat", BRANCH)
    path = three[1] / "pyproject.toml"
    path.write_text(path.read_text().replace('"fastmcp==4.1.0"', '"fastmcp>=4.1,<5"'))
    (three[1] / "CLAUDE.md").unlink()
    commit(three[1])
    second = fleet(*three, "--ref", "v2.0.0", "--state", state)
    assert second.returncode == 0, second.stdout
    assert str(three[0]) not in second.stderr, "what was done is not done again"
    note = "clean; v1.0.0 -> v2.0.0; 1 policy file is not as it has them: copier-fastmcp drift"
    notes = [f"{line[1]}; {line[-1]}" for line in rows(second.stdout)[:3]]
    assert [line == note for line in notes] == [False, True, False], notes
    assert second.stdout.endswith("3 projects: 3 clean, 0 up to date, 0 to look at\n")
    git(three[0], "merge", "--quiet", BRANCH)
    last = fleet(three[0], "--ref", "v2.0.0")
    assert last.stdout.endswith("1 project: 0 clean, 1 up to date, 0 to look at\n")
    assert last.returncode == 0


@pytest.mark.nightly
def test_a_check_that_fails_leaves_the_project(three: list[Path]) -> None:
    before = bytes_of(three[0])
    done = fleet(three[0], "--ref", "v2.0.0", "--check", "echo no good; exit 1")
    assert done.returncode == 1
    message = "the check already fails before the update: echo no good; exit 1: no good"
    assert message in " ".join(done.stdout.split())
    assert bytes_of(three[0]) == before
    assert git(three[0], "branch", "--format=%(refname:short)").strip() in (
        "main",
        "master",
    )


@pytest.mark.nightly
def test_a_check_that_the_update_breaks_says_so(three: list[Path]) -> None:
    words = "! grep -q 'Release 2' AGENTS.md || (echo 'error: no' >&2; echo '  Caused by: us' >&2; exit 1)"
    done = fleet(three[0], "--ref", "v2.0.0", "--check", words)
    assert "the check fails after the update: " in done.stdout
    assert ": error: no Caused by: us" in " ".join(done.stdout.split())


def test_each_server_has_a_check_of_its_own(tmp_path: Path) -> None:
    assert check_command(tmp_path, "true") == "true"
    with pytest.raises(
        UnableError, match="there is no scripts/check and no tests/policy/check"
    ):
        check_command(tmp_path, "own")
    for path, command in reversed(OWN_CHECKS.items()):
        (tmp_path / path).parent.mkdir(parents=True)
        (tmp_path / path).touch()
        assert check_command(tmp_path, "own") == command


@pytest.mark.nightly
def test_servers_from_before_the_fork(
    three: list[Path], repository: Path, tmp_path: Path
) -> None:
    """They look for its releases where they came from, until somebody names it."""
    fork = tmp_path / "fork"
    git(tmp_path, "clone", "--quiet", str(repository), str(fork))
    git(fork, "commit", "--quiet", "--allow-empty", "--message=v2.1.0")
    git(fork, "tag", "v2.1.0")
    lost = fleet(three[0], "--dry-run", "--ref", "v2.1.0")
    assert lost.returncode == 1
    shown = " ".join(lost.stdout.split())  # a long path breaks the line
    assert f"the template {repository}: Unknown revision: 'v2.1.0'" in shown
    assert "; name another with --template" in shown
    for outcome in ("1 clean, 0 up to date", "0 clean, 1 up to date"):
        done = fleet(three[0], "--ref", "v2.1.0", "--template", fork)
        assert outcome in done.stdout, done.stdout
        git(three[0], "merge", "--quiet", "template-v2.1.0")
    assert f"_src_path: {fork}\n" in (three[0] / ".copier-answers.yml").read_text()


def test_a_branch_of_that_name_is_not_taken(three: list[Path]) -> None:
    project = three[0]
    git(project, "switch", "--quiet", "--create", "template-v2.0.0")
    (project / "mine.txt").write_text("mine\n")
    commit(project)
    git(project, "switch", "--quiet", "--detach", "HEAD~1")
    git(project, "branch", "template-v9.0.0", "template-v2.0.0")
    refs = git(project, "for-each-ref") + git(project, "rev-parse", "HEAD")
    early = fleet(
        project, "--ref", "v9.0.0"
    )  # no such release, but that is not even asked
    assert "the branch template-v9.0.0 is there" in early.stdout
    done = fleet(project, "--ref", "v2.0.0")
    assert done.returncode == 1, done.stdout
    assert "the branch template-v2.0.0 is there; merge it or delete it" in done.stdout
    assert git(project, "for-each-ref") + git(project, "rev-parse", "HEAD") == refs
    assert git(project, "branch", "--show-current") == "", "still on no branch"
    assert git(project, "status", "--porcelain") == ""


@pytest.mark.nightly
def test_what_is_rehearsed_is_what_will_happen(
    three: list[Path], tmp_path: Path
) -> None:
    git(three[0], "branch", BRANCH)
    (three[0] / "mine.txt").write_text("mine\n")
    commit(three[0])
    git(three[1], "switch", "--quiet", "--create", BRANCH)
    (three[1] / "mine.txt").write_text("mine\n")
    commit(three[1])
    git(three[1], "switch", "--quiet", "-")
    nested = [tmp_path / f"all/servers/{name}" for name in ("one", "two")]
    for place in nested:
        shutil.copytree(three[0], place, ignore=shutil.ignore_patterns(".git"))
    git(tmp_path / "all", "init", "--quiet")
    commit(tmp_path / "all")
    for words in (["--dry-run"], []):
        done = fleet(*three, *nested, "--ref", "v2.0.0", *words)
        lines = rows(done.stdout)
        outcomes = ["clean", "failed", "clean", "clean", "clean"]
        assert [line[1] for line in lines[:5]] == outcomes, done.stdout
        assert lines[1][3].startswith(
            "the branch template-v2.0.0 is there; merge it or delete it"
        )
    names = git(
        nested[0], "for-each-ref", "--format=%(refname:short)", "refs/heads/template-*"
    )
    assert names.split() == [f"{BRANCH}-servers-one", f"{BRANCH}-servers-two"]
    changed = git(
        tmp_path / "all", "diff", "--name-only", "HEAD", names.split()[0]
    ).split()
    assert changed != []
    for name in changed:
        assert name.startswith("servers/one/"), name


@pytest.mark.parametrize("signal", nightly_but(["TERM"], ["INT", "TERM"]))
def test_leaving_changes_nothing(three: list[Path], signal: str) -> None:
    before = bytes_of(three[0])
    command = f"kill -{signal} $PPID"
    leave = (
        f"touch left.txt; {command}; sleep 1; {command}; sleep 1; {command}; sleep 5"
    )
    done = fleet(*three[:2], "--ref", "v2.0.0", "--check", leave)
    assert (done.returncode, done.stderr.splitlines()[-1]) == (
        130,
        "copier-fastmcp: stopped",
    )
    assert bytes_of(three[0]) == before
    assert git(three[0], "status", "--porcelain") == ""
    assert git(three[0], "worktree", "list").count("\n") == 1


@pytest.mark.nightly
def test_killed_twice_and_gone_on_with(three: list[Path], tmp_path: Path) -> None:
    """Nobody puts anything back in between."""
    path = three[1] / "pyproject.toml"
    path.write_text(path.read_text().replace('"fastmcp==4.1.0"', '"fastmcp>=4.1,<5"'))
    commit(three[1])
    before = [bytes_of(project) for project in three]
    count = tmp_path / "count"
    deadly = (
        f"echo x >> '{count}'; case $(wc -l < '{count}') in 2|6) kill -9 $PPID;; esac"
    )
    words = (
        *three,
        "--ref",
        "v2.0.0",
        "--state",
        tmp_path / "state.json",
        "--check",
        deadly,
    )
    words = (*words, "--jobs", "1")
    for project in three[:2]:
        killed = fleet(*words)
        assert killed.returncode == -9
        assert git(project, "worktree", "list").count("\n") == 2
    done = fleet(*words)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.endswith("3 projects: 3 clean, 0 up to date, 0 to look at\n")
    for project in three:
        assert git(project, "branch", "--list", BRANCH) != ""
        assert git(project, "worktree", "list").count("\n") == 1
    assert [bytes_of(project) for project in three] == before


@pytest.mark.nightly
def test_locks_are_renewed_on_request(three: list[Path]) -> None:
    done = fleet(three[0], "--ref", "v2.0.0", "--pin")
    assert done.returncode == 0, done.stdout
    assert "annotations.lock.json" in git(three[0], "show", "--stat", BRANCH)


@pytest.mark.nightly
def test_what_a_check_leaves_behind_is_not_committed(three: list[Path]) -> None:
    done = fleet(
        three[0], "--ref", "v2.0.0", "--check", "touch left.txt; echo x >> README.md"
    )
    assert done.returncode == 0, done.stdout
    assert "left.txt" not in git(three[0], "show", "--stat", BRANCH)
    assert "README.md" not in git(three[0], "show", "--stat", BRANCH)
    assert git(three[0], "status", "--porcelain") == ""


@pytest.mark.nightly
def test_after_a_roll_back_it_is_done_again(three: list[Path], tmp_path: Path) -> None:
    words = (three[0], "--ref", "v2.0.0", "--state", tmp_path / "state.json")
    assert fleet(*words).returncode == 0
    assert str(three[0]) not in fleet(*words).stderr, "it waits on its branch"
    git(three[0], "merge", "--quiet", "template-v2.0.0")
    assert str(three[0]) not in fleet(*words).stderr, "it is merged"
    git(
        three[0],
        "-c",
        "user.name=t",
        "-c",
        "user.email=t@t",
        "revert",
        "--no-edit",
        "HEAD",
    )
    second = fleet(*words)
    assert str(three[0]) in second.stderr
    assert second.returncode == 0, second.stdout
    assert "v1.0.0 -> v2.0.0" in second.stdout
    assert "_commit: v2.0.0" in git(three[0], "show", f"{BRANCH}:.copier-answers.yml")


def test_no_code_runs_unless_somebody_says_so(
    three: list[Path], tmp_path: Path
) -> None:
    before = bytes_of(three[0])
    refused = call(tmp_path, "fleet", three[0], "--ref", "v2.0.0")
    assert refused.returncode == 1
    assert "at v2.0.0 (" in refused.stdout
    runs = "may run: migration hooks/guard.py; task hooks/polish.py in a new project only; "
    assert f"{runs}read it, then say --trust" in " ".join(refused.stdout.split())
    assert bytes_of(three[0]) == before


@pytest.mark.nightly
def test_the_code_of_the_template_is_named_once_and_the_report_has_next_steps(
    three: list[Path], tmp_path: Path
) -> None:
    done = fleet(
        *three[:2], "--ref", "v2.0.0", "--json", "--report", tmp_path / "report.md"
    )
    assert done.returncode == 1, done.stderr
    assert done.stderr.count("hooks/polish.py") == 1, (
        "what runs is named first, and once"
    )
    result, edited = json.loads(done.stdout)
    assert (result["project"], result["outcome"]) == (str(three[0]), "clean")
    assert edited["outcome"] == "conflict"
    report = (tmp_path / "report.md").read_text()
    for step in (
        "copier-fastmcp drift",
        "copier-fastmcp restore",
        "the guide for policy owners",
    ):
        assert step in report
    assert "v1.0.0 -> v2.0.0" in report


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--state", "x", "--dry-run", "p"], "--state keeps what was done"),
        (["@/no/such/list"], "No such file"),
        ([], "no project is named"),
        (["@EMPTY"], "no project is named"),
        (["@LATIN"], "LATIN: not UTF-8"),
        (
            ["p", "--ref", "v2.0.0", "--state", "ODD"],
            "ODD holds no results of an earlier run",
        ),
        (["p", "--state", "x"], "--state goes with --ref"),
        (
            ["p", "--ref", "v2.0.0", "--state", "EMPTY"],
            "EMPTY holds no results of an earlier run; delete it",
        ),
        (["p", "--ref", "v2.0.0", "--state", "EMPTY/no"], "--state: "),
        (
            ["p", "--report", "EMPTY/no"],
            "EMPTY is not a folder; make it, or name another",
        ),
    ],
)
def test_wrong_usage(words: list[str], message: str, tmp_path: Path) -> None:
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
    assert message in done.stderr


def test_a_comment_in_a_list_of_checkouts_may_be_indented(tmp_path: Path) -> None:
    listed = tmp_path / "all.txt"
    listed.write_text("# ours\none\n\n  # theirs\n  two\n")
    assert list_projects((f"@{listed}", "three")) == ["one", "two", "three"]

"""`restore`: policy files as the recorded version has them, and nobody's work lost."""

import json
import os
import shutil
from pathlib import Path

import pytest
from calling import call
from lifecycle import SRC, bytes_of, commit, uncommitted
from support import git, nightly_but

GATE, RUFF, ADR = (
    SRC + "engine/confirmation/gate.py",
    "config/ruff.toml",
    "docs/adr/policy/0003-confirmation.md",
)


@pytest.fixture
def drifted(mine: Path) -> Path:
    """A project whose owner edited two policy files, deleted one, and committed that."""
    with (mine / GATE).open("a") as file:
        file.write("\n# mine\n")
    (mine / RUFF).write_text("")
    (mine / RUFF).chmod(0o755)
    (mine / ADR).unlink()
    commit(mine)
    return mine


@pytest.mark.nightly
def test_all_that_drifted(drifted: Path, started: Path) -> None:
    done = call(drifted, "restore")
    assert (done.returncode, done.stderr) == (0, "")
    *files, last = done.stdout.splitlines()
    assert sorted(files) == sorted(
        [
            f"{RUFF}: was edited, restored",
            f"{ADR}: was missing, restored",
            f"{GATE}: was edited, restored",
        ]
    )
    assert last.startswith("3 files restored from ")
    assert uncommitted(drifted) == {GATE, RUFF, ADR}, "nothing is committed"
    assert bytes_of(drifted) == bytes_of(started)
    assert (drifted / RUFF).stat().st_mode == (started / RUFF).stat().st_mode
    assert call(drifted, "drift").returncode == 0
    second = call(drifted, "restore", "--json")
    assert (second.returncode, json.loads(second.stdout)["restored"]) == (0, {})


def test_named_files_only(drifted: Path) -> None:
    done = call(drifted, "restore", RUFF, drifted / ADR, "scripts/check", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["restored"] == {RUFF: "edited", ADR: "missing"}
    assert uncommitted(drifted) == {RUFF, ADR}
    same = call(drifted, "restore", "scripts/check")
    assert same.stdout.startswith(
        "scripts/check: is as the template has it\n0 files restored"
    )


def test_work_that_is_not_committed_is_kept(drifted: Path) -> None:
    with (drifted / GATE).open("a") as file:
        file.write("# not committed\n")
    before = bytes_of(drifted)
    for words in ([], [GATE, RUFF]):
        done = call(drifted, "restore", *words)
        assert (done.returncode, done.stdout) == (1, "")
        assert done.stderr == (
            f"copier-fastmcp: {GATE} has changes that are not committed; "
            "commit them, or say --force to lose them\n"
        )
    assert bytes_of(drifted) == before, "not one file of several"
    assert call(drifted, "restore", RUFF).returncode == 0, "others can be named"
    assert call(drifted, "restore", "--force").returncode == 0
    assert "# not committed" not in (drifted / GATE).read_text()


@pytest.mark.parametrize("state", nightly_but(["ignored"], ["untracked", "ignored"]))
def test_a_file_that_git_does_not_know_is_kept(drifted: Path, state: str) -> None:
    (drifted / ADR).write_text("mine\n")
    if state == "ignored":
        (drifted / ".git/info/exclude").write_text(f"/{ADR}\n")
    git(drifted, "config", "status.showUntrackedFiles", "no")
    done = call(drifted, "restore", ADR)
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert f"{ADR} has changes that are not committed" in done.stderr
    assert (drifted / ADR).read_text() == "mine\n"


def test_a_link_is_replaced_and_not_followed(mine: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere.toml"
    elsewhere.write_text("theirs\n")
    (mine / RUFF).unlink()
    (mine / RUFF).symlink_to(elsewhere)
    commit(mine)
    assert call(mine, "restore", RUFF).returncode == 0
    assert not (mine / RUFF).is_symlink()
    assert elsewhere.read_text() == "theirs\n"


def test_nothing_is_written_behind_a_folder_that_is_a_link(
    mine: Path, tmp_path: Path
) -> None:
    """A hostile checkout, whose template is its author's too, would write any file anywhere."""
    (tmp_path / "elsewhere").mkdir()
    shutil.rmtree(mine / "config")
    (mine / "config").symlink_to(tmp_path / "elsewhere")
    commit(mine)
    done = call(mine, "restore", "--force")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)
    assert "a link leads out of the project" in done.stderr
    assert list((tmp_path / "elsewhere").iterdir()) == []


@pytest.mark.parametrize(
    "name",
    nightly_but(
        ["README.md", "../x"],
        ["README.md", SRC + "backend.py", "nothing.txt", "../x"],
    ),
)
def test_what_is_no_policy_file_is_refused(drifted: Path, name: str) -> None:
    before = bytes_of(drifted)
    done = call(drifted, "restore", RUFF, name)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)
    assert (
        f"{name} is not a policy file of the template's recorded version; `git restore` "
        in done.stderr
    )
    assert bytes_of(drifted) == before


def test_where_git_keeps_nothing_it_asks_for_force(drifted: Path) -> None:
    os.rename(drifted / ".git", drifted.parent / "git")
    nowhere = {"GIT_CEILING_DIRECTORIES": str(drifted.parent)}
    done = call(drifted, "restore", RUFF, **nowhere)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert "not a git repository" in done.stderr
    assert (drifted / RUFF).read_text() == ""
    assert call(drifted, "restore", RUFF, "--force", **nowhere).returncode == 0
    assert (drifted / RUFF).read_text() != ""


def test_the_file_of_a_tool_by_its_name_alone(mine: Path) -> None:
    """It is its author's: without its name it stays, and with it git has what was there."""
    tool = mine / SRC / "tools/get_note.py"
    fresh = tool.read_bytes()
    tool.write_text("# mine\n")
    assert call(mine, "restore").stdout.startswith("0 files restored")
    refused = call(mine, "restore", tool)
    assert (refused.returncode, tool.read_text()) == (1, "# mine\n")
    commit(mine)
    done = call(mine, "restore", tool)
    assert done.stdout.startswith(f"{SRC}tools/get_note.py: was edited, restored\n"), (
        done.stderr
    )
    assert tool.read_bytes() == fresh

"""A checkout that means harm: nothing that it names runs, and nothing outside of it is written."""

import json
from pathlib import Path

import pytest
from adopting.test_adopt import create_server
from calling import call, environment
from lifecycle import bytes_of, commit
from support import git

from copier_fastmcp.cli import main
from copier_fastmcp.project.repository import list_changes
from copier_fastmcp.updates.worktrees import Worktree

HOOKS = (
    "post-checkout",
    "pre-commit",
    "commit-msg",
    "post-commit",
    "post-merge",
    "reference-transaction",
    "post-index-change",
)
ATTRIBUTES = "* filter=evil\n*.json diff=evil\n*.md diff=evil merge=evil\n"
MODULES = '[submodule "evil"]\n\tpath = evil\n\turl = ext::sh -c EVIL\n'
COMMIT = "0123456789abcdef0123456789abcdef01234567"


def harm(project: Path, marker: Path) -> Path:
    """Let a checkout name a program everywhere where git may run one; filters are not set up, as after a clone."""
    program = project / ".git/evil"
    program.write_text(f"#!/bin/sh\necho \"$0 $*\" >> '{marker}'\nexit 1\n")
    program.chmod(0o755)
    (project / ".git/hooks").mkdir(exist_ok=True)
    for name in HOOKS:
        hook = project / ".git/hooks" / name
        hook.write_text(program.read_text())
        hook.chmod(0o755)
    (project / ".gitattributes").write_text(ATTRIBUTES)
    (project / ".gitmodules").write_text(MODULES.replace("EVIL", str(program)))
    git(project, "-c", f"core.hooksPath={project}/none", "add", "--all")
    words = ["update-index", "--add", "--cacheinfo", f"160000,{COMMIT},evil"]
    git(project, *words)
    git(project, "-c", f"core.hooksPath={project}/none", "commit", "-qm", "harm")
    settings = {
        "core.fsmonitor": str(program),
        "core.hooksPath": str(project / ".git/hooks"),
        "diff.external": str(program),
        "diff.evil.textconv": str(program),
        "merge.evil.driver": str(program),
        "submodule.recurse": "true",
        "submodule.evil.update": f"!{program}",
        "core.pager": str(program),
    }
    (project / "evil").mkdir()  # as a clone leaves a submodule
    for name, value in settings.items():
        git(project, "config", name, value)
    marker.unlink(missing_ok=True)
    return project


@pytest.fixture
def marker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file that exists as soon as a program of the checkout has run."""
    for name, value in environment().items():
        monkeypatch.setenv(name, value)
    return tmp_path / "ran"


def test_no_program_of_a_checkout_runs_in_its_worktree(
    tmp_path: Path, marker: Path
) -> None:
    project = tmp_path / "p"
    project.mkdir()
    (project / "a.json").write_text("{}\n")
    git(project, "init", "--quiet")
    harm(project, marker)
    git(project, "-c", "core.hooksPath=/dev/null", "status")
    assert marker.exists(), "plain git runs what core.fsmonitor names"
    marker.unlink()
    (project / "a.json").write_text('{"mine": 1}\n')
    assert list_changes(project) == {"a.json": " M"}
    with Worktree(project) as worktree:
        (worktree.root / "a.json").write_text('{"ours": 1}\n')
        worktree.stage()
        worktree.commit("Change")
        assert worktree.files() == {"a.json": "changed"}
        assert worktree.is_mergeable("a.json")
        worktree.restore()
        worktree.publish("ours")
    assert not marker.exists(), marker.read_text()


@pytest.mark.parametrize("verb", ["annotate", "adopt", "audit"])
def test_no_program_of_an_existing_server_runs(
    verb: str,
    tmp_path: Path,
    marker: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    project = create_server(tmp_path / "mine")
    (project / "evil.py").write_text("raise SystemExit('imported')\n" + "x = [\n" * 500)
    (project / "tools.json").write_text('{"tools": []}\n')
    (project / "out").symlink_to(tmp_path)
    harm(project, marker)
    monkeypatch.chdir(project)
    words = {
        "annotate": ["annotate", "--unattended"],
        "adopt": ["adopt", "--dry-run", "--json", "--unattended", "--raise"],
        "audit": ["audit", "--file", "tools.json", "--json"],
    }
    assert main(words[verb]) in (0, 1)
    assert "Traceback" not in capsys.readouterr().err
    assert not marker.exists(), marker.read_text()


@pytest.mark.nightly
@pytest.mark.parametrize("verb", ["update", "fleet", "fleet --plan", "rename", "add"])
def test_no_program_of_a_generated_server_runs(
    verb: str, mine: Path, repository: Path, marker: Path
) -> None:
    answers = mine / ".copier-answers.yml"
    lines = answers.read_text().splitlines(keepends=True)
    for number, line in enumerate(lines):
        if line.startswith("_src_path"):
            lines[number] = f"_src_path: {repository}\n"
    answers.write_text("".join(lines))
    harm(mine, marker)
    words = {
        "update": ["update", "--ref", "v2.0.0", "--unattended", "--unpinned"],
        "fleet": ["fleet", str(mine), "--ref", "v2.0.0"],
        "fleet --plan": ["fleet", "--plan", str(mine), "--ref", "v2.0.0"],
        "rename": ["rename", "get_note", "read_note"],
        "add": ["add", "archive_note=put"],
    }
    done = call(mine, *words[verb], "--trust")
    assert "Traceback" not in done.stdout + done.stderr
    assert not marker.exists(), marker.read_text()


@pytest.mark.nightly
@pytest.mark.parametrize("name", ["docs", "AGENTS.md", "docs/tools.md", "config"])
def test_an_update_writes_nothing_behind_a_link(
    name: str, mine: Path, repository: Path, tmp_path: Path, marker: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "file").write_text("theirs\n")
    path = mine / name
    if path.is_dir():
        git(mine, "rm", "-r", "--quiet", name)
        path.symlink_to(outside)
    else:
        path.unlink()
        path.symlink_to(outside / "file")
    answers = mine / ".copier-answers.yml"
    text = answers.read_text()
    source = json.dumps(str(repository))
    lines = []
    for line in text.splitlines(keepends=True):
        lines.append(f"_src_path: {source}\n" if line.startswith("_src_path") else line)
    answers.write_text("".join(lines))
    commit(mine)
    before = bytes_of(outside)
    for extra in ([], ["--here", "--unpinned"]):
        words = ["update", "--trust", "--ref", "v2.0.0", "--unattended", *extra]
        done = call(mine, *words)
        assert "Traceback" not in done.stdout + done.stderr
        assert bytes_of(outside) == before, done.stdout + done.stderr

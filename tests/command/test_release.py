"""scripts/release: version, changelog, wheels, commit and tag; and the way of a release to servers."""

import shutil
import subprocess
import sys
from pathlib import Path

import copier
import pytest
from lifecycle import commit, load_answers
from programs import run_fetched, uv
from support import ROOT, clone_template, git, render

CHANGES = "# Changelog\n\n## Unreleased\n\n- New.\n\n## 0.1.0\n\n- First.\n"
ENGINE = '[project]\nname = "e"\nversion = "0.1.7"\n'


def release(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run the script of a checkout."""
    command = [sys.executable, str(folder / "scripts/release"), *words, "--untested"]
    return subprocess.run(
        command, cwd=folder, capture_output=True, text=True, check=False
    )


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with what the script edits, released once."""
    for role in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{role}_NAME", "t")
        monkeypatch.setenv(f"GIT_{role}_EMAIL", "t@example.com")
    folder = tmp_path / "checkout"
    (folder / "scripts").mkdir(parents=True)
    (folder / "engine").mkdir()
    shutil.copy(ROOT / "scripts/release", folder / "scripts/release")
    (folder / "scripts/engine-manifest").write_text("")
    (folder / "engine/pyproject.toml").write_text(ENGINE)
    (folder / "pyproject.toml").write_text('[project]\nversion = "0.1.0"\n')
    (folder / "CHANGELOG.md").write_text(CHANGES)
    git(folder, "init", "--quiet")
    commit(folder)
    git(folder, "tag", "v0.1.0")
    return folder


def test_version_changelog_commit_and_tag(checkout: Path) -> None:
    done = release(checkout, "v0.2.0", "--no-wheels")
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("then: git push origin HEAD v0.2.0\n")
    assert 'version = "0.2.0"' in (checkout / "pyproject.toml").read_text()
    text = (checkout / "CHANGELOG.md").read_text()
    head, _, remainder = text.partition("## 0.2.0, 20")
    assert head == "# Changelog\n\n## Unreleased\n\n"
    assert "\n\n- New.\n\n## 0.1.0\n" in remainder
    assert git(checkout, "log", "-1", "--format=%s") == "Release 0.2.0\n"
    assert git(checkout, "rev-parse", "v0.2.0^{}") == git(checkout, "rev-parse", "HEAD")
    assert git(checkout, "status", "--porcelain") == ""
    house = release(checkout, "0.2.0+house.1", "--no-wheels")
    assert "nothing under Unreleased" in house.stderr


@pytest.mark.skipif(not shutil.which("ssh-keygen"), reason="needs ssh-keygen")
def test_a_tag_is_signed_or_nothing_is_released(checkout: Path) -> None:
    key = checkout.parent / "key"
    git(checkout, "config", "gpg.format", "ssh")
    git(checkout, "config", "user.signingkey", f"{key}.pub")
    head = git(checkout, "rev-parse", "HEAD")
    refused = release(checkout, "0.2.0", "--no-wheels", "--sign")
    assert refused.returncode == 1
    assert refused.stderr.startswith("release: git: ")
    assert git(checkout, "rev-parse", "HEAD") == head
    assert git(checkout, "status", "--porcelain") == ""
    command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)]
    subprocess.run(command, check=True)
    done = release(checkout, "0.2.0", "--no-wheels", "--sign")
    assert done.returncode == 0, done.stderr
    assert "BEGIN SSH SIGNATURE" in git(checkout, "cat-file", "tag", "v0.2.0")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["0.1.0"], "0.1.0 is not newer than v0.1.0"),
        (["0.2"], "'0.2' is not a version; write it as 0.2.0"),
        (["0.2.0"], "_uv"),  # no wheels can be built here
    ],
)
def test_what_cannot_be_released_changes_nothing(
    checkout: Path, words: list[str], message: str
) -> None:
    (checkout / "scripts/_uv").write_text("#!/bin/sh\nexit 1\n")
    (checkout / "scripts/_uv").chmod(0o755)
    commit(checkout)
    head = git(checkout, "rev-parse", "HEAD")
    done = release(checkout, *words)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)
    assert message in done.stderr
    assert git(checkout, "status", "--porcelain") == ""
    assert git(checkout, "rev-parse", "HEAD") == head
    (checkout / "mine.txt").write_text("mine\n")
    assert "uncommitted: mine.txt" in release(checkout, "0.2.0").stderr


@pytest.mark.nightly
def test_a_release_reaches_a_server(tmp_path: Path) -> None:
    """Both wheels from a plain folder; `engine: package` from the tagged repository; an update to the next release."""
    (tmp_path / "template").mkdir()
    template = clone_template(tmp_path / "template", tag="v0.0.1")
    git(template, "config", "user.name", "t")
    git(template, "config", "user.email", "t@example.com")
    done = release(template, "9.0.0", "--out", str(tmp_path / "wheels"))
    assert done.returncode == 0, done.stderr
    names = sorted(path.name.split("-")[0] for path in (tmp_path / "wheels").iterdir())
    assert names == ["copier_fastmcp", "copier_fastmcp_engine"]
    answers = {"tools": "get_note", "engine": "package"}
    project = render(template, tmp_path / "notes", answers, vcs_ref="v9.0.0")
    git(project, "init", "--quiet")
    commit(project)
    run_fetched(uv(), "sync", "--quiet", folder=project)
    run_fetched(uv(), "run", "--no-sync", "tests/policy/pin.py", folder=project)
    run_fetched(uv(), "run", "--no-sync", "pytest", "-q", folder=project)
    commit(project)
    changes = template / "CHANGELOG.md"
    text = changes.read_text()
    changes.write_text(text.replace("## Unreleased\n", "## Unreleased\n\n- More.\n", 1))
    agents = template / "template/AGENTS.md.jinja"
    agents.write_text(agents.read_text() + "\nRelease 9.1.\n")
    commit(template)
    assert release(template, "9.1.0", "--no-wheels").returncode == 0
    copier.run_update(project, defaults=True, overwrite=True, unsafe=True, quiet=True)
    assert load_answers(project)["_commit"] == "v9.1.0"
    assert "Release 9.1." in (project / "AGENTS.md").read_text()
    revision = git(template, "rev-parse", "v9.1.0^{}").strip()
    assert revision in (project / "pyproject.toml").read_text()

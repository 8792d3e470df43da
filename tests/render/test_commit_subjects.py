"""scripts/commit-subjects: which subjects pass, and clones in which there is nothing to check."""

import subprocess
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from typing import Any

import pytest
from support import ROOT


@pytest.fixture(scope="module")
def script() -> Any:
    loader = SourceFileLoader("commit_subjects", str(ROOT / "scripts/commit-subjects"))
    spec = spec_from_loader(loader.name, loader)
    assert spec
    module = module_from_spec(spec)
    loader.exec_module(module)
    return module


def git(folder: Path, *words: str) -> str:
    identity = ["-c", "user.name=A", "-c", "user.email=a@example.com"]
    command = ["git", "-C", str(folder), *identity, *words]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "repository"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    for subject in ("what was there before", "Add a check", "added another check"):
        git(folder, "commit", "-q", "--allow-empty", "-m", subject)
    return folder


@pytest.mark.parametrize(
    "subject",
    [
        "Resolve --template relative to the working directory",
        "Bring the policy forward",
        "Pass the profile down",
        "Process URIs once",
        'Revert "' + "x" * 80 + '"',
        "E" + "x" * 71,
    ],
)
def test_an_imperative_passes(script: Any, subject: str) -> None:
    assert script.find_mistake(subject) == ""


@pytest.mark.parametrize(
    ("subject", "mistake"),
    [
        ("E" + "x" * 72, "73 characters"),
        ("--template takes a folder", "does not begin with a verb"),
        ("resolve the folder", "does not begin with a verb"),
        ("A test that could hardly fail", "does not begin with a verb"),
        ("Added a test", "'Added'"),
        ("Adding a test", "'Adding'"),
        ("Fixes a test", "'Fixes'"),
        ("Fix a test.", "period"),
    ],
)
def test_a_mistake_is_named(script: Any, subject: str, mistake: str) -> None:
    assert mistake in script.find_mistake(subject)


def test_commits_after_the_first_are_listed_without_merges(
    script: Any, repository: Path
) -> None:
    first = git(repository, "rev-parse", "HEAD~2").strip()
    git(repository, "checkout", "-q", "-b", "side", first)
    git(repository, "commit", "-q", "--allow-empty", "-m", "Fix a side")
    git(repository, "checkout", "-q", "main")
    git(repository, "merge", "-q", "--no-ff", "-m", "Merged a side", "side")
    subjects = set()
    for _, subject in script.list_subjects(repository, first):
        subjects.add(subject)
    assert subjects == {"Add a check", "added another check", "Fix a side"}


def test_a_clone_without_the_first_commit_is_not_checked(
    script: Any, repository: Path, tmp_path: Path
) -> None:
    first = git(repository, "rev-parse", "HEAD~2").strip()
    shallow = tmp_path / "shallow"
    git(tmp_path, "clone", "-q", "--depth", "1", f"file://{repository}", str(shallow))
    assert script.list_subjects(shallow, first) is None
    assert script.list_subjects(repository, "0" * 40) is None
    (tmp_path / "archive").mkdir()
    assert script.list_subjects(tmp_path / "archive", first) is None


def test_a_fresh_clone_is_checked(
    script: Any, repository: Path, tmp_path: Path
) -> None:
    first = git(repository, "rev-parse", "HEAD~2").strip()
    fresh = tmp_path / "fresh"
    git(tmp_path, "clone", "-q", str(repository), str(fresh))
    assert len(script.list_subjects(fresh, first)) == 2

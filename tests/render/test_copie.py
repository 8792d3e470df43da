"""A trusted render with `copie`: the hook changes no rendered file."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support import Answers, git, nightly_but, render

# One render for each part of the engine and for each package that an answer adds.
ANSWERS: dict[str, Answers] = {
    "default": {},
    "api": {"backend": "http", "api": "https://api.example.com"},
    "page and packages": {
        "profile": "custom",
        "confirm_fallback": "page",
        "packages": ["container", "bundle", "registry"],
    },
    "consent": {"consent": "url", "license": "none"},
    "engine as a package": {"engine": "package"},
}


def read_contents(project: Path) -> dict[str, bytes]:
    """Return every file of a project by its path; the answers name where the template was."""
    files = {}
    for path in project.rglob("*"):
        name = path.relative_to(project).as_posix()
        if path.is_file() and not name.startswith((".git/", ".copier-answers")):
            files[name] = path.read_bytes()
    return files


@pytest.mark.parametrize("name", nightly_but(["default", "consent"], ANSWERS))
def test_a_trusted_render_is_the_untrusted_one(
    copies: Callable[[Answers], Path], template: Path, tmp_path: Path, name: str
) -> None:
    trusted = copies(ANSWERS[name])
    untrusted = render(template, tmp_path / "untrusted", ANSWERS[name])
    assert read_contents(trusted) == read_contents(untrusted)


def test_the_engine_is_vendored_byte_for_byte(
    copies: Callable[[Answers], Path], template: Path
) -> None:
    source = template / "engine/src/copier_fastmcp_engine"
    vendored = copies({"consent": "url"}) / "src/notes_mcp/engine"
    files = []
    for path in vendored.rglob("*"):
        if path.is_file():
            files.append(path.relative_to(vendored))
    assert Path("confirmation/gate.py") in files
    for name in files:
        assert (vendored / name).read_bytes() == (source / name).read_bytes(), name


def test_a_refused_answer_makes_no_project(copie: Any, template: Path) -> None:
    result = copie.copy(
        extra_answers={"tools": "frobnicate_order"}, template_dir=template
    )
    assert result.exit_code == -1
    assert "frobnicate_order" in str(result.exception)
    assert result.project_dir is None


@pytest.mark.nightly
def test_an_update_to_the_same_release_changes_nothing(
    copie: Any, template: Path
) -> None:
    result = copie.copy(template_dir=template)
    project = result.project_dir
    git(project, "init", "--quiet")
    git(project, "add", "--all")
    git(project, "commit", "--quiet", "--message=start")
    before = read_contents(project)
    updated = copie.update(result)
    assert (updated.exception, updated.exit_code) == (None, 0)
    assert read_contents(project) == before

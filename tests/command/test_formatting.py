"""After an update, ruff looks at the files that it wrote, and changes nothing."""

import os
import sys
from pathlib import Path

import pytest

from copier_fastmcp.project.formatting import find_style_violations

UGLY = "import os\nx = {  }\n"

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs a script as uv")


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project whose `uv run ruff` is this environment's ruff."""
    programs = tmp_path / "programs"
    programs.mkdir()
    uv = programs / "uv"
    uv.write_text(f'#!/bin/sh\nshift 3\nexec "{sys.executable}" -m ruff "$@"\n')
    uv.chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "pyproject.toml").write_text('[tool.ruff.lint]\nselect = ["F"]\n')
    return folder


def test_format_and_lint_of_written_files_are_reported(project: Path) -> None:
    (project / "ugly.py").write_text(UGLY)
    (project / "fine.py").write_text("x = 1\n")
    (project / "theirs.py").write_text(UGLY)
    (project / "page.md").write_text(UGLY)
    lines = find_style_violations(project, ["ugly.py", "fine.py", "page.md", "gone.py"])
    formatted = [line for line in lines if line.startswith("ruff format: ")]
    assert len(formatted) == 1
    assert "ugly.py" in formatted[0]
    (linted,) = [line for line in lines if line not in formatted]
    assert linted.startswith("ugly.py:1:8: F401")
    assert (project / "ugly.py").read_text() == UGLY


def test_files_without_a_violation_are_no_line(project: Path) -> None:
    (project / "fine.py").write_text("x = 1\n")
    assert find_style_violations(project, ["fine.py"]) == []
    assert find_style_violations(project, []) == []


def test_many_violations_are_counted(project: Path) -> None:
    names = []
    for number in range(9):
        names.append(f"ugly{number}.py")
        (project / names[-1]).write_text("import os\n")
    lines = find_style_violations(project, names)
    assert len(lines) == 6
    assert lines[-1] == "and 4 more: ruff check"

"""The reading list of examples/reading: three bodies of twelve are its author's, and its suite is green in both eras."""

import shutil
from pathlib import Path

import pytest
from support import PYTEST, ROOT, Renders, pin, python

OWN = ROOT / "examples/reading"


@pytest.mark.nightly
def test_the_suite_of_the_reading_list_is_green(
    example: Renders, tmp_path: Path
) -> None:
    project = tmp_path / "reading"
    shutil.copytree(example("reading"), project)
    before = {path.name for path in (project / "src").rglob("tools/*.py")}
    shutil.copytree(OWN, project, dirs_exist_ok=True)
    written = {path.name for path in (OWN / "src").rglob("tools/*.py")}
    assert written <= before
    assert len(before) == 12
    assert len(written) == 3
    pin(project)
    for words in (["ruff", "format", "--check", "."], ["ruff", "check", "."]):
        done = python(project, "-m", *words)
        assert done.returncode == 0, done.stdout
    done = python(project, *PYTEST)
    assert done.returncode == 0, done.stdout
    assert "skipped" not in done.stdout

"""A server's whole life with Copier, uv and git alone: no command of ours, no server of the template's."""

import sys
from pathlib import Path

import pytest
from lifecycle import commit, released
from programs import run_fetched, uv
from support import clone_template, git

TABLES = "src/copier_fastmcp/tables.json"
ROW = '"explicit": {"hints": "explicit", "destructive": "deletes_and_overwrites"'


@pytest.mark.nightly
@pytest.mark.usefixtures("one_environment")
@pytest.mark.parametrize("engine", ["vendored", "package"])
def test_copy_pin_edit_update_check(engine: str, tmp_path: Path) -> None:
    (tmp_path / "template").mkdir()
    template = clone_template(tmp_path / "template", tag="v1.0.0")
    project = tmp_path / "notes"
    copier = [sys.executable, "-m", "copier"]
    copy = [
        *copier,
        "copy",
        "--defaults",
        "--quiet",
        "--skip-tasks",
        "--vcs-ref",
        "v1.0.0",
        "--data",
        f"engine={engine}",
    ]
    run_fetched(*copy, str(template), str(project), folder=tmp_path)
    git(project, "init", "--quiet")
    run_fetched(uv(), "sync", "--quiet", folder=project, CI="")
    run = [uv(), "run", "--quiet"]
    run_fetched(*run, "tests/policy/pin.py", "--released", folder=project, CI="")
    commit(project, "start")
    tool = project / "src/notes_mcp/tools/get_note.py"
    tool.write_text(tool.read_text().replace('title="Get Note"', 'title="Fetch Note"'))
    suite = [*run, "pytest", "tests/policy/test_annotations.py", "-k", "lock"]
    stale = run_fetched(*suite, folder=project, codes=(1,))
    assert 'get_note: title "Get Note" -> "Fetch Note"' in stale.stdout
    run_fetched(*run, "tests/policy/pin.py", folder=project)
    commit(project, "mine")
    released(
        template, template, "v2.0.0", (TABLES, ROW, ROW.replace("_and_overwrites", ""))
    )
    update = [
        *copier,
        "update",
        "--defaults",
        "--trust",
        "--quiet",
        "--vcs-ref",
        "v2.0.0",
    ]
    run_fetched(*update, folder=project)
    assert "Fetch Note" in tool.read_text()
    relaxed = run_fetched(*suite, folder=project, codes=(1,))
    assert "update_note: RELAXED: destructiveHint true -> false" in relaxed.stdout
    done = run_fetched(*run, "tests/policy/pin.py", folder=project)
    assert "update_note: RELAXED: destructiveHint true -> false" in done.stdout
    run_fetched(*run, "python", "scripts/check", folder=project)
    commit(project, "updated")
    assert git(project, "status", "--porcelain") == ""

"""Pinning: what it writes, when it refuses, and what it says of changes in tool files."""

import re
from pathlib import Path

import pytest
from support import PYTEST, git, pin, python, render

TOOLS = ["get_note", "list_notes", "create_note", "delete_note", "shelve_note=put"]
FIRST = ("tests/policy/pin.py", "--first")


@pytest.fixture
def fresh(template: Path, tmp_path: Path) -> Path:
    """A project that was never pinned."""
    return render(template, tmp_path / "p", {"tools": TOOLS})


def edit(project: Path, tool: str, old: str, new: str) -> None:
    path = project / f"src/notes_mcp/tools/{tool}.py"
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


def test_the_first_check_pins_and_a_deleted_lock_is_refused(fresh: Path) -> None:
    """Without git or where git never knew a lock it is written; a deleted one, or none in CI, fails."""
    lock = fresh / "annotations.lock.json"
    refused = python(fresh, *FIRST, CI="true")
    assert (refused.returncode, refused.stderr.count("\n")) == (1, 1)
    assert "annotations.lock.json is missing" in refused.stderr
    assert python(fresh, *FIRST).returncode == 0
    pinned = lock.read_bytes()
    git(fresh, "init", "--quiet")
    git(fresh, "add", "--all")
    lock.unlink()
    assert "is missing" in python(fresh, *FIRST).stderr
    assert not lock.exists()
    pin(fresh)
    assert lock.read_bytes() == pinned
    assert (
        "## "
        not in (fresh / "docs/tools.md").read_text().partition("## On the wire")[0]
    ), "shelve is not a verb that is known, and yet all are about notes"


def test_what_a_model_reads_has_a_budget_that_an_owner_sets(fresh: Path) -> None:
    row = "tests/policy/test_annotations.py::test_what_a_model_reads_of_the_tools_keeps_its_budget"
    project = fresh / "pyproject.toml"
    written = project.read_text(encoding="utf-8")
    for setting, code in (
        ("", 0),
        ("server-bytes = 900", 1),
        ("tool-bytes = 300", 1),
        ("tool-bytes = 500", 0),
    ):
        project.write_text(
            f"{written}\n[tool.copier-fastmcp]\n{setting}\n", encoding="utf-8"
        )
        done = python(fresh, *PYTEST, row)
        assert done.returncode == code, done.stdout
        if code:
            line = r"a model reads [\d,]+ bytes of 5 tools, most of shelve_note \(4\d\d\), .*raise tool-bytes or"
            assert re.search(line, done.stdout), done.stdout


def test_no_setting_and_no_file_of_a_user_is_pinned(
    fresh: Path, tmp_path: Path
) -> None:
    pin(fresh)
    pinned = (fresh / "annotations.lock.json").read_bytes()
    metadata = tmp_path / "own.yaml"
    metadata.write_text(
        "version: 1\ntools:\n  get_note:\n    title: Mine\n", encoding="utf-8"
    )
    metadata.chmod(0o600)
    done = python(
        fresh,
        "tests/policy/pin.py",
        NOTES_MCP_METADATA=str(metadata),
        NOTES_MCP_STATE="/x",
    )
    assert done.returncode == 0, done.stderr
    assert (fresh / "annotations.lock.json").read_bytes() == pinned


def test_a_package_that_is_not_installed_is_one_line(fresh: Path) -> None:
    backend = fresh / "src/notes_mcp/backend.py"
    text = backend.read_text(encoding="utf-8")
    backend.write_text(f"import nosuch_package\n{text}", encoding="utf-8")
    refused = python(fresh, *FIRST)
    assert (refused.returncode, refused.stderr.count("\n")) == (1, 1)
    assert "No module named 'nosuch_package'; `uv sync` installs" in refused.stderr


def test_changes_in_tool_files_are_labelled(fresh: Path) -> None:
    edit(fresh, "list_notes", "open_world=False", "open_world=True")
    pin(fresh, "--released")
    edit(fresh, "get_note", 'title="Get Note"', 'title="Fetch Note"')
    edit(fresh, "list_notes", "open_world=True", "open_world=False")
    edit(fresh, "create_note", "@create(", "@create(confirm=True, ")
    tools = fresh / "src/notes_mcp/tools"
    edit(fresh, "delete_note", "async def delete_note", "async def erase_note")
    (tools / "delete_note.py").rename(tools / "erase_note.py")
    report = pin(fresh)
    assert 'get_note: title "Get Note" -> "Fetch Note"' in report
    assert "list_notes: RELAXED: openWorldHint true -> false" in report
    assert "create_note: BREAKING: gate gained" in report
    assert "create_note: BREAKING: output." in report
    assert "delete_note: RENAMED: is erase_note now" in report

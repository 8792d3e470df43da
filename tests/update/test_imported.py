"""A later document of the same API: imported into the same answers, then brought in by `copier update`."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from lifecycle import commit
from support import PYTEST, git, python, render

from copier_fastmcp.cli import main
from copier_fastmcp.updates.tool_differences import (
    find_tool_differences,
    find_unmatched_tools,
)

TOOLS = "src/parcels_mcp/tools/"
OK = {"200": {"description": ""}}
TEXT = {"type": "string"}


def document(to: Path, **paths: Any) -> Path:
    about = {"openapi": "3.1.0", "info": {"title": "Parcels"}}
    to.write_text(
        json.dumps({**about, "servers": [{"url": "http://p.invalid"}], "paths": paths})
    )
    return to


def make_document(**fields: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": fields}
    return {
        "requestBody": {"content": {"application/json": {"schema": schema}}},
        "responses": OK,
    }


def make_first_paths() -> dict[str, Any]:
    """Make the paths of the first document."""
    item = {
        "get": {"operationId": "getParcel", "responses": OK},
        "put": {"operationId": "setParcel", **make_document(note=TEXT)},
        "delete": {"operationId": "deleteParcel", "responses": OK},
    }
    listed = {"operationId": "listParcels", "responses": OK}
    stopped = {"operationId": "stopParcel", "responses": OK}
    return {
        "/parcels/{id}": item,
        "/parcels": {"get": listed},
        "/parcels/{id}/stop": {"post": stopped},
    }


def make_later_paths() -> dict[str, Any]:
    """Make the paths of the later document: a new parameter, an operation less and another more."""
    paths = make_first_paths()
    item = paths["/parcels/{id}"]
    item["put"] = {"operationId": "setParcel", **make_document(note=TEXT, weight=TEXT)}
    del item["delete"]
    return {**paths, "/parcels/{id}/send": {"post": {"responses": OK}}}


def edit_answers(answers: Path) -> None:
    """Change the behavior of an imported tool and the name of another."""
    edited = yaml.safe_load(answers.read_text())
    by_name = {tool["name"]: tool for tool in edited["tools"]}
    by_name["stop_parcel"]["behavior"] = "delete"
    by_name["list_parcels"]["name"] = "browse_parcels"
    answers.write_text(yaml.safe_dump(edited))


def extract_notes(output: str) -> dict[str, str]:
    """Extract the notes on tools from the output of an update, by tool."""
    notes = {}
    for line in output.splitlines():
        if TOOLS in line:
            notes[line.partition(":")[0]] = line
    return notes


def check_notes(notes: dict[str, str]) -> None:
    """Check what an update notes on each tool whose answers and file differ."""
    assert {name: line.partition("; src/")[0] for name, line in notes.items()} == {
        "delete_parcel": f"delete_parcel: is no longer in the answers, but {TOOLS}delete_parcel.py "
        "still serves it; if it may go: copier-fastmcp remove delete_parcel; if not, put it back "
        "into the answers",
        "list_parcels": f"list_parcels: is no longer in the answers, but {TOOLS}list_parcels.py "
        "still serves it beside browse_parcels, which sends the same request; if it may go: "
        "copier-fastmcp remove list_parcels; if not, put it back into the answers",
        "set_parcel": "set_parcel: its answers changed: new parameter weight",
        "stop_parcel": "stop_parcel: its answers say delete, its file says action",
    }
    assert f"copier-fastmcp restore {TOOLS}set_parcel.py" in notes["set_parcel"]


def check_changes(project: Path) -> None:
    """Check that an update added the new tool, and left the files of the others."""
    changed = git(project, "status", "--porcelain").splitlines()
    assert "?? src/parcels_mcp/tools/send_parcel.py" in changed
    assert "?? tests/tools/test_send_parcel.py" in changed
    for line in changed:
        assert "set_parcel" not in line, line
        assert "delete_parcel" not in line, line


def check_differences(
    project: Path, answers: dict[str, Any], notes: dict[str, str]
) -> None:
    """Check which differences remain after an update."""
    differences = []
    for line in find_tool_differences(project, answers):
        differences.append(line.partition("; src/")[0])
    assert differences == [
        notes["delete_parcel"],
        notes["list_parcels"].replace(
            " beside browse_parcels, which sends the same request", ""
        ),
        "set_parcel: its file has no parameter weight, its answers do",
        notes["stop_parcel"].partition("; src/")[0],
    ]


@pytest.mark.nightly
def test_a_later_document_comes_with_an_update(
    repository: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    answers, project = tmp_path / "answers.yml", tmp_path / "parcels"
    words = ["import", "--out", str(answers), "--unattended"]
    first = document(tmp_path / "1.json", **make_first_paths())
    assert main([*words, str(first)]) == 0
    render(repository, project, yaml.safe_load(answers.read_text()))
    mine = project / "src/parcels_mcp/tools/set_parcel.py"
    mine.write_text(mine.read_text().replace("Set Parcel", "Set a parcel"))
    git(project, "init", "--quiet")
    commit(project, "start")

    capsys.readouterr()
    later = document(tmp_path / "2.json", **make_later_paths())
    assert main([*words, str(later)]) == 0
    output = capsys.readouterr()
    assert "added: POST /parcels/{id}/send (send_parcel)" in output.err
    assert "removed: DELETE /parcels/{id} (delete_parcel)" in output.err
    assert "wording: set_parcel has the new optional parameter weight" in output.err
    assert "-- name: delete_parcel" in output.out

    edit_answers(answers)
    update = ["-m", "copier", "update", "--defaults", "--trust"]
    done = python(project, *update, "--data-file", str(answers))
    assert done.returncode == 0, done.stdout + done.stderr
    notes = extract_notes(done.stderr)
    check_notes(notes)
    running = [line for line in done.stderr.splitlines() if "Running task" in line]
    assert ["get_parcel" in line for line in running] == [True, False], "once is enough"
    new_answers = yaml.safe_load((project / ".copier-answers.yml").read_text())
    names = ["get_parcel", "set_parcel", "browse_parcels", "stop_parcel", "send_parcel"]
    assert [tool["name"] for tool in new_answers["tools"]] == names
    check_changes(project)
    assert "Set a parcel" in mine.read_text(), (
        "a tool that is there belongs to its author"
    )
    commit(project, "updated")
    second = python(project, *update, "--data-file", str(answers))
    assert TOOLS not in second.stderr, "it is told once; drift tells what is left"
    check_differences(project, new_answers, notes)
    proven = python(project, *PYTEST, "tests/policy/test_behavior.py", "-k", "2026")
    assert proven.returncode == 0, proven.stdout


def test_a_file_with_a_conflict_is_there(tmp_path: Path) -> None:
    folder = tmp_path / "src/notes_mcp/tools"
    folder.mkdir(parents=True)
    markers = "<<<<<<< before\n{0}=======\n{0}>>>>>>> after\n"
    tool = '@read(title="Get")\nasync def get_note() -> None:\n    """Get."""\n'
    (folder / "get_note.py").write_text(markers.format(tool))
    answers = {"tools": ["get_note", "list_notes"]}
    (line,) = find_unmatched_tools(tmp_path, answers)
    assert "no file declares: list_notes; " in line

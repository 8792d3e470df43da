"""A later document of the same API: imported into the same answers, then brought in by `copier update`."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from lifecycle import commit
from support import PYTEST, git, python, render

from copier_fastmcp.cli import main

OK = {"200": {"description": ""}}


def document(to: Path, **paths: Any) -> Path:
    about = {"openapi": "3.1.0", "info": {"title": "Parcels"}}
    to.write_text(json.dumps({**about, "servers": [{"url": "http://p.invalid"}], "paths": paths}))
    return to


def described(**fields: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": fields}
    return {"requestBody": {"content": {"application/json": {"schema": schema}}}, "responses": OK}


def test_a_later_document_comes_with_an_update(
    repository: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    answers, project = tmp_path / "answers.yml", tmp_path / "parcels"
    text = {"type": "string"}
    item = {
        "get": {"operationId": "getParcel", "responses": OK},
        "put": {"operationId": "setParcel", **described(note=text)},
        "delete": {"operationId": "deleteParcel", "responses": OK},
    }
    words = ["import", "--out", str(answers), "--unattended"]
    assert main([*words, str(document(tmp_path / "1.json", **{"/parcels/{id}": item}))]) == 0
    said = yaml.safe_load(answers.read_text())
    render(repository, project, said)
    mine = project / "src/parcels_mcp/tools/set_parcel.py"
    mine.write_text(mine.read_text().replace("Set Parcel", "Set a parcel"))
    git(project, "init", "--quiet")
    commit(project, "start")

    item["put"] = {"operationId": "setParcel", **described(note=text, weight=text)}
    del item["delete"]
    later = {"/parcels/{id}": item, "/parcels/{id}/send": {"post": {"responses": OK}}}
    capsys.readouterr()
    assert main([*words, str(document(tmp_path / "2.json", **later))]) == 0
    shown = capsys.readouterr()
    assert "added: POST /parcels/{id}/send (send_parcel)" in shown.err
    assert "removed: DELETE /parcels/{id} (delete_parcel)" in shown.err
    assert "changed: PUT /parcels/{id} (set_parcel)" in shown.err
    assert "-- name: delete_parcel" in shown.out

    update = ["-m", "copier", "update", "--defaults", "--trust", "--quiet"]
    done = python(project, *update, "--data-file", str(answers))
    assert done.returncode == 0, done.stdout + done.stderr
    kept = yaml.safe_load((project / ".copier-answers.yml").read_text())
    assert [tool["name"] for tool in kept["tools"]] == ["get_parcel", "set_parcel", "send_parcel"]
    changed = git(project, "status", "--porcelain").splitlines()
    assert "?? src/parcels_mcp/tools/send_parcel.py" in changed
    assert "?? tests/tools/test_send_parcel.py" in changed
    assert not [line for line in changed if "set_parcel" in line or "delete_parcel" in line]
    assert "Set a parcel" in mine.read_text(), "a tool that is there belongs to its author"
    proven = python(project, *PYTEST, "tests/policy/test_behavior.py", "-k", "2026")
    assert proven.returncode == 0, proven.stdout

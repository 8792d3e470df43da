"""`import` where one was made before: what is remembered, names that stay, and what is told once."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from command.test_import import (
    answers,
    document,
    import_first,
    list_names,
    paths,
    run_import,
)


def test_an_import_that_is_not_remembered_doubles_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two tools of one name are answers that nothing takes."""
    out = import_first(tmp_path)
    before = list_names(out)
    mine = answers(out)
    mine["tools"][0]["title"] = "Mine"
    out.write_text(yaml.safe_dump(mine, sort_keys=False))
    (tmp_path / "notes.import.json").unlink()
    capsys.readouterr()
    assert run_import(document(tmp_path), "--out", out) == 0
    assert list_names(out) == before
    assert answers(out)["tools"][0]["title"] == "Mine"
    assert (
        "kept: GET /notes (list_notes) stays as it is in the answers"
        in capsys.readouterr().err
    )
    assert run_import(document(tmp_path), "--out", out) == 0
    assert answers(out)["tools"][0]["title"] == "Mine", (
        "and from then on it is remembered"
    )


def test_a_name_is_given_once_and_stays(tmp_path: Path) -> None:
    out = import_first(tmp_path)
    mine = answers(out)
    by_name = {tool["name"]: tool for tool in mine["tools"]}
    by_name["get_note"]["name"] = "open_note"
    mine["tools"].append("find_note")
    out.write_text(yaml.safe_dump(mine, sort_keys=False))
    extra = {}
    for word in ("open_note", "find_note"):
        extra[f"/{word}"] = {"get": {"operationId": word}}
    later = {"/v2/notes": {"get": {"operationId": "listNotes"}}, **paths(), **extra}
    assert run_import(document(tmp_path, paths=later), "--out", out) == 0
    result = {}
    for row in answers(out)["tools"]:
        if isinstance(row, dict):
            result[row["http"]] = row["name"]
    assert result["GET /notes"] == "list_notes", "who had a name first keeps it"
    assert result["GET /notes/{id}"] == "open_note"
    assert len({*list_names(out)}) == len(list_names(out)) == 10


def test_what_is_remembered_may_be_damaged(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = import_first(tmp_path)
    remaining = tmp_path / "notes.import.json"
    whole = json.loads(remaining.read_text())
    damages: list[dict[str, Any]] = [
        {"behaviors": {"GET /notes": "reed"}},
        {"tools": {"GET /notes": {}}},
        {"selection": {"tag": 7}},
        {"selection": 7},
    ]
    for damage in damages:
        remaining.write_text(json.dumps(whole | damage))
        capsys.readouterr()
        assert run_import(document(tmp_path), "--out", out) == 1
        assert "is damaged; restore it from git" in capsys.readouterr().err
    remaining.write_text(json.dumps(whole | {"selection": {"other": ["a"]}}))
    assert run_import(document(tmp_path), "--out", out) == 0


def test_what_is_left_out_for_one_reason_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    many: dict[str, Any] = {f"/#Target={n}": {"post": {}} for n in range(50)}
    out = tmp_path / "notes.yml"
    assert run_import(document(tmp_path, paths=many), "--out", out) == 1
    text = capsys.readouterr().err.splitlines()
    assert len(text) == 3
    assert "50 operations: left out, its path holds a #" in text[1]
    assert "no operation of" in text[2]
    assert not out.exists()

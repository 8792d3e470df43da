"""`import`: an answers file, its rows, and what a later document changes."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from calling import call

from copier_fastmcp.cli import main

NOTE = {
    "type": "object",
    "required": ["id"],
    "properties": {"id": {"type": "integer"}, "title": {"type": "string"}},
}
PAGE = {
    "200": {
        "description": "",
        "content": {"application/json": {"schema": {"type": "array", "items": NOTE}}},
    }
}
BODY = {
    "content": {
        "application/json": {
            "schema": {"type": "object", "properties": {"title": {"type": "string"}}}
        }
    }
}


def paths() -> dict[str, Any]:
    item = {
        "get": {"operationId": "getNote", "tags": ["notes"]},
        "put": {"operationId": "setNote", "requestBody": BODY},
        "delete": {"operationId": "deleteNote"},
    }
    collection = {
        "get": {"operationId": "listNotes", "tags": ["notes"], "responses": PAGE},
        "post": {"operationId": "createNote", "requestBody": BODY, "tags": ["notes"]},
    }
    extra = {"/notes/{id}/thing": {"post": {}}, "/old": {"get": {"deprecated": True}}}
    return {"/notes": collection, "/notes/{id}": item, **extra}


def document(folder: Path, **extra: Any) -> Path:
    path = folder / "api.json"
    about = {
        "openapi": "3.1.0",
        "info": {"title": "Notes API"},
        "servers": [{"url": "https://api.example.com/v1"}],
    }
    path.write_text(json.dumps({**about, "paths": paths(), **extra}))
    return path


def run_import(*words: object) -> int:
    return main(["import", *map(str, words), "--unattended"])


def list_names(out: Path) -> list[str]:
    """List the names of the tools in an answers file."""
    names = []
    for row in answers(out)["tools"]:
        names.append(row if isinstance(row, str) else row["name"])
    return names


def import_first(folder: Path) -> Path:
    """The answers that the first import of the document writes."""
    out = folder / "notes.yml"
    assert run_import(document(folder), "--out", out) == 0
    return out


def answers(path: Path) -> dict[str, Any]:
    result: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    return result


def test_answers_are_written_with_what_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = import_first(tmp_path)
    result, text = answers(out), capsys.readouterr().err
    general = {}
    for key in ("domain", "server_name", "backend", "api"):
        general[key] = result[key]
    assert general == {
        "domain": "notes",
        "server_name": "notes-mcp",
        "backend": "http",
        "api": "https://api.example.com/v1",
    }
    behaviors = {tool["http"]: tool["behavior"] for tool in result["tools"]}
    assert behaviors == {
        "GET /notes": "read",
        "POST /notes": "create",
        "GET /notes/{id}": "read",
        "PUT /notes/{id}": "put",
        "DELETE /notes/{id}": "delete",
        "POST /notes/{id}/thing": "action",
    }
    for tool in result["tools"]:
        assert tool["why"], tool
    assert (
        "7 operations: 6 tools (2 read, 1 create, 1 put, 1 delete, 1 action), 1 left out"
        in text
    )
    assert "? POST /notes/{id}/thing: action, since" in text
    assert "- GET /old: left out, it is deprecated" in text
    to_do = """1. Decide (critical): run_thing
2. Prove what asks a person (high): delete_note
3. Prove what else writes (medium): create_note, set_note
4. Write by hand what was left out (medium): 1 operation
5. Describe reads (low): list_notes, get_note"""
    assert to_do in text.replace("copier-fastmcp: ", "")


def test_what_tools_lack_is_named_while_it_is_little(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    header = {"in": "header", "name": "traceparent", "schema": {"type": "string"}}
    for many, line in (
        (1, "- GET /a0: left out of its tool: header traceparent (of tracing)"),
        (6, "6 inputs"),
    ):
        result = {f"/a{n}": {"get": {"parameters": [header]}} for n in range(many)}
        assert run_import(document(tmp_path, paths=result)) == 0
        assert line in capsys.readouterr().err


def test_rows_for_programs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_import(document(tmp_path), "--json") == 0
    printed = capsys.readouterr()
    rows = {row["operation"]: row for row in json.loads(printed.out)}
    assert printed.err == ""
    assert [*rows["GET /notes"]] == [
        "operation",
        "operation_id",
        "tool",
        "behavior",
        "source",
        "asked",
        "left_out",
    ]
    assert (
        rows["GET /notes"]["source"] == "method: GET changes nothing (RFC 9110 9.2.1)"
    )
    assert rows["POST /notes/{id}/thing"]["asked"] is True
    assert rows["GET /old"] | {"source": ""} == {
        "operation": "GET /old",
        "operation_id": None,
        "tool": None,
        "behavior": "read",
        "source": "",
        "asked": False,
        "left_out": ["it is deprecated"],
    }


def test_operations_are_chosen_by_globs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, out = document(tmp_path), tmp_path / "notes.yml"
    assert run_import(file, "--out", out, "--tag", "not*", "--method", "get") == 0
    assert list_names(out) == [
        "list_notes",
        "get_note",
    ]
    assert run_import(file, "--out", out) == 0, "the choice is remembered"
    assert len(answers(out)["tools"]) == 2
    assert (
        run_import(
            file, "--out", out, "--operation", "DELETE *", "--operation", "list*"
        )
        == 0
    )
    assert list_names(out) == [
        "list_notes",
        "delete_note",
    ]
    capsys.readouterr()
    for option, value, remedy in (
        ("--tag", "ntoes", "its tags are notes"),
        ("--method", "FOO", "its methods are DELETE, GET, "),
        ("--path", "/ntoes", "as in /a/{b}"),
        ("--operation", "ntoes", "as in POST /a/{b}"),
    ):
        assert run_import(file, option, value) == 1
        printed = capsys.readouterr().err
        assert f"{option} {value} fits no operation" in printed
        assert remedy in printed


def test_a_later_document_changes_what_is_not_yours(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = import_first(tmp_path)
    mine = answers(out)
    by_name = {tool["name"]: tool for tool in mine["tools"]}
    by_name["get_note"]["title"] = "Read one note"
    by_name["set_note"]["description"] = "Mine."
    by_name["set_note"]["params"][1]["description"] = "Mine, too."
    remaining = []
    for name in by_name:
        if name != "delete_note":
            remaining.append(by_name[name])
    mine["tools"] = [*remaining, "search_mine"]
    mine["profile"] = "confirm-all"
    out.write_text(yaml.safe_dump(mine, sort_keys=False))
    later = paths()
    title = {"type": "string", "maxLength": 9, "description": "The new title."}
    later["/notes/{id}"]["put"]["requestBody"]["content"]["application/json"]["schema"][
        "properties"
    ] = {
        "title": title,
        "body": {"type": "string"},
    }
    later["/notes/{id}"]["get"]["summary"] = "Get it"
    del later["/notes/{id}/thing"]
    later["/notes/{id}/archive"] = {"post": {}}
    capsys.readouterr()
    assert run_import(document(tmp_path, paths=later), "--out", out) == 0
    printed, result = capsys.readouterr(), answers(out)
    tools = {}
    for tool in result["tools"]:
        tools[tool if isinstance(tool, str) else tool["name"]] = tool
    assert [*tools] == [
        "list_notes",
        "create_note",
        "get_note",
        "set_note",
        "search_mine",
        "archive_note",
    ]
    assert result["profile"] == "confirm-all"
    assert tools["get_note"]["title"] == "Read one note", "an edit stays"
    assert tools["get_note"]["description"] == "Get it."
    assert tools["set_note"]["description"] == "Mine."
    changed = {row["name"]: row for row in tools["set_note"]["params"]}
    assert changed["title"] == {
        "name": "title",
        "max_length": 9,
        "required": False,
        "description": "Mine, too.",
    }
    assert "body" in changed
    assert (
        "+  name: archive_note" in printed.out or "+- name: archive_note" in printed.out
    )
    for line in (
        "added: POST /notes/{id}/archive (archive_note)",
        "removed: POST /notes/{id}/thing",
        "BREAKING: set_note: title has the new limit max_length 9",
        "wording: set_note has the new optional parameter body",
        "wording: get_note: its description",
        "kept: get_note: your title stays, the document changed it",
    ):
        assert line in printed.err
    assert (
        f"copier-fastmcp update --merge --from {out} in the server's folder"
        in printed.err
    )
    assert run_import(tmp_path / "api.json", "--out", out) == 0
    text = capsys.readouterr().err
    assert "nothing has changed" in text
    assert text.endswith(f"{out} stays as it is\n")


def test_nothing_is_written_where_it_cannot_be(tmp_path: Path) -> None:
    file = document(tmp_path)
    (tmp_path / "mine.yml").write_text("- a\n")
    for words in (["--out", "mine.yml"], ["--out", "no/where.yml"], ["--method", "GO"]):
        done = call(tmp_path, "import", file, *words)
        assert done.returncode in (1, 2)
        assert len(done.stderr.strip().splitlines()) == 1, done.stderr
        assert "where" not in words[1] or "make the folder no first" in done.stderr
    assert run_import(file, "--out", tmp_path / "new.yml", "--dry-run") == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["api.json", "mine.yml"]


def test_many_tools_say_what_they_cost(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    many: dict[str, Any] = {f"/a{n}": {"get": {}} for n in range(41)}
    assert run_import(document(tmp_path, paths=many)) == 0
    printed = capsys.readouterr()
    assert "of 41 tools, " in printed.err
    assert len(yaml.safe_load(printed.out)["tools"]) == 41

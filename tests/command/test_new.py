"""`new`, unattended; the dialog is in test_new_dialog.py."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from calling import call
from support import clone_template, git

from copier_fastmcp.new import complete_address
from copier_fastmcp.openapi.phased import page
from copier_fastmcp.project.answers import guess_domain, read_answers
from copier_fastmcp.scaffolding.destination import compare_files, place_files
from copier_fastmcp.scaffolding.tool_preview import (
    add_behaviors,
    build_rows,
    find_name_mistake,
)
from copier_fastmcp.tables import load_tables

QUIET = {"hint": "confirm", "value": False, "why": "It can be restored."}


def unattended(folder: Path, template: Path, *words: str) -> Any:
    return call(folder, "new", *words, "--unattended", "--template", template)


def test_a_server_from_names(template: Path, tmp_path: Path) -> None:
    done = unattended(
        tmp_path, template, "mine", "--tools", "get_note, archive_note=put", "--json"
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["server"] == "mine-mcp"
    assert [tool["tool"] for tool in found["tools"]] == ["get_note", "archive_note"]
    assert found["tools"][1]["hints"] == "readOnly=no destructive=yes idempotent=yes"
    answers = yaml.safe_load((tmp_path / "mine/.copier-answers.yml").read_text())
    assert answers["_src_path"] == str(template)
    assert (tmp_path / "mine/src/mine_mcp/tools/archive_note.py").is_file()
    assert not (tmp_path / "mine/docs/import.md").exists()
    again = unattended(tmp_path, template, "mine", "--tools", "get_note")
    assert again.returncode == 1
    assert "is a project already" in again.stderr


def test_the_files_of_the_engine_are_counted_apart(
    template: Path, tmp_path: Path
) -> None:
    names = ("--tools", "get_note")
    done = unattended(tmp_path, template, "mine", *names)
    assert done.returncode == 0, done.stderr
    first = done.stdout.splitlines()[0]
    found = re.fullmatch(
        r"mine-mcp is in mine: 1 tool, (\d+) files, and (\d+) of the engine", first
    )
    assert found, first
    engine = json.loads((tmp_path / "mine/tests/policy/engine.json").read_text())
    assert int(found[2]) == len(engine["files"])
    files = [path for path in (tmp_path / "mine").rglob("*") if path.is_file()]
    assert int(found[1]) + int(found[2]) == len(files)
    package = unattended(
        tmp_path, template, "other", *names, "--data", "engine=package"
    )
    assert re.fullmatch(
        r"other-mcp is in other: 1 tool, \d+ files", package.stdout.splitlines()[0]
    )


def test_a_template_with_uncommitted_work_is_taken_at_its_last_commit(
    tmp_path: Path,
) -> None:
    """Copier records a commit of its own for uncommitted work, which no update finds."""
    template = clone_template(tmp_path / "template")
    (template / "macros/unsaved.jinja").write_text("", encoding="utf-8")
    done = unattended(tmp_path, template, "mine", "--tools", "get_note")
    assert done.returncode == 0, done.stderr
    assert done.stderr.startswith(f"warning: {template} has uncommitted changes; ")
    recorded = read_answers(tmp_path / "mine/.copier-answers.yml")["_commit"]
    head = git(template, "rev-parse", "HEAD")
    assert git(template, "rev-parse", f"{recorded}^{{commit}}") == head


@pytest.mark.parametrize(
    ("folder", "domain"),
    [
        ("orders", "orders"),
        ("a/orders-mcp/", "orders"),
        ("my-notes", "my_notes"),
        ("2 Übersichten!", "ubersichten"),
        ("x" * 70, "x" * 32),
        ("123", ""),
        ("mcp", ""),
        ("заказы", ""),
        ("/", ""),
    ],
)
def test_what_nobody_named_is_named_after_its_folder(folder: str, domain: str) -> None:
    """Two servers of a fleet that nobody named must not have one name, one package and one prefix."""
    assert guess_domain(Path(folder)) == ({"domain": domain} if domain else {})


def test_the_folder_at_hand_has_a_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "orders").mkdir()
    monkeypatch.chdir(tmp_path / "orders")
    assert guess_domain(Path()) == {"domain": "orders"}
    assert guess_domain(None) == {}


def test_any_other_answer_can_be_said(template: Path, tmp_path: Path) -> None:
    more = ("--data", "license=none", "--data", "packages=[container]", "--json")
    done = unattended(tmp_path, template, "mine", "--tools", "get_note", *more)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "mine/Dockerfile").is_file()
    assert not (tmp_path / "mine/LICENSE").exists()
    done = unattended(
        tmp_path, template, "other", "--tools", "get_note", "--data", "licence=none"
    )
    assert done.returncode == 1
    assert (
        "--data licence: no such question; the answers are author, backend"
        in done.stderr
    )
    assert not (tmp_path / "other").exists()


def test_every_error_in_the_answers_is_listed(template: Path, tmp_path: Path) -> None:
    file = tmp_path / "answers.yml"
    file.write_text("tools: [get_note, shelve_note, nc_delete_note, get_note]\n")
    done = unattended(tmp_path, template, "mine", "--from", str(file))
    assert done.returncode == 1
    starts = [line[:52] for line in done.stderr.splitlines()]
    assert starts == [
        'copier-fastmcp: write shelve_note=put; "shelve" is n',
        'copier-fastmcp: write nc_delete_note=delete; "nc" is',
        'copier-fastmcp: "get_note" is named twice; remove on',
    ]


def test_what_is_there_stays_unless_it_may_go(template: Path, tmp_path: Path) -> None:
    there = tmp_path / "mine"
    there.mkdir()
    (there / "README.md").write_text("Mine.\n")
    (there / "notes.txt").write_text("Mine, too.\n")
    done = unattended(tmp_path, template, "mine", "--tools", "get_note")
    assert done.returncode == 1
    assert "1 file differs from yours: README.md; use --conflicts keep" in done.stderr
    assert sorted(path.name for path in there.iterdir()) == ["README.md", "notes.txt"]
    done = unattended(
        tmp_path, template, "mine", "--tools", "get_note", "--conflicts", "keep"
    )
    assert done.returncode == 0, done.stderr
    assert (there / "README.md").read_text() == "Mine.\n"
    assert (there / "pyproject.toml").is_file()


def test_what_is_wrong_is_one_line_and_nothing_is_written(
    template: Path, tmp_path: Path
) -> None:
    (tmp_path / "odd.yml").write_text("a: 1\n")
    (tmp_path / "bad.yml").write_text("tools: [{name: get_note, params: 7}]\n")
    for words, why in (
        (
            ["--tools", "Get Note"],
            "'Get Note' is not a valid name; write get_note",
        ),
        (["--tools", "note_get"], "'note' is no known verb; write note_get=read"),
        (
            ["--tools", "note_get, it_is"],
            "'note' and 'it' are no known verbs; write note_get=read, it_is=put",
        ),
        (["--tools", "get_a, get_a"], "named twice"),
        (["--tools", "get_a=reed"], "'reed' is not a behavior"),
        ([], "no tool is named"),
        (["--from", "odd.yml"], "neither an OpenAPI document nor an answers file"),
        (["--from", "bad.yml"], "is not a list"),
        (["--from", "none.yml"], "cannot be read"),
    ):
        done = unattended(tmp_path, template, "mine", *words)
        assert done.returncode == 1, (words, done.stdout, done.stderr)
        assert why in done.stderr
        assert len(done.stderr.strip().splitlines()) == 1, done.stderr
    assert call(tmp_path, "new", "mine").returncode == 1, "no terminal to ask in"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bad.yml", "odd.yml"]


def test_stopping_while_it_is_copied_leaves_what_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fresh, there = tmp_path / "fresh", tmp_path / "there"
    (fresh / "a/b").mkdir(parents=True)
    there.mkdir()
    for name in ("a/b/new", "mine", "z"):
        (fresh / name).write_text("template")
    (there / "mine").write_text("mine")
    met = compare_files(fresh, there)
    assert (met.new, met.differ) == (["a/b/new", "z"], ["mine"])

    def stop(one: Path, other: Path) -> None:
        other.write_bytes(one.read_bytes())
        if one.name == "mine":
            raise KeyboardInterrupt

    monkeypatch.setattr("copier_fastmcp.scaffolding.destination.shutil.copy2", stop)
    with pytest.raises(KeyboardInterrupt), place_files(fresh, there, met, replace=True):
        pass
    assert [path.name for path in there.rglob("*")] == ["mine"]
    assert (there / "mine").read_text() == "mine"


def test_the_table_says_who_is_asked_and_what_says_so() -> None:
    tools = ["search_notes", "update_note", {"name": "send_note", "destructive": False}]
    tools += [
        {"name": "update_tag", "params": []},
        {"name": "delete_note", "confirm": False, "exceptions": [QUIET]},
    ]
    tools += [
        {
            "name": "close",
            "behavior": "put",
            "http": "POST /a",
            "why": "POST: it says close (two signals).",
        }
    ]
    found = {row[0]: row[1:] for row in build_rows({"tools": tools})}
    assert found["search_notes"] == [
        "read",
        "readOnly=yes destructive=no idempotent=yes",
        "no",
        "first word 'search'",
    ]
    assert found["update_note"][0] == "update"
    assert found["update_tag"] == [
        "put",
        "readOnly=no destructive=yes idempotent=yes",
        "no",
        "first word 'update', no version",
    ]
    assert found["send_note"][2] == "no"
    assert found["delete_note"][2] == "no (said)"
    assert found["close"][3] == "two signals"
    narrow = {
        row[0]: row[2] for row in build_rows({"tools": tools, "profile": "narrow"})
    }
    assert narrow["search_notes"] == "readOnly=yes idempotent=yes"
    assert find_name_mistake("search_notes, get_note=read") == ""


def test_the_table_knows_what_is_finer_than_a_behavior(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """By the first word and by the whole name, and over both what the tool itself excepts."""
    row = {"behavior": "put", "hint": "destructive", "why": "It can be undone."}
    finer = [{**row, "tools": ["archive_all"], "value": True}]
    finer += [{**row, "tools": ["archive", "unarchive"], "value": False}]
    monkeypatch.setitem(load_tables(), "finer", finer)
    own = [{"hint": "destructive", "value": True, "why": "It is so."}]
    tools = ["archive_note", "archive_all", "set_note"]
    answers: dict[str, Any] = {"hints": "explicit", "confirm": "destructive"}
    answers |= {"profile": "custom", "destructive": "deletes_and_overwrites"}
    answers["tools"] = [*tools, {"name": "unarchive_note", "exceptions": own}]
    assert {row[0]: row[2:4] for row in build_rows(answers)} == {
        "archive_note": ["readOnly=no destructive=no idempotent=yes", "no"],
        "archive_all": ["readOnly=no destructive=yes idempotent=yes", "yes"],
        "set_note": ["readOnly=no destructive=yes idempotent=yes", "yes"],
        "unarchive_note": ["readOnly=no destructive=yes idempotent=yes", "yes"],
    }


def test_an_api_has_an_address(
    template: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    document = {
        "openapi": "3.1.0",
        "info": {},
        "servers": [{"url": "/v1"}],
        "paths": {"/a": {"get": {}}},
    }
    (tmp_path / "api.json").write_text(json.dumps(document))
    done = unattended(tmp_path, template, "mine", "--from", "api.json")
    assert done.returncode == 0, done.stderr
    assert "the document has a path only (/v1)" in done.stderr
    assert (
        "api: http://localhost:8080/v1"
        in (tmp_path / "mine/.copier-answers.yml").read_text()
    )
    kept = json.loads((tmp_path / "mine/.copier-answers.import.json").read_text())
    assert [*kept["tools"]] == ["GET /a"], (
        "what a later import of the document merges with"
    )
    known = {"backend": "http", "api": "https://a.example"}
    assert complete_address(known, asking=False) == known
    monkeypatch.setattr(
        "copier_fastmcp.terminal.prompts.ask_text", lambda *_: "https://a.example/"
    )
    assert complete_address({"backend": "http"}, asking=True) == known


WHY = {
    "create_note": "method",
    "send_note": "asked",
    "delete_note": "method",
    "get_note": "method",
}
PHASES = ("| 1", "| 2", "| 3", "| 4")
BEHAVES = {"create_note": "create", "send_note": "action", "delete_note": "delete"}


def test_what_is_left_to_do_after_an_import_is_a_page_of_the_project() -> None:
    tools: list[Any] = [
        {
            "name": name,
            "behavior": BEHAVES.get(name, "read"),
            "http": "GET /notes",
            "why": f"It is so ({source}).",
        }
        for name, source in WHY.items()
    ]
    lines = page(
        {"tools": [*tools, "find_note", {"name": "list_notes", "http": "GET /a"}]}
    ).splitlines()
    assert lines[0] == "# From the API's document to a server"
    rows = [line.split(" | ")[:4] for line in lines if line[:3] in PHASES]
    assert rows == [
        ["| 1. Decide", "critical", "5 min", "1: `send_note`"],
        ["| 2. Prove what asks a person", "high", "10 min", "1: `delete_note`"],
        ["| 3. Prove what else writes", "medium", "10 min", "1: `create_note`"],
        ["| 4. Describe reads", "low", "5 min", "1: `get_note`"],
    ]
    assert page({"tools": ["get_note"]}, ["- GET /a: left out"]) == ""


def test_what_the_api_wants_and_what_was_left_out_stays_with_the_project(
    template: Path, tmp_path: Path
) -> None:
    document = tmp_path / "api.json"
    paths: dict[str, Any] = {
        "/notes/{id}": {
            "put": {
                "operationId": "Notes_Pin",
                "tags": ["Notes"],
                "summary": "Pin a note",
                "parameters": [{"name": "id", "in": "path", "required": True}],
                "responses": {"204": {"description": "Done."}},
            },
            "get": {"responses": {"200": {"content": {"text/event-stream": {}}}}},
        },
    }
    scheme = {"type": "apiKey", "in": "header", "name": "X-Key"}
    root = {
        "openapi": "3.1.0",
        "info": {"title": "Notes", "version": "1"},
        "servers": [{"url": "https://api.example.com"}],
        "paths": paths,
        "components": {"securitySchemes": {"key": scheme}},
    }
    document.write_text(json.dumps(root))
    done = unattended(tmp_path, template, "mine", "--from", str(document))
    assert done.returncode == 0, done.stderr
    assert "export NOTES_MCP_API_TOKEN=..." in done.stdout
    settings = (tmp_path / "mine/src/notes_mcp/policy/settings.py").read_text()
    assert 'api_auth: str = "header:X-Key"' in settings
    lines = (tmp_path / "mine/docs/import.md").read_text().splitlines()
    assert lines[lines.index("```text") + 1 : -1] == [
        "the API takes its key in the header X-Key: set NOTES_MCP_API_TOKEN",
        "- GET /notes/{id}: left out, it answers with a stream of events, which has no end",
    ]


@pytest.mark.parametrize(
    ("typed", "corrected"),
    [
        ("get_note, shelve_note", "get_note, shelve_note=put"),
        (
            "tag_note,toggle_note , get_note",
            "tag_note=put, toggle_note=update, get_note",
        ),
        ("shelve_note=put, Big Note", "shelve_note=put, Big Note"),
        ("", ""),
    ],
)
def test_names_are_corrected_as_their_error_says(typed: str, corrected: str) -> None:
    assert add_behaviors(typed) == corrected

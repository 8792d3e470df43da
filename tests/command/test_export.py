"""`policy lock`, `policy explain` and `policy export` as a person in a terminal meets them."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from support import render, server

HINTS = {
    "read_only_justification": "readOnlyHint",
    "open_world_justification": "openWorldHint",
    "destructive_justification": "destructiveHint",
}
# How a sentence begins that is true of a hint's value.
TRUE = {
    ("readOnlyHint", True): "It changes nothing",
    ("readOnlyHint", False): "It writes: ",
    ("openWorldHint", True): "It may reach systems outside",
    ("openWorldHint", False): "It works on this server's own data only",
    ("destructiveHint", True): "It may overwrite or remove what is there: ",
    ("destructiveHint", False): ("It removes nothing: ", "It changes nothing"),
}
REASON = "A board keeps its cards."
TOOLS = [
    *("search_notes", "get_note", "create_note", "ensure_note", "append_note", "update_note"),
    *("set_note", "archive_note", "delete_note", "send_note"),
    {"name": "count_notes", "open_world": False},
    {"name": "run_backup", "destructive": False, "why": "IDs are only added"},
    {
        "name": "clear_board",
        "exceptions": [{"hint": "destructive", "value": False, "why": REASON}],
    },
]


@pytest.fixture
def mine(project: Path, tmp_path: Path) -> Path:
    """A copy of the default project that a test may write in."""
    return shutil.copytree(project, tmp_path / "mine")


def test_the_lock_shows_what_changed(mine: Path) -> None:
    path = mine / "annotations.lock.json"
    before = path.read_text(encoding="utf-8")
    done = server(mine, "policy", "lock")
    assert (done.returncode, done.stdout) == (0, "annotations.lock.json holds 9 tools\n")
    pinned = json.loads(before)
    pinned["get_note"]["hints"]["readOnlyHint"] = False
    pinned["old_note"] = pinned.pop("send_note")
    path.write_text(json.dumps(pinned), encoding="utf-8")
    assert server(mine, "policy", "lock").stdout.splitlines() == [
        "get_note: RELAXED: readOnlyHint false -> true",
        "old_note: is gone",
        "send_note: is new",
        "annotations.lock.json holds 9 tools",
    ]
    assert path.read_text(encoding="utf-8") == before
    path.unlink()
    assert "get_note: is new" in server(mine, "policy", "lock").stdout
    assert path.read_text(encoding="utf-8") == before


@pytest.mark.parametrize(
    "broken",
    ["", "{", "[]", "null", '{"get_note": {}}', '{"get_note": {"hints": 1, "gated": 0}}', "\x80"],
)
def test_a_broken_lock_is_one_line(broken: str, mine: Path) -> None:
    (mine / "annotations.lock.json").write_bytes(broken.encode("latin-1"))
    done = server(mine, "policy", "lock")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)
    assert done.stderr.startswith("notes-mcp: annotations.lock.json: no lock (")
    assert "delete it and run `policy lock`" in done.stderr


def test_a_lock_that_cannot_be_written_is_one_line(mine: Path) -> None:
    (mine / "annotations.lock.json").unlink()
    (mine / "annotations.lock.json").mkdir()
    done = server(mine, "policy", "lock")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)
    assert "annotations.lock.json" in done.stderr


def test_a_server_that_cannot_start_cannot_be_checked(mine: Path) -> None:
    (mine / "src/notes_mcp/tools/broken.py").write_text("import no_such_module\n")
    done = server(mine, "policy", "check")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert done.stderr.startswith("could not check this server: ")
    assert "tools/broken.py:1: ModuleNotFoundError: No module named 'no_such_module'" in done.stderr


def test_findings_name_the_file_for_code_scanning(mine: Path) -> None:
    path = mine / "src/notes_mcp/tools/get_note.py"
    path.write_text(path.read_text().replace('title="Get Note"', 'title="get_note"'))
    done = server(mine, "policy", "check", "--sarif")
    (result,) = json.loads(done.stdout)["runs"][0]["results"]
    (place,) = result["locations"]
    assert (done.returncode, result["ruleId"]) == (1, "title-not-name")
    assert place["physicalLocation"]["artifactLocation"]["uri"] == "src/notes_mcp/tools/get_note.py"


def test_a_rule_explains_itself(project: Path) -> None:
    done = server(project, "policy", "explain", "verb-writes")
    name, mend, source, profiles = done.stdout.splitlines()
    assert name.startswith("verb-writes: Clients run a read-only tool without asking")
    assert mend.startswith("Mend: say readOnlyHint: false")
    assert source.startswith("Source: ")
    assert profiles == "Applies to: policy, foreign, anthropic, openai"
    wrong = server(project, "policy", "explain", "verb-write")
    assert (wrong.returncode, wrong.stdout, wrong.stderr.count("\n")) == (1, "", 1)
    assert wrong.stderr.startswith("'verb-write' is no rule; they are annotations-present, ")


def exported(project: Path) -> dict[str, Any]:
    done = server(project, "policy", "export", "openai")
    assert (done.returncode, done.stderr) == (0, "")
    found: dict[str, Any] = json.loads(done.stdout)["tools"]
    return found


@pytest.mark.parametrize(
    "policy",
    [{"profile": "explicit"}, {"profile": "custom", "destructive": "deletes"}],
    ids=["explicit", "deletes"],
)
def test_the_justifications_are_true(
    policy: dict[str, str], template: Path, tmp_path: Path
) -> None:
    project = render(template, tmp_path / "p", {"tools": TOOLS, **policy})
    found = exported(project)
    assert found.keys() == {tool["name"] if isinstance(tool, dict) else tool for tool in TOOLS}
    for name, said in found.items():
        for key, hint in HINTS.items():
            sentence = said[key]
            assert sentence.endswith(".")
            assert sentence.count(".") == 1
            assert "\n" not in sentence
            if (name, hint) == ("clear_board", "destructiveHint"):
                assert sentence == REASON
            else:
                assert sentence.startswith(TRUE[hint, said["annotations"][hint]]), (name, sentence)
        assert said.keys() == {"annotations", *HINTS}
    assert found["run_backup"]["read_only_justification"] == "It writes: IDs are only added."
    assert found["create_note"]["destructive_justification"] == (
        "It removes nothing: each call adds a new note and changes no other."
    )

"""`explain`, `export` and what else is read from annotations.lock.json."""

import json
from pathlib import Path
from typing import Any

import pytest
from calling import call
from lifecycle import SRC
from support import python, render

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


def test_findings_name_the_file_for_code_scanning(mine: Path) -> None:
    path = mine / SRC / "tools/get_note.py"
    path.write_text(path.read_text().replace('title="Get Note"', 'title="get_note"'))
    assert python(mine, "tests/policy/pin.py").returncode == 0
    done = call(mine, "audit", "--sarif")
    (result,) = json.loads(done.stdout)["runs"][0]["results"]
    (place,) = result["locations"]
    assert (done.returncode, result["ruleId"]) == (1, "title-not-name")
    assert place["physicalLocation"]["artifactLocation"]["uri"] == "src/notes_mcp/tools/get_note.py"


@pytest.mark.parametrize("verb", [["audit"], ["export", "openai"]])
@pytest.mark.parametrize(
    "broken",
    [
        "",
        "{",
        "[]",
        "null",
        '{"tools": {"get_note": {}}, "versions": {}}',
        '{"tools": {"get_note": {"hints": 1, "gated": 0}}, "versions": {}}',
        '{"tools": {"get_note": 1}, "versions": {}}',
        "\x80",
    ],
)
def test_a_broken_lock_is_one_line(verb: list[str], broken: str, tmp_path: Path) -> None:
    (tmp_path / "annotations.lock.json").write_bytes(broken.encode("latin-1"))
    done = call(tmp_path, *verb)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1), done.stderr
    assert done.stderr.startswith("copier-fastmcp: annotations.lock.json: ")


def test_a_lock_of_odd_facts_is_one_line(mine: Path) -> None:
    path = mine / "annotations.lock.json"
    lock = json.loads(path.read_text())
    lock["tools"]["get_note"]["behavior"] = "juggle"
    path.write_text(json.dumps(lock))
    done = call(mine, "export", "openai")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert "'juggle'" in done.stderr


def test_without_a_lock_export_says_how_to_get_one(tmp_path: Path) -> None:
    done = call(tmp_path, "export", "openai")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert "uv run tests/policy/pin.py" in done.stderr


def test_a_rule_explains_itself(tmp_path: Path) -> None:
    done = call(tmp_path, "explain", "verb-writes")
    name, mend, source, profiles = done.stdout.splitlines()
    assert name.startswith("verb-writes: Clients run a read-only tool without asking")
    assert mend.startswith("Mend: say readOnlyHint: false")
    assert source.startswith("Source: ")
    assert profiles == "Applies to: policy, foreign, anthropic, openai"
    rule = json.loads(call(tmp_path, "explain", "verb-writes", "--json").stdout)
    assert rule["id"] == "verb-writes"
    wrong = call(tmp_path, "explain", "verb-write")
    assert (wrong.returncode, wrong.stdout, wrong.stderr.count("\n")) == (1, "", 1)
    assert "'verb-write' is not a rule; the rules are annotations-present, " in wrong.stderr


def exported(project: Path) -> dict[str, Any]:
    pinned = python(project, "tests/policy/pin.py")
    assert pinned.returncode == 0, pinned.stderr
    done = call(project, "export", "openai")
    assert (done.returncode, done.stderr) == (0, "")
    tools: dict[str, Any] = json.loads(done.stdout)["tools"]
    return tools


@pytest.mark.parametrize(
    "policy",
    [
        {"profile": "explicit"},
        {"profile": "custom", "destructive": "deletes"},
        {"profile": "end-state"},
        {"profile": "narrow"},
    ],
    ids=["explicit", "deletes", "end-state", "narrow"],
)
def test_the_justifications_are_true(
    policy: dict[str, str], template: Path, tmp_path: Path
) -> None:
    project = render(template, tmp_path / "p", {"tools": TOOLS, **policy})
    overwrites = policy["profile"] in ("explicit", "narrow")
    tools = exported(project)
    assert tools.keys() == {tool["name"] if isinstance(tool, dict) else tool for tool in TOOLS}
    for name, entry in tools.items():
        for key, hint in HINTS.items():
            sentence = entry[key]
            assert sentence.endswith(".")
            assert sentence.count(".") == 1
            assert "\n" not in sentence
            if (name, hint) == ("clear_board", "destructiveHint"):
                assert sentence == REASON
            else:
                assert sentence.startswith(TRUE[hint, entry["annotations"][hint]]), (name, sentence)
        assert entry.keys() == {"annotations", *HINTS}
    assert tools["run_backup"]["read_only_justification"] == "It writes: IDs are only added."
    assert tools["create_note"]["destructive_justification"] == (
        "It removes nothing: each call adds a new note and changes no existing one."
    )
    destructive = {name for name in tools if tools[name]["annotations"]["destructiveHint"]}
    replaces = {"update_note", "set_note", "archive_note"} if overwrites else set()
    assert destructive == {"delete_note", "send_note"} | replaces, "also where no hint says so"
    assert tools["count_notes"]["annotations"]["openWorldHint"] is False
    reads = {name for name in tools if tools[name]["annotations"]["readOnlyHint"]}
    assert reads == {"search_notes", "get_note", "count_notes"}

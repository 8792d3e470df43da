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
    ("openWorldHint", True): "It may change what is public",
    ("openWorldHint", False): "It changes nothing that is public",
    ("destructiveHint", True): "It may overwrite or remove what is there: ",
    ("destructiveHint", False): ("It removes nothing: ", "It changes nothing"),
}
REASON = "A board keeps its cards."
TOOLS = [
    *(
        "search_notes",
        "get_note",
        "create_note",
        "ensure_note",
        "append_note",
        "update_note",
    ),
    *("set_note", "archive_note", "delete_note", "send_note"),
    {"name": "count_notes", "open_world": False},
    {"name": "put_flag", "open_world": False},
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
    assert (
        place["physicalLocation"]["artifactLocation"]["uri"]
        == "src/notes_mcp/tools/get_note.py"
    )


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
def test_a_broken_lock_is_one_line(
    verb: list[str], broken: str, tmp_path: Path
) -> None:
    (tmp_path / "annotations.lock.json").write_bytes(broken.encode("latin-1"))
    done = call(tmp_path, *verb)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1), (
        done.stderr
    )
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
    assert f"annotations.lock.json is not in {tmp_path}; " in done.stderr
    assert "uv run tests/policy/pin.py" in done.stderr


def test_a_rule_explains_itself(tmp_path: Path) -> None:
    done = call(tmp_path, "explain", "verb-writes")
    name, fix, source, profiles, waive = done.stdout.splitlines()
    assert name.startswith("verb-writes: Clients run a read-only tool without asking")
    assert fix.startswith("Fix: set readOnlyHint: false")
    assert source.startswith("Source: ")
    assert profiles == "Applies to: policy, foreign, anthropic, openai"
    assert waive.startswith("Waive: in tests/tools/test_NAME.py write waivers = [{")
    assert '"rule": "verb-writes"' in waive
    rule = json.loads(call(tmp_path, "explain", "verb-writes", "--json").stdout)
    assert rule["id"] == "verb-writes"
    failure = call(tmp_path, "explain", "verb-write")
    assert (failure.returncode, failure.stdout, failure.stderr.count("\n")) == (
        1,
        "",
        1,
    )
    assert (
        "'verb-write' is not a rule; the rules are annotations-present, "
        in failure.stderr
    )


def export(project: Path) -> dict[str, Any]:
    pinned = python(project, "tests/policy/pin.py")
    assert pinned.returncode == 0, pinned.stderr
    done = call(project, "export", "openai")
    assert (done.returncode, done.stderr) == (0, "")
    submission = json.loads(done.stdout)
    assert submission.keys() == {"$schema", "schema_version", "tools"}
    assert submission["$schema"].endswith(
        "/apps-sdk/schemas/chatgpt-app-submission.v1.json"
    )
    assert submission["schema_version"] == 1
    tools: dict[str, Any] = submission["tools"]
    return tools


@pytest.mark.parametrize(
    "policy",
    [
        {"profile": "explicit"},
        pytest.param(
            {"profile": "custom", "destructive": "deletes"}, marks=pytest.mark.nightly
        ),
        {"profile": "end-state"},
        pytest.param({"profile": "narrow"}, marks=pytest.mark.nightly),
    ],
    ids=["explicit", "deletes", "end-state", "narrow"],
)
def test_the_justifications_are_true(
    policy: dict[str, str], template: Path, tmp_path: Path
) -> None:
    project = render(template, tmp_path / "p", {"tools": TOOLS, **policy})
    overwrites = policy["profile"] in ("explicit", "narrow")
    tools = export(project)
    tool_names = set()
    for tool in TOOLS:
        tool_names.add(tool["name"] if isinstance(tool, dict) else tool)
    assert tools.keys() == tool_names
    for name, entry in tools.items():
        for key, hint in HINTS.items():
            sentence = entry["justifications"][key]
            assert sentence.endswith(".")
            assert sentence.count(".") == 1
            assert "\n" not in sentence
            if (name, hint) == ("clear_board", "destructiveHint"):
                assert sentence == REASON
            else:
                assert sentence.startswith(TRUE[hint, entry["annotations"][hint]]), (
                    name,
                    sentence,
                )
        assert entry.keys() == {"annotations", "justifications"}
        assert entry["justifications"].keys() == HINTS.keys()
        assert entry["annotations"].keys() == {*HINTS.values()}
    reasons = tools["run_backup"]["justifications"]
    assert reasons["read_only_justification"] == "It writes: IDs are only added."
    assert tools["create_note"]["justifications"]["destructive_justification"] == (
        "It removes nothing: each call adds a new note and changes no existing one."
    )
    destructive = set()
    for name in tools:
        if tools[name]["annotations"]["destructiveHint"]:
            destructive.add(name)
    replaces = (
        {"update_note", "set_note", "archive_note", "put_flag"} if overwrites else set()
    )
    assert destructive == {"delete_note", "send_note"} | replaces, (
        "also where no hint says so"
    )
    read_tools = {name for name in tools if tools[name]["annotations"]["readOnlyHint"]}
    assert read_tools == {"search_notes", "get_note", "count_notes"}
    outside = {name for name in tools if tools[name]["annotations"]["openWorldHint"]}
    # The rendered tools of an explicit profile declare that they stay in their own store
    writes = tools.keys() - read_tools - {"put_flag"}
    is_explicit = policy["profile"] in ("explicit", "custom")
    assert outside == (set() if is_explicit else writes)


INFO = {
    "display_name": "Notes",
    "subtitle": "Find and change notes",
    "description": "Notes finds and changes the notes of its user.",
    "category": "PRODUCTIVITY",
}
CASE = {
    "description": "Read a note.",
    "user_prompt": "Show note 1.",
    "tools_triggered": "get_note, delete_note",
    "expected_output": "The note.",
}
OTHER = CASE | {"tools_triggered": None}
FORM = {"app_info": INFO, "test_cases": [CASE] * 5, "negative_test_cases": [OTHER] * 3}


def test_the_whole_form_of_the_importer(started: Path, tmp_path: Path) -> None:
    path = tmp_path / "form.yml"
    path.write_text(json.dumps(FORM), encoding="utf-8")
    done = call(started, "export", "openai", "--with", path)
    submission = json.loads(done.stdout)
    assert submission["app_info"] == INFO
    nothing = {"file_attachment_urls": None, "expected_output_url": None}
    assert submission["test_cases"] == [CASE | nothing] * 5
    assert submission["negative_test_cases"] == [OTHER | nothing] * 3


@pytest.mark.parametrize(
    ("form", "message"),
    [
        ({"app_info": INFO | {"subtitle": "x" * 31}}, "the subtitle has 31 characters"),
        (
            {"app_info": INFO | {"category": "WORK"}},
            "'WORK' is not a category; say one of BUSINESS,",
        ),
        ({"app_info": {"display_name": "x"}}, "app_info has no subtitle; write one"),
        ({"app_info": 1}, "app_info has no display_name; write one"),
        (
            {"info": INFO},
            "write app_info, test_cases and negative_test_cases, and nothing else",
        ),
        ({"test_cases": [CASE]}, "test_cases must be a list of 5 cases"),
        ({"test_cases": [1] * 5}, "test_cases: a case has no description; write one"),
        ({"test_cases": [OTHER] * 5}, "a case names no tool in tools_triggered"),
        ({"negative_test_cases": [CASE] * 3}, "a case names a tool in tools_triggered"),
        (
            {"test_cases": [CASE | {"tools_triggered": "x"}] * 5},
            "'x' is not a tool of this server",
        ),
        ([], "and nothing else"),
    ],
)
def test_a_form_that_the_importer_refuses(
    form: object, message: str, started: Path, tmp_path: Path
) -> None:
    path = tmp_path / "form.yml"
    path.write_text(json.dumps(form), encoding="utf-8")
    done = call(started, "export", "openai", "--with", path)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)
    assert message in done.stderr


def test_a_form_that_is_not_there(started: Path) -> None:
    done = call(started, "export", "openai", "--with", "none.yml")
    assert (done.returncode, done.stdout) == (2, "")
    expected = "none.yml: No such file or directory; name a YAML file with app_info\n"
    assert done.stderr.endswith(expected)
    assert done.stderr.count("none.yml") == 1

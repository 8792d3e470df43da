"""Rules finer than a behavior, and rules that warn before they fail, released to a living server (docs/policy-owners.md)."""

import json
from pathlib import Path

import pytest
from lifecycle import (
    ANSWERS,
    bytes_of,
    commit,
    find_changes,
    released,
    run_suite,
    start,
    update,
)
from support import pin, server
from tables import BEHAVIORS, TABLES, WIRE

from copier_fastmcp_engine.testing.cases import parse_probe
from copier_fastmcp_engine.testing.rules import (
    Tool,
    examine,
    find_waiver_mistake,
    only_warns,
)

TABLE, RULES = (
    "src/copier_fastmcp/tables.json",
    "engine/src/copier_fastmcp_engine/testing/rules.py",
)
PAGE = "docs/tools.md"
ROW = '    {"behavior": "put", "tools": ["archive", "unarchive"], "hint": "destructive", "value": false, "why": "It | can be taken \\"back\\"."}\n'
RELAXED = "archive_note: RELAXED: destructiveHint true -> false"


def test_every_rule_that_warns_says_since_when_and_until_when() -> None:
    for rule in TABLES["rules"].values():
        assert ("warns" in rule) is ("fails" in rule)


def test_every_finer_row_can_be_read() -> None:
    for row in TABLES["finer"]:
        assert set(row) == {"behavior", "tools", "hint", "value", "why"}
        assert row["behavior"] in BEHAVIORS
        assert row["hint"] in WIRE
        assert isinstance(row["value"], bool)
        assert row["why"].strip()
        assert row["tools"]


@pytest.mark.nightly
def test_a_hint_finer_than_a_behavior(repository: Path, tmp_path: Path) -> None:
    """One line in the table: hints, lock, tool table and decision record of an updated server follow."""
    if TABLES["finer"]:
        pytest.skip("this fork has rows of its own")
    names = [
        "archive_note",
        "put_note",
        {"name": "unarchive_note", "exceptions": [MINE]},
    ]
    project = start(repository, tmp_path / "p", tools=names)
    pin(project)
    commit(project, "pinned")
    before = bytes_of(project)
    released(
        repository,
        repository,
        "v2.0.0",
        (TABLE, '  "finer": [\n', f'  "finer": [\n{ROW}'),
    )
    update(project, "v2.0.0")
    assert all("/policy/" in name for name in find_changes(project, before) - {ANSWERS})
    served = {}
    for name in ("archive_note", "put_note", "unarchive_note"):
        served[name] = hint(project, name)
    assert served == {"archive_note": False, "put_note": True, "unarchive_note": True}
    output = run_suite(project)
    assert RELAXED in output
    assert "put_note" not in output
    assert RELAXED in pin(project).splitlines()
    lock = json.loads((project / "annotations.lock.json").read_text())["tools"]
    exception = {
        "by": "policy",
        "hint": "destructive",
        "value": False,
        "why": 'It | can be taken "back".',
    }
    assert lock["archive_note"]["exceptions"] == [exception]
    assert lock["unarchive_note"]["exceptions"] == [MINE]
    row = next(
        r
        for r in (project / "docs/tools.md").read_text().splitlines()
        if "`archive_" in r
    )
    assert 'destructive: It \\| can be taken "back".' in row
    adr = (project / "docs/adr/policy/0001-tool-annotations.md").read_text()
    assert (
        "| `archive` `unarchive` | `put` | `destructiveHint` | false | It \\| can be"
        in adr
    )
    assert "failed" not in run_suite(project)


MINE = {"hint": "destructive", "value": True, "why": "Ours is never archived again."}


def hint(project: Path, name: str) -> object:
    """A tool's destructiveHint as it is served."""
    return json.loads(server(project, "tools", "wire", name).stdout)["annotations"][
        "destructiveHint"
    ]


def released_rule(repository: Path, tag: str, **when: str) -> None:
    """A release with a rule that names of more than 11 letters break."""
    words = {
        "text": f"Names are cut in {tag}.",
        "source": "our house",
        "fix": "shorten it",
    } | when
    entry = f'    "name-short": {json.dumps({"profiles": ["policy"]} | words)},\n'
    place, first = "    if tool.copies > 1:\n", '    "name-valid": {'
    check = (
        '    if len(tool.name) > 11:\n        yield "name-short", "the name is long"\n'
    )
    lines = (repository / TABLE).read_text().splitlines(keepends=True)
    if old := [line for line in lines if '"name-short"' in line]:
        released(repository, repository, tag, (TABLE, old[0], entry))
    else:
        edit = (RULES, place, check + place)
        released(repository, repository, tag, edit, (TABLE, first, entry + first))


def test_a_rule_warns_then_fails_and_is_waived(
    repository: Path, tmp_path: Path
) -> None:
    """By day and by version; the waiver stands in the tool's own test file, and the lock shows it."""
    project = start(repository, tmp_path / "p", tools=["search_notes", "get_note"])
    pin(project)
    commit(project, "pinned")
    released_rule(repository, "v2.0.0", warns="v2.0.0", fails="2999-01-31")
    released_rule(repository, "v2.2.0", warns="v2.0.0", fails="v2.2.0")
    warning = "NOTE search_notes: the name is long; shorten it (name-short): a warning since v2.0.0, "
    update(project, "v2.0.0")
    output = run_suite(project)
    assert f"{warning}fails from 2999-01-31\n" in output
    assert "failed" not in output
    update(project, "v2.2.0")
    output = run_suite(project)
    assert "search_notes: the name is long; shorten it (name-short)" in output
    assert "1 failed" in output
    probe = project / "tests/tools/test_search_notes.py"
    text = probe.read_text()
    waiver = '\nwaivers = [{"rule": "name-short", "until": "UNTIL", "why": "It has \\"users\\"."}]\n'
    probe.write_text(text + waiver.replace("UNTIL", "2999-01-31"))
    line = 'RELAXED: waivers absent -> [{"rule": "name-short", "until": "2999-01-31", "why": "It has'
    assert line in pin(project)
    assert (
        'name-short waived until 2999-01-31: It has "users".'
        in (project / PAGE).read_text()
    )
    output = run_suite(project)
    assert '(name-short): waived until 2999-01-31: It has "users".\n' in output
    assert "failed" not in output
    probe.write_text(text + waiver.replace("UNTIL", "2026-01-31"))
    pin(project)
    output = run_suite(project)
    assert (
        "search_notes: the waiver of name-short ended on 2026-01-31; fix what it waives"
        in output
    )
    assert "search_notes: the name is long; shorten it (name-short)" in output
    assert "2 failed" in output


@pytest.mark.parametrize(
    ("waivers", "message"),
    [
        (
            "[{'rule': 'title-written'}]",
            "a waiver has rule, until and why, and {'rule'",
        ),
        ("other", "a waiver has rule, until and why, and 'other' has not"),
        (
            "[{'why': 'a', 'until': '2999-01-01', 'rule': 'x'}]",
            "'x' is not a rule that can be",
        ),
        (
            "[{'why': ' ', 'until': '2999-01-01', 'rule': 'title-written'}]",
            "the waiver of title-written lacks its last day",
        ),
        (
            "[{'why': 'a', 'until': 'never', 'rule': 'title-written'}]",
            "the waiver of title-written lacks its last day, as 2027-01-31, or its reason",
        ),
        (
            "[{'why': 'a', 'until': '2999-01-01', 'rule': 'waiver-valid'}]",
            "'waiver-valid' is not a rule that can be waived",
        ),
    ],
)
def test_a_waiver_that_is_amiss(tmp_path: Path, waivers: str, message: str) -> None:
    path = tmp_path / "test_get_note.py"
    assert parse_probe(path) == {}
    path.write_text(f'"""Mine."""\n\nwaivers: list = {waivers}\n')
    parsed = parse_probe(path)["waivers"]
    tool = Tool(
        {"name": "get_note"}, waivers=parsed if isinstance(parsed, list) else [parsed]
    )
    findings = examine([tool], TABLES | {"today": "2026-11-22"})
    (finding,) = [row for row in findings if row.rule == "waiver-valid"]
    assert finding.message.startswith(message)


def test_a_waiver_holds_through_its_last_day() -> None:
    waiver = {"rule": "title-written", "until": "2026-11-22", "why": "Soon."}
    waivers_text = []
    for day in (22, 23):
        waivers_text.append(
            find_waiver_mistake(waiver, TABLES | {"today": f"2026-11-{day}"})
        )
    assert waivers_text == ["", "the waiver of title-written ended on 2026-11-22"]


@pytest.mark.parametrize(
    "release", ["v1.9.0-3-gabcdef", "v2.0.0", "1.0.0", "abcdef0", ""]
)
def test_a_version_that_is_none_only_fails(release: str) -> None:
    assert only_warns("v2.0.0", "", release) is release.lstrip("v").startswith("1")

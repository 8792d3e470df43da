"""Rules finer than a behavior, released to a living server (docs/policy-owners.md)."""

import json
from pathlib import Path

import pytest
from lifecycle import ANSWERS, bytes_of, changed, commit, released, start, suite, update
from support import pin, server
from tables import BEHAVIORS, TABLES, WIRE

TABLE = "src/copier_fastmcp/tables.json"
ROW = '    {"behavior": "put", "tools": ["archive", "unarchive"], "hint": "destructive", "value": false, "why": "It | can be taken \\"back\\"."}\n'
RELAXED = "archive_note: RELAXED: destructiveHint true -> false"


def test_every_finer_row_can_be_read() -> None:
    for row in TABLES["finer"]:
        assert set(row) == {"behavior", "tools", "hint", "value", "why"}
        assert row["behavior"] in BEHAVIORS
        assert row["hint"] in WIRE
        assert isinstance(row["value"], bool)
        assert row["why"].strip()
        assert row["tools"]


def test_a_hint_finer_than_a_behavior(repository: Path, tmp_path: Path) -> None:
    """One line in the table: hints, lock, tool table and decision record of an updated server follow."""
    if TABLES["finer"]:
        pytest.skip("this fork has rows of its own")
    names = ["archive_note", "put_note", {"name": "unarchive_note", "exceptions": [MINE]}]
    project = start(repository, tmp_path / "p", tools=names)
    pin(project)
    commit(project, "pinned")
    before = bytes_of(project)
    released(repository, repository, "v2.0.0", (TABLE, '  "finer": [\n', f'  "finer": [\n{ROW}'))
    update(project, "v2.0.0")
    assert all("/policy/" in name for name in changed(project, before) - {ANSWERS})
    served = {name: hint(project, name) for name in ("archive_note", "put_note", "unarchive_note")}
    assert served == {"archive_note": False, "put_note": True, "unarchive_note": True}
    found = suite(project)
    assert RELAXED in found
    assert "put_note" not in found
    assert RELAXED in pin(project).splitlines()
    lock = json.loads((project / "annotations.lock.json").read_text())["tools"]
    why = {
        "by": "policy",
        "hint": "destructive",
        "value": False,
        "why": 'It | can be taken "back".',
    }
    assert lock["archive_note"]["exceptions"] == [why]
    assert lock["unarchive_note"]["exceptions"] == [MINE]
    row = next(r for r in (project / "docs/tools.md").read_text().splitlines() if "`archive_" in r)
    assert 'destructive: It \\| can be taken "back".' in row
    adr = (project / "docs/adr/policy/0001-tool-annotations.md").read_text()
    assert "| `archive` `unarchive` | `put` | `destructiveHint` | false | It \\| can be" in adr
    assert "failed" not in suite(project)


MINE = {"hint": "destructive", "value": True, "why": "Ours is never archived again."}


def hint(project: Path, name: str) -> object:
    """A tool's destructiveHint as it is served."""
    return json.loads(server(project, "tools", "wire", name).stdout)["annotations"][
        "destructiveHint"
    ]

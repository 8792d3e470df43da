"""What the lock records of a probe, and which changes of it are for the worse."""

from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from copier_fastmcp_engine.testing import lock, proofs
from copier_fastmcp_engine.testing.rules import Tool

PROBE = '''
from ..policy.cases import Case

outside = {"usage": "counts for the operator"}
effects = {"files": "appends to the log"}


async def arrange(backend, note_id=1):
    """Prepare."""
    backend.send = print
    backend.position = 2
    return [{"note_id": note_id}, Case({"note_id": 2}, loses=[f"draft/{note_id}", "tag/1"])]
'''


def describe(folder: Path, text: str) -> dict[str, Any]:
    path = folder / "test_get_note.py"
    path.write_text(text)
    return proofs.describe_proof(path, {"send", "snapshot"})


def test_a_probe_is_recorded_without_running_it(tmp_path: Path) -> None:
    proof = describe(tmp_path, PROBE)
    code = proof.pop("code")
    assert proof == {
        "cases": 2,
        "effects": {"files": "appends to the log"},
        "loses": ["draft/*", "tag/1"],
        "outside": {"usage": "counts for the operator"},
        "replaces": ["send"],
    }
    assert describe(tmp_path, PROBE.replace("\n", "\r\n"))["code"] == code


LOOP = """
async def arrange(backend):
    for name in ("a", 'b'):
        await backend.create("note", {"title": f"{name} { {} }"})
    return {"note_id": 1}
"""


@pytest.mark.parametrize(
    ("old", "new", "is_same"),
    [
        ('("note", {', '(\n            "note",\n            {', True),
        ("    return {", "\n    return {", True),
        ("(\"a\", 'b')", '("a", "b")', True),
        ("(\"a\", 'b')", "(\n        'a',\n        'b',\n    )", True),
        ("    return", "    # what the call needs\n    return", True),
        ("(\"a\", 'b')", '("a",)', False),
        ("        await", "    await", False),
        ("    return", "        return", False),
        ('"title"', '"text"', False),
        ("1}", "2}", False),
    ],
)
def test_only_the_format_of_a_probe_may_change(
    tmp_path: Path, old: str, new: str, is_same: bool
) -> None:
    assert LOOP.count(old) == 1
    before = describe(tmp_path, LOOP)["code"]
    if old == "        await":  # out of the loop, which then needs another body
        new = f"        pass\n{new}"
    after = describe(tmp_path, LOOP.replace(old, new))["code"]
    assert (before == after) is is_same


@pytest.mark.parametrize(
    ("text", "key", "recorded"),
    [
        ("unprobed = 'it moves a motor'", "unprobed", "it moves a motor"),
        ("skips = {'legacy': 'why'}", "skips", {"legacy": "why"}),
        ("outside = {**MORE, 'a': 'b'}", "outside", {"*": "MORE", "a": "b"}),
        ("outside = named()", "outside", {"*": "named()"}),
        ("async def arrange(b):\n    return Case({}, KEYS)", "loses", ["*"]),
        ("async def arrange(b):\n    return Case({}, **MORE)", "loses", ["*"]),
        ("async def arrange(b):\n    return [*CASES]", "cases", 1),
        ("async def arrange(b):\n    return CASES", "cases", 0),
        ("setattr(Store, 'snapshot', fake)", "replaces", ["snapshot"]),
        ("patch('notes_mcp.backend.snapshot')", "replaces", ["snapshot"]),
    ],
)
def test_a_computed_value_is_recorded_as_a_wildcard(
    tmp_path: Path, text: str, key: str, recorded: object
) -> None:
    assert describe(tmp_path, text)[key] == recorded


def test_without_a_probe_nothing_is_recorded(tmp_path: Path) -> None:
    assert proofs.describe_proof(tmp_path / "none.py", set()) == {}


def lock_of(proof: dict[str, Any], snapshot: str = "a") -> lock.Lock:
    probed = bool(proof) and "unprobed" not in proof
    tool = Tool({"name": "get_note"}, probed=probed, proof=proof)
    return lock.build_lock([tool], {}, released=True, snapshot=snapshot)


FULL = {
    "cases": 2,
    "code": "a",
    "loses": ["tag/1"],
    "outside": {"usage": "why"},
}


@pytest.mark.parametrize(
    ("change", "lines"),
    [
        ({}, []),
        ({"code": "b"}, ["proof changed"]),
        ({"outside": {}}, ["outside lost usage"]),
        ({"outside": {"usage": "so"}}, ['outside usage "why" -> "so"']),
        (
            {"outside": {"usage": "why", "log": "big"}},
            ["RELAXED: outside gained log (big)"],
        ),
        ({"effects": {"files": "log"}}, ["RELAXED: effects gained files (log)"]),
        ({"loses": ["tag/*", "tag/1"]}, ["RELAXED: loses gained tag/*"]),
        ({"replaces": ["send"]}, ["RELAXED: replaces gained send"]),
        ({"skips": {"legacy": "no"}}, ["RELAXED: skips gained legacy (no)"]),
        ({"cases": 1}, ["RELAXED: cases 2 -> 1"]),
        ({"cases": 0}, ["RELAXED: cases 2 -> 0"]),
        ({"cases": 3}, ["cases 2 -> 3"]),
        (
            {"unprobed": "it moves"},
            [
                "RELAXED: it was proven by its probe, and is unprobed now",
                'unprobed absent -> "it moves"',
            ],
        ),
    ],
)
def test_a_change_for_the_worse_is_relaxed(
    change: dict[str, Any], lines: list[str]
) -> None:
    new = FULL | change
    if "unprobed" in new:
        new = {"code": "a", **change}
    differences = lock.format_differences(lock_of(FULL), lock_of(new))
    assert differences == [f"get_note: {line}" for line in lines]


def test_a_lock_without_proofs_is_compared_as_before() -> None:
    """As an earlier release wrote it."""
    old = lock_of(FULL)
    del old["tools"]["get_note"]["proof"]
    old["proof"] = {}
    assert lock.format_differences(old, lock_of(FULL)) == []


def test_a_changed_snapshot_is_one_line(tmp_path: Path) -> None:
    changed = lock.format_differences(lock_of(FULL), lock_of(FULL, "b"))
    assert changed == ["snapshot(): proof changed"]
    path = tmp_path / lock.FILE
    path.write_text(lock.format_lock(lock_of(FULL)))
    assert lock.load_lock(path) == lock_of(FULL)


def test_a_digest_follows_the_functions_of_a_backend() -> None:
    backend = ModuleType("backend")
    exec("class Store:\n    def add(self): ...", vars(backend))
    assert proofs.compute_snapshot_digest(backend) == ""
    exec("class Other:\n    async def snapshot(self): ...", vars(backend))
    assert proofs.compute_snapshot_digest(backend)
    assert {"add", "snapshot"} <= proofs.list_methods(backend)

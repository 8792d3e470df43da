"""What may be wrong on the wire: each change of a good tool is found by the rule meant, and by no other."""

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support import ROOT, python, render

from copier_fastmcp_engine.testing.rules import Tool, examine

Wire = dict[str, Any]
TABLES = json.loads(
    (ROOT / "src/copier_fastmcp/tables.json").read_text(encoding="utf-8")
)
TOOLS = ["get_clean", "create_clean", "delete_clean"]
SCRIPT = """
import json, sys
sys.path[:0] = ["tests/policy", "src"]
from pathlib import Path
from copier_fastmcp_suite import opening, pin
project = opening.open_project(Path().resolve(), "notes_mcp.policy")
pins = pin.collect(project, project.create_server(), pin.load_tables(project))
print(json.dumps([[dict(tool.wire), tool.declared] for tool in pins.tools]))
"""


def hint(name: str, value: object = None) -> Callable[[Wire], None]:
    """Write a hint by hand; without a value take it out."""

    def change(wire: Wire) -> None:
        wire["annotations"].pop(name, None)
        if value is not None:
            wire["annotations"][name] = None if value == "null" else value

    return change


def field(name: str, value: object = None) -> Callable[[Wire], None]:
    """Write a field of the tool; without a value take it out."""
    return lambda wire: (
        wire.pop(name, None) if value is None else wire.update({name: value})
    )


def typo(wire: Wire) -> None:
    wire["annotations"]["readonlyHint"] = wire["annotations"].pop("readOnlyHint")


def open_schema(wire: Wire) -> None:
    del wire["inputSchema"]["additionalProperties"]


def no_gate(wire: Wire) -> None:
    del wire["inputSchema"]["properties"]["confirm"]


# What may be wrong on the wire -> the rule; what a directory asks besides is in tests/command/test_audit.py.
ON_THE_WIRE: list[tuple[str, str, str, Callable[[Wire], None]]] = [
    ("annotations dropped", "annotations-present", "get_clean", field("annotations")),
    ("hint dropped", "hints-complete", "get_clean", hint("idempotentHint")),
    ("hint flipped", "hints-match-behavior", "get_clean", hint("openWorldHint", True)),
    ("hint typo'd", "hints-known", "get_clean", typo),
    ("hint null", "hints-boolean", "get_clean", hint("idempotentHint", "null")),
    ("hint a text", "hints-boolean", "get_clean", hint("readOnlyHint", "true")),
    ("annotations.title missing", "title-written", "get_clean", hint("title")),
    ("title missing", "titles-equal", "get_clean", field("title")),
    ("titles differ", "titles-equal", "get_clean", field("title", "Fetch")),
    ("description empty", "description-present", "get_clean", field("description", "")),
    ("name too long", "name-valid", "get_clean", field("name", "get_" + "x" * 61)),
    ("name with a space", "name-valid", "get_clean", field("name", "get clean")),
    ("input schema open", "input-closed", "get_clean", open_schema),
    ("output schema gone", "output-described", "get_clean", field("outputSchema")),
    ("gate gone", "gate-present", "delete_clean", no_gate),
]  # fmt: skip


@pytest.fixture(scope="module")
def good(template: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Tool]:
    """The tools of a running server."""
    project = render(template, tmp_path_factory.mktemp("wire"), {"tools": TOOLS})
    done = python(project, "-c", SCRIPT)
    assert done.returncode == 0, done.stderr
    return {wire["name"]: Tool(wire, facts) for wire, facts in json.loads(done.stdout)}


@pytest.mark.parametrize(
    ("what", "rule", "tool", "change"),
    [pytest.param(*row, id=row[0]) for row in ON_THE_WIRE],
)
def test_a_mutated_wire(
    what: str,
    rule: str,
    tool: str,
    change: Callable[[Wire], None],
    good: dict[str, Tool],
) -> None:
    declared = good[tool].declared
    wire = copy.deepcopy(dict(good[tool].wire))
    assert not examine([Tool(wire, declared)], TABLES)
    change(wire)
    findings = examine([Tool(wire, declared)], TABLES)
    assert [finding.rule for finding in findings] == [rule], what


def test_two_tools_of_one_name(good: dict[str, Tool]) -> None:
    findings = examine([good["get_clean"]] * 2, TABLES)
    assert {finding.rule for finding in findings} == {"name-unique"}


OTHERS = {"hints-complete", "hints-match-behavior", "words-match-behavior"}


@pytest.mark.parametrize(
    "description", ["Delete it.", "Deletes it.", "DELETE it", "Removes it."]
)
@pytest.mark.parametrize("declared", [True, False])
def test_a_name_and_a_description_are_two_signals(
    description: str, declared: bool
) -> None:
    """A tool that nothing runs: its name alone is not a finding, nor is it one when a test runs the tool."""
    hints = {
        "title": "Delete",
        "readOnlyHint": True,
        "destructiveHint": False,
        "openWorldHint": True,
    }
    facts: dict[str, object] = {
        "behavior": "read",
        "hints": hints,
        "truth": {"read_only": True},
        "exceptions": [],
    }
    facts |= {"scopes": [], "why": None, "question": None, "confirm_said": None}
    facts |= {"gated": False, "gate_demanded": False}
    wire = {
        "name": "delete_it",
        "title": "Delete",
        "description": description,
        "annotations": hints,
    }
    answer = {"type": "object", "properties": {"gone": {"type": "boolean"}}}
    wire |= {"inputSchema": {"additionalProperties": False}, "outputSchema": answer}

    def rules(text: str, probed: bool | None) -> set[str]:
        tool = Tool(
            wire | {"description": text}, facts if declared else None, probed=probed
        )
        findings = examine([tool], TABLES, "policy" if declared else "foreign")
        return {finding.rule for finding in findings} - OTHERS

    assert rules(description, False) == {"verb-writes"}
    assert rules("Look at it.", False) == set()
    assert rules(description, True) == (set() if declared else {"verb-writes"})


def test_a_wire_of_the_wrong_types_is_findings_and_no_error() -> None:
    wire = {
        "name": "get_it",
        "annotations": ["x"],
        "inputSchema": {"properties": {"x": True}},
    }
    assert examine([Tool(wire)], TABLES, "foreign")
    odd = {
        "name": "get_it",
        "annotations": {"readOnlyHint": [1]},
        "inputSchema": "none",
    }
    rules = set()
    for finding in examine([Tool(odd)], TABLES, "foreign"):
        rules.add(finding.rule)
    assert "hints-boolean" in rules

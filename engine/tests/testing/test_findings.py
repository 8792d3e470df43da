"""Every finding ends with a remedy and its rule, which `explain` knows, since only one function writes findings."""

import ast
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from copier_fastmcp_engine.errors import RuleError
from copier_fastmcp_engine.testing import lock
from copier_fastmcp_engine.testing.plugin.completeness import RULE as COMPLETE
from copier_fastmcp_engine.testing.plugin.problems import Problem
from copier_fastmcp_engine.testing.rules import Finding, Tool, examine, format_finding

ROOT = Path(__file__).parents[3]
ENGINE = ROOT / "engine/src/copier_fastmcp_engine"
TESTING = ENGINE / "testing"
SUITE_TESTS = ROOT / "template/tests/policy/test_annotations.py.jinja"
# Findings of a project's own tests about its packaging files
PACKAGE_RULES = {"package-versions-equal", "registry-name-in-readme"}
TABLES = json.loads((ROOT / "src/copier_fastmcp/tables.json").read_text())
# What serving refuses; the rest of the engine reports mistakes of settings and imports
GUARD = ("guard.py", "caches.py", "http.py")
# The rules of tests and of the guard; the others are those of rules.py
SUITE_RULES = {
    name
    for name, rule in TABLES["rules"].items()
    if not {"proof", "suite"}.isdisjoint(rule["profiles"])
}
# Messages that name no rule: the words of a command line, and the reason inside a finding
NOT_FINDINGS = {"takes {options}", "has no {min(missing)}"}


def list_calls(path: Path) -> Iterator[tuple[str, ast.Call]]:
    """Yield each call in a file, with what is called."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call):
            yield ast.unparse(node.func), node


def list_named_rules() -> set[str]:
    """Return the rules of tests and of the guard that the engine names."""
    rules = set()
    paths = [*TESTING.rglob("*.py"), *(ENGINE / name for name in GUARD)]
    for path in paths:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Constant) and node.value in SUITE_RULES:
                rules.add(str(node.value))
    return rules


def test_every_rule_of_a_finding_is_explained() -> None:
    assert list_named_rules() | PACKAGE_RULES == SUITE_RULES
    assert {lock.CURRENT, lock.READABLE, COMPLETE} <= SUITE_RULES
    for path in TESTING.rglob("*.py"):
        for name, call in list_calls(path):
            if name == "Problem" and isinstance(call.args[0], ast.Constant):
                assert call.args[0].value in SUITE_RULES, f"{path.name}:{call.lineno}"


@pytest.mark.parametrize("rule", sorted(TABLES["rules"]))
def test_a_finding_ends_with_the_remedy_and_the_rule(rule: str) -> None:
    fix = TABLES["rules"][rule]["fix"]
    assert fix
    assert Problem(rule, "seen").format(TABLES) == f"seen; {fix} ({rule})"
    custom = Problem(rule, "seen", "do this").format(TABLES)
    assert custom == f"seen; do this ({rule})"
    finding = Finding(rule, "get_note", "seen", fix, "")
    assert str(finding) == f"get_note: seen; {fix} ({rule})"
    assert str(RuleError("seen", fix, rule)) == f"seen; {fix} ({rule})"


def test_the_remedy_of_several_lines_has_its_own() -> None:
    text = format_finding("a: is new\nb: is gone", "review it", lock.CURRENT)
    assert text == "a: is new\nb: is gone\nreview it (lock-current)"


def test_a_test_fails_with_findings_alone() -> None:
    """In one place, to which every check hands what `Problem` or `Finding` wrote."""
    places = []
    for path in sorted(TESTING.rglob("*.py")):
        for name, _ in list_calls(path):
            if name in ("pytest.fail", "AssertionError"):
                places.append(path.name)
        for node in ast.walk(ast.parse(path.read_text())):
            # An assertion tells a type checker what is there; with a message it is a finding
            has_message = isinstance(node, ast.Assert) and node.msg is not None
            assert not has_message, f"{path.name}: an assertion with a message"
    assert places == ["problems.py"]
    assert " assert " not in SUITE_TESTS.read_text()


def list_handed_over() -> Iterator[tuple[str, str]]:
    """Yield the place and the source of everything that a test fails with."""
    for path in sorted(TESTING.rglob("*.py")):
        for name, call in list_calls(path):
            if name == "fail_with":
                yield f"{path.name}:{call.lineno}", ast.unparse(call.args[0])


def test_what_a_test_fails_with_was_written_as_a_finding() -> None:
    written = {
        "[problem.format(tables)]",
        "[problem]",  # why the lock cannot be read: a ValueError of lock.py or pin.py
        "lines",  # of `Finding`
        "problems",  # of ComponentProof, which formats each
    }
    assert {source for _, source in list_handed_over()} == written


def test_the_lock_is_refused_with_findings_alone() -> None:
    for name in ("lock.py", "pin.py"):
        for called, call in list_calls(TESTING / name):
            if called != "ValueError":
                continue
            source = ast.unparse(call.args[0])
            is_other = any(words in source for words in NOT_FINDINGS)
            is_finding = source.startswith("format_finding(")
            assert is_finding or is_other, f"{name}:{call.lineno}: {source}"


def test_the_guard_refuses_with_findings_alone() -> None:
    rules = set()
    for name in GUARD:
        for called, call in list_calls(ENGINE / name):
            assert called != "StartError", f"{name}:{call.lineno}"
            if called == "RuleError":
                rules.add(ast.literal_eval(call.args[2]))
    assert rules
    assert rules <= TABLES["rules"].keys()


@pytest.mark.parametrize(
    ("description", "is_described"),
    [
        ("The keys.", False),
        ("The keys. Any fields.", True),
        ("The keys. Fields: next, previous.", True),
    ],
)
def test_an_object_alone_says_which_fields_it_takes(
    description: str, is_described: bool
) -> None:
    keys = {"type": "object", "additionalProperties": True, "description": description}
    schema = {
        "type": "object",
        "additionalProperties": False,
        "properties": {"keys": keys},
    }
    declared: dict[str, object] = {
        "truth": {"read_only": False, "destructive": True, "idempotent": True},
        "scopes": [],
        "why": "PATCH sets fields.",
        "question": None,
        "confirm_said": None,
        "gated": False,
    }
    tool = Tool({"name": "set_keys", "inputSchema": schema}, declared=declared)
    rules = {finding.rule for finding in examine([tool], {**TABLES, "today": ""})}
    assert ("parameters-typed" not in rules) is is_described

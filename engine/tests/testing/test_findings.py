"""Every finding of a proof ends with a remedy and its rule, which `explain` knows."""

import ast
import json
from pathlib import Path

import pytest

from copier_fastmcp_engine.testing.plugin.problems import Problem

ROOT = Path(__file__).parents[3]
PLUGIN = ROOT / "engine/src/copier_fastmcp_engine/testing/plugin"
TABLES = json.loads((ROOT / "src/copier_fastmcp/tables.json").read_text())
PROOF_RULES = {
    name for name, rule in TABLES["rules"].items() if "proof" in rule["profiles"]
}


def list_rules() -> set[str]:
    """Return the rules that the plugin names when it makes a finding."""
    rules = set()
    for path in PLUGIN.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Constant) and node.value in PROOF_RULES:
                rules.add(str(node.value))
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "Problem":
                rule = node.args[0]
                if isinstance(rule, ast.Constant):
                    assert rule.value in PROOF_RULES, f"{path.name}:{node.lineno}"
    return rules


def test_every_rule_of_a_finding_is_explained() -> None:
    assert list_rules() == PROOF_RULES


@pytest.mark.parametrize("rule", sorted(PROOF_RULES))
def test_a_finding_ends_with_the_remedy_and_the_rule(rule: str) -> None:
    mend = TABLES["rules"][rule]["mend"]
    assert Problem(rule, "seen").format(TABLES) == f"seen; {mend} ({rule})"
    custom = Problem(rule, "seen", "do this").format(TABLES)
    assert custom == f"seen; do this ({rule})"

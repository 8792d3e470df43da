"""Which findings count: a new rule may only warn at first, and an owner may waive one. Managed by the template."""

import ast
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from .rules import Finding, Tool

DAY = re.compile(r"\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])")
VERSION = re.compile(r"v?(\d+)\.(\d+)\.(\d+)")
Rules = Mapping[str, Mapping[str, Any]]


def waivers_of(path: Path) -> list[Any]:
    """What an owner's file lists as `waivers`; what is not a list of plain values is one waiver, and amiss."""
    for node in ast.parse(path.read_bytes()).body if path.exists() else ():
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "waivers":
            try:
                return [*ast.literal_eval(node.value)]
            except (TypeError, ValueError):
                return [ast.unparse(node.value)]
    return []


def amiss(waiver: Any, rules: Rules, today: str) -> str:
    """What is wrong with a waiver, or nothing."""
    if not isinstance(waiver, Mapping) or waiver.keys() != {"rule", "until", "why"}:
        return f"a waiver has rule, until and why, and {waiver!r} has not"
    rule, until, why = (str(waiver[key]) for key in ("rule", "until", "why"))
    if rule not in rules or rule == "waiver-valid":
        return f"{rule!r} is not a rule that can be waived"
    if not DAY.fullmatch(until) or not why.strip():
        return f"the waiver of {rule} lacks its last day, as 2027-01-31, or its reason"
    return f"the waiver of {rule} ended on {until}" if until < today else ""


def early(fails: str, today: str, release: str) -> bool:
    """Whether a rule that fails from a day or a version on only warns yet; in doubt it does not."""
    wanted, there = VERSION.match(fails), VERSION.match(release)
    if not wanted or not there:
        return not wanted and today < fails
    return [*map(int, there.groups())] < [*map(int, wanted.groups())]


def settled(
    found: Iterable[Finding], tools: Iterable[Tool], rules: Rules, today: str, release: str
) -> tuple[list[Finding], list[str]]:
    """The findings that count on a day under a release of the template, and a line for each other one."""
    counting, lines, waived, own = [], [], {}, rules["waiver-valid"]
    for tool, waiver in ((one, waiver) for one in tools for waiver in one.waivers):
        if wrong := amiss(waiver, rules, today):
            finding = Finding("waiver-valid", tool.name, wrong, own["mend"], own["source"])
            counting.append(finding)
        else:
            waived[tool.name, waiver["rule"]] = waiver
    for finding in found:
        rule, waiver = rules[finding.rule], waived.get((finding.tool, finding.rule))
        said = f"{finding.tool}: {finding.message}; {finding.mend} ({finding.rule}, "
        if early(rule.get("fails", ""), today, release):
            lines.append(f"{said}a warning since {rule['warns']}, fails from {rule['fails']})")
        elif waiver:
            lines.append(f"{said}waived until {waiver['until']}: {waiver['why']})")
        else:
            counting.append(finding)
    return counting, lines

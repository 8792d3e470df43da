"""Findings as text, and a table of the decisions of clients."""

import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from ..errors import format_count, one_line
from ..terminal.text_tables import print_table
from .clients import CLIENTS, list_decisions
from .findings import AuditFinding, Question

DECISIONS = ("run", "ask", "ask each time", "hide")
LEVELS = ("error", "warning", "note")
Findings = Sequence[AuditFinding]
Questions = Sequence[Question]
Tools = Sequence[Mapping[str, Any]]
DecisionRow = dict[str, str]


def is_at_least(finding: AuditFinding, level: str) -> bool:
    """Whether a finding is at least as severe as a level."""
    return LEVELS.index(finding.severity) <= LEVELS.index(level)


def _rank_severity(finding: AuditFinding) -> int:
    return LEVELS.index(finding.severity)


def print_findings(findings: Findings, questions: Questions, checked: int) -> None:
    """Print findings, the most severe first, then the questions and a summary."""
    servers = {finding.server for finding in findings}
    rows: list[list[str]] = []
    for finding in sorted(findings, key=_rank_severity):
        name = finding.tool
        if len(servers) > 1:
            name = f"{finding.server}: {name}"
        rule = f"{finding.severity}: {finding.rule}"
        rows.append([name, rule, finding.message, finding.fix])
    if rows:
        print_table(["Tool", "Rule", "What is wrong", "Fix"], rows)
    for question in questions:
        print(one_line(f"? {question.tool}: {question.text}"))
    print(_summarize(findings, questions, checked))


def _summarize(findings: Findings, questions: Questions, checked: int) -> str:
    counts: Counter[str] = Counter()
    for finding in findings:
        counts[finding.severity] += 1
    levels: list[str] = []
    for level in LEVELS:
        if counts[level]:
            levels.append(format_count(counts[level], level))
    tool_count = format_count(checked, "tool")
    finding_count = format_count(len(findings), "finding")
    summary = f"{tool_count} checked, {finding_count}"
    if levels:
        summary += f" ({', '.join(levels)})"
    if questions:
        question_count = format_count(len(questions), "question")
        summary += f", {question_count}"
    return summary


def tabulate_decisions(tools: Tools) -> list[DecisionRow]:
    """The decisions of the clients: a row for each tool."""
    rows: list[DecisionRow] = []
    for tool in tools:
        row = {"tool": str(tool.get("name", ""))}
        row |= list_decisions(tool.get("annotations"))
        rows.append(row)
    return rows


def print_decisions(tools: Tools) -> None:
    """Print the decisions of clients, with the source of each rule."""
    names = [client.name for client in CLIENTS]
    rows = tabulate_decisions(tools)
    if sys.stdout.isatty():  # a column for each client fits no terminal
        _print_grouped(rows, names)
    else:
        cells = [["Tool", *names]]
        for row in rows:
            cells.append([row["tool"], *_select_decisions(row, names)])
        print_table([], cells)
    for client in CLIENTS:
        print(f"{client.name}: {client.rule} ({client.source})")


def _select_decisions(row: DecisionRow, names: Sequence[str]) -> tuple[str, ...]:
    """The decisions of some clients about a tool."""
    return tuple(row[name] for name in names)


def _print_grouped(rows: Sequence[DecisionRow], names: Sequence[str]) -> None:
    """Print the tools that all clients treat alike in one row."""
    groups: dict[tuple[str, ...], list[str]] = {}
    for row in rows:
        decisions = _select_decisions(row, names)
        groups.setdefault(decisions, []).append(row["tool"])
    cells: list[list[str]] = []
    for decisions, tools in groups.items():
        clients: dict[str, list[str]] = {}
        for name, decision in zip(names, decisions, strict=True):
            clients.setdefault(decision, []).append(name)
        row_cells = [", ".join(tools)]
        for decision in DECISIONS:
            row_cells.append(", ".join(clients.get(decision, ())))
        cells.append(row_cells)
    print_table(["Tools", *DECISIONS], cells)

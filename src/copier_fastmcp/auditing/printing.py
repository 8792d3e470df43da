"""What an audit found, for people, for code scanning and as a table of what clients will do."""

import sys
from collections.abc import Mapping, Sequence
from typing import Any

from ..errors import counted, one_line
from ..terminal.columns import table
from .clients import CLIENTS, decisions
from .judging import Judged, Question

DOES = ("run", "ask", "ask each time", "hide")
LEVELS = ("error", "warning", "note")


def worth(finding: Judged, level: str) -> bool:
    """Whether a finding is at least as severe as a level."""
    return LEVELS.index(finding.severity) <= LEVELS.index(level)


def people(findings: Sequence[Judged], questions: Sequence[Question], checked: int) -> None:
    """Print findings for people, the worst first, and then what only a person can answer."""
    several = len({one.server for one in findings}) > 1
    rows = [
        [
            f"{one.server}: {one.tool}" if several else one.tool,
            f"{one.severity}: {one.rule}",
            one.message,
            one.mend,
        ]
        for one in sorted(findings, key=lambda one: LEVELS.index(one.severity))
    ]
    if rows:
        table(["Tool", "Rule", "What is wrong", "Mend"], rows)
    for each in questions:
        print(one_line(f"? {each.tool}: {each.text}"))
    counts = [(sum(one.severity == level for one in findings), level) for level in LEVELS]
    worth = ", ".join(counted(count, level) for count, level in counts if count)
    found = f"{counted(len(findings), 'finding')}{f' ({worth})' if worth else ''}"
    asked = f", {counted(len(questions), 'question')}" if questions else ""
    print(f"{counted(checked, 'tool')} checked, {found}{asked}")


def clients(tools: Sequence[Mapping[str, Any]]) -> list[dict[str, str]]:
    """What each client does with each tool: a row for a tool."""
    return [
        {"tool": str(tool.get("name", "")), **decisions(tool.get("annotations"))} for tool in tools
    ]


def show_clients(tools: Sequence[Mapping[str, Any]]) -> None:
    """Print what clients do with tools, and where each rule can be read."""
    names = [client.name for client in CLIENTS]
    if sys.stdout.isatty():  # a column for each client fits no terminal
        alike: dict[tuple[str, ...], list[str]] = {}
        for row in clients(tools):
            does = tuple(", ".join(n for n in names if row[n] == what) for what in DOES)
            alike.setdefault(does, []).append(row["tool"])
        table(["Tools", *DOES], [[", ".join(of), *does] for does, of in alike.items()])
    else:
        rows = [[row["tool"], *(row[name] for name in names)] for row in clients(tools)]
        table([], [["Tool", *names], *rows])
    for client in CLIENTS:
        print(f"{client.name}: {client.rule} ({client.source})")

"""What an audit found, for people, for code scanning and as a table of what clients will do."""

import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from .clients import CLIENTS, decisions
from .errors import one_line
from .judging import Judged, Question
from .vocabulary import rules

LEVELS = ("error", "warning", "note")


def worth(finding: Judged, level: str) -> bool:
    """Whether a finding is at least as severe as a level."""
    return LEVELS.index(finding.severity) <= LEVELS.index(level)


def sarif(findings: Sequence[Judged], files: Mapping[str, str]) -> dict[str, Any]:
    """Findings in SARIF 2.1.0, for code scanning; `files` has the file of a tool where one is known."""
    driver = {
        "name": "copier-fastmcp audit",
        "rules": [
            {"id": rule, "shortDescription": {"text": row["text"]}} for rule, row in rules().items()
        ],
    }
    results = []
    for one in findings:
        name = f"{one.server}/{one.tool}" if one.server else one.tool
        place: dict[str, Any] = {
            "logicalLocations": [{"name": one.tool, "fullyQualifiedName": name, "kind": "function"}]
        }
        if one.tool in files:
            place["physicalLocation"] = {"artifactLocation": {"uri": files[one.tool]}}
        message = {"text": f"{one.tool}: {one.message}; {one.mend}"}
        results.append(
            {
                "ruleId": one.rule,
                "level": one.severity,
                "message": message,
                "locations": [place],
                "partialFingerprints": {"finding/v1": " ".join(map(str, one.key()))},
            }
        )
    return {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{"tool": {"driver": driver}, "results": results}],
    }


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print a table: as wide as the terminal in one, a line for each row and uncut in a pipe."""
    clean = [[one_line(cell) for cell in row] for row in rows]
    if not sys.stdout.isatty():
        for row in clean:
            print("\t".join(row))
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    drawn = Table(show_lines=True)
    for head in heads:
        drawn.add_column(head, overflow="fold")
    for row in clean:
        drawn.add_row(*map(Text, row))
    Console().print(drawn)


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
    worth = ", ".join(f"{count} {level}{'s' * (count > 1)}" for count, level in counts if count)
    asked = f", {len(questions)} questions" if questions else ""
    print(
        f"{checked} tools checked, {len(findings)} findings{f' ({worth})' if worth else ''}{asked}"
    )


def clients(tools: Sequence[Mapping[str, Any]]) -> list[dict[str, str]]:
    """What each client does with each tool: a row for a tool."""
    return [
        {"tool": str(tool.get("name", "")), **decisions(tool.get("annotations"))} for tool in tools
    ]


def show_clients(tools: Sequence[Mapping[str, Any]]) -> None:
    """Print what clients do with tools, and where each rule can be read."""
    names = [client.name for client in CLIENTS]
    rows = clients(tools)
    table(["Tool", *names], [[row["tool"], *(row[name] for name in names)] for row in rows])
    for client in CLIENTS:
        print(f"{client.name}: {client.rule} ({client.source})")

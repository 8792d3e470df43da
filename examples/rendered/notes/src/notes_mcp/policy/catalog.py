"""The tool table, written from the running server: in the terminal, as JSON, as docs/tools.md.

Managed by the template.
"""

from collections.abc import Sequence
from typing import Any

from fastmcp import FastMCP

from .registry import declared, run_now

HINTS = ("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")
Row = dict[str, Any]


def rows(mcp: FastMCP) -> list[Row]:
    """One row a tool: name, title, behavior, the hints on the wire, gate, scopes and notes."""
    found = []
    for tool in run_now(mcp.list_tools(run_middleware=False)):
        declaration = declared(tool)
        annotations = tool.annotations.model_dump(by_alias=True) if tool.annotations else {}
        exceptions = declaration.exceptions if declaration else ()
        found.append(
            {
                "name": tool.name,
                "title": tool.title,
                "behavior": declaration.behavior if declaration else None,
                "hints": {h: annotations[h] for h in HINTS if annotations.get(h) is not None},
                "gated": declaration.gated() if declaration else False,
                "scopes": list(declaration.scopes) if declaration else [],
                "notes": [f"{e['hint']}: {e['why']}" for e in exceptions],
            }
        )
    return sorted(found, key=lambda row: row["name"])


def _cells(row: Row) -> list[str]:
    hints = ["-" if h not in row["hints"] else "yes" if row["hints"][h] else "no" for h in HINTS]
    gate = "asks" if row["gated"] else ""
    return [row["behavior"] or "?", *hints, gate, " ".join(row["scopes"]), "; ".join(row["notes"])]


HEAD = "Tool|Title|Behavior|Read-only|Destructive|Idempotent|Open world|Gate|Scopes|Notes"


def markdown(found: Sequence[Row]) -> str:
    """The table as Markdown; what an author wrote is escaped."""
    lines = [
        "# Tools",
        "",
        "Written by `tools table --write` from the running server; a test fails when it is stale.",
        "Hints are advisory: `-` is one left to the protocol's default. A tool that `asks` waits for a person.",
        "",
        f"| {HEAD.replace('|', ' | ')} |",
        "|" + " --- |" * len(HEAD.split("|")),
    ]
    for row in found:
        cells = [f"`{row['name']}`", *map(_escaped, [row["title"] or "", *_cells(row)])]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def _escaped(text: str) -> str:
    return "".join("\\" + c if c in "\\`*_[]<|&" else c for c in text.replace("\n", " "))


def show(found: Sequence[Row]) -> None:
    """Print the table in the terminal."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0))  # as wide as a terminal of 80 columns
    for head in ["Tool", *HEAD.split("|")[2:8]]:
        table.add_column(head, no_wrap=head == "Tool")
    for row in found:
        table.add_row(*map(Text, [row["name"], *_cells(row)[:6]]))
    Console().print(table)

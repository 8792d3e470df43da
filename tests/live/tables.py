"""Print the tables of docs/api.md from a run of the live tests: tables.py REPORT.xml."""

import ast
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

VERDICTS = ("right", "lost", "refused", "no tool", "sent wrongly")
PEERS = ("from_openapi", "mcp-openapi-proxy", "openapi-mcp-generator")
NOT_MEASURED = "not run"


def load_rows(report: Path) -> list[dict[str, Any]]:
    """Return what the live tests recorded, a row for each service and server.

    Args:
        report: The report of pytest in JUnit's format.
    """
    rows = []
    for record in ElementTree.parse(report).iter("property"):
        if record.get("name") == "live":
            rows.append(ast.literal_eval(str(record.get("value"))))
    return rows


def count_calls(row: dict[str, Any]) -> int:
    """Return how many calls were made."""
    return sum(row.get(verdict, 0) for verdict in VERDICTS)


def format_row(cells: Iterable[object]) -> str:
    """Return a row of a table."""
    return f"| {' | '.join(map(str, cells))} |"


def format_own(rows: Iterable[dict[str, Any]]) -> list[str]:
    """Return the table of our servers."""
    heads = ("service", "calls", "right", "lost or changed", "refused by the server")
    lines = [format_row((*heads, "no tool for the call", "sent wrongly"))]
    lines.append(format_row(["---"] * 7))
    for row in rows:
        counts = [row.get(verdict, 0) for verdict in VERDICTS]
        lines.append(format_row([row["service"], count_calls(row), *counts]))
    return lines


def format_peers(
    own_rows: Iterable[dict[str, Any]], siblings: Iterable[dict[str, Any]]
) -> list[str]:
    """Return the table of right calls of all servers."""
    right = {(row["service"], row["peer"]): row.get("right", 0) for row in siblings}
    lines = [format_row(("service", "copier-fastmcp", *PEERS))]
    lines.append(format_row(["---"] * 5))
    for row in own_rows:
        cells = [row["service"], f"{row.get('right', 0)} of {count_calls(row)}"]
        for peer in PEERS:
            cells.append(right.get((row["service"], peer), NOT_MEASURED))
        lines.append(format_row(cells))
    return lines


def main() -> None:
    """Print both tables."""
    rows = load_rows(Path(sys.argv[1]))
    own_rows = [row for row in rows if "peer" not in row]
    siblings = [row for row in rows if "peer" in row]
    print("\n".join([*format_own(own_rows), "", *format_peers(own_rows, siblings)]))


if __name__ == "__main__":
    main()

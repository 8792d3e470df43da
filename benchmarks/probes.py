"""What a project's own suite says of tools that lie about themselves, and of correct ones of unusual shape.

Five servers with hand-written bodies (tests/mutants); each row is one tool. usage: python -m benchmarks.probes
"""

import re
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from mutants.servers import SERVERS, load_rows, run_suite, write_project

from benchmarks import figures


def run_benchmark(turns: int) -> Iterator[figures.Answer]:
    """A table of the servers; it is the same whatever the machine."""
    table = [["server", "lying tools found", "correct tools called wrong"]]
    total: Counter[str] = Counter()
    for server in SERVERS:
        counts = count_findings(server)
        total += counts
        table.append(format_row(server, counts))
    yield figures.Table([*table, format_row("all", total)])


def count_findings(server: str) -> Counter[str]:
    """How many of a server's lying tools are found, and how many correct ones are called wrong."""
    rows = load_rows(server)
    with tempfile.TemporaryDirectory() as folder:
        project = write_project(server, rows, Path(folder))
        findings_by_tool = run_suite(project)
    counts: Counter[str] = Counter()
    for row in rows:
        findings = findings_by_tool.get(row.name, [])
        if row.finds:
            pattern = re.compile(row.finds, re.DOTALL)
            counts["lying"] += 1
            counts["found"] += any(map(pattern.search, findings))
        else:
            counts["correct"] += 1
            counts["accused"] += row.name in findings_by_tool
    return counts


def format_row(name: str, counts: Counter[str]) -> list[str]:
    """A row of the table."""
    found = f"{counts['found']} of {counts['lying']}"
    accused = f"{counts['accused']} of {counts['correct']}"
    return [name, found, accused]


if __name__ == "__main__":
    figures.run(run_benchmark, turns=1)

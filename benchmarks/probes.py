"""What a project's own suite says of tools that lie about themselves, and of correct ones of unusual shape.

Five servers with hand-written bodies (tests/mutants); each row is one tool. usage: python -m benchmarks.probes
"""

import re
import tempfile
from collections.abc import Iterator
from pathlib import Path

from mutants.servers import SERVERS, load_rows, run_suite, write_project

from benchmarks import figures


def run_benchmark(turns: int) -> Iterator[figures.Answer]:
    """A table of the servers; it is the same whatever the machine."""
    table = [["server", "lying tools found", "correct tools called wrong"]]
    sums = [0, 0, 0, 0]
    for server in SERVERS:
        with tempfile.TemporaryDirectory() as folder:
            all_rows = load_rows(server)
            findings_by_tool = run_suite(write_project(server, all_rows, Path(folder)))
        noticed = lying = accused = correct = 0
        for row in all_rows:
            findings = findings_by_tool.get(row.name, [])
            if row.finds:
                lying += 1
                pattern = re.compile(row.finds, re.DOTALL)
                noticed += any(map(pattern.search, findings))
            else:
                correct += 1
                accused += row.name in findings_by_tool
        counts = [noticed, lying, accused, correct]
        sums = [total + added for total, added in zip(sums, counts, strict=True)]
        table.append(line(server, counts))
    yield figures.Table([*table, line("all", sums)])


def line(name: str, counts: list[int]) -> list[str]:
    """A row of the table."""
    return [name, f"{counts[0]} of {counts[1]}", f"{counts[2]} of {counts[3]}"]


if __name__ == "__main__":
    figures.run(run_benchmark, turns=1)

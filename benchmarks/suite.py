"""The CPU time of a generated project's own suite, against a Python that only imports FastMCP.

The tools go through all behaviors in turn, gated ones among them; children are counted, bytecode is compiled before.
usage: python -m benchmarks.suite [TURNS]
"""

import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from support import clone_template, pin, render

from benchmarks import figures

COUNTS = (10, 100)
KINDS = [
    "search",
    "get",
    "create",
    "ensure",
    "append",
    "update",
    "archive",
    "delete",
    "send",
]
SUITE = ["-m", "pytest", "-p", "anyio", "-p", "no:cacheprovider"]
PROOFS = ["tests/policy/test_annotations.py", "tests/policy/test_behavior.py"]


def cpu() -> float:
    """Seconds of CPU that finished children have taken."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def time_python(folder: Path, *words: str) -> float:
    """The CPU time of a Python that succeeds, with no more of pytest's plugins than the project has."""
    before = cpu()
    settings = {
        "PYTHONPATH": str(folder / "src"),
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
    }
    done = subprocess.run(
        [sys.executable, *words],
        cwd=folder,
        env=os.environ | settings,
        capture_output=True,
        text=True,
    )
    if done.returncode:
        sys.exit(done.stdout[-2000:] + done.stderr[-2000:])
    return cpu() - before


def run_benchmark(turns: int) -> Iterator[figures.Answer]:
    """Figures for each number of tools, and what one more tool costs."""
    with tempfile.TemporaryDirectory() as work:
        template = clone_template(Path(work, "template"))
        series: dict[str, list[float]] = {
            "the whole suite": [],
            "annotations and probes": [],
        }
        for count in COUNTS:
            tools: list[str] = []
            for number in range(count):
                thing, kind = divmod(number, len(KINDS))
                tools.append(f"{KINDS[kind]}_thing{thing:03}")
            project = render(template, Path(work, f"{count}"), {"tools": tools})
            pin(project)
            *own_seconds, floor = figures.measure_in_turns(
                turns,
                partial(time_python, project, *SUITE),
                partial(time_python, project, *SUITE, *PROOFS),
                partial(
                    time_python, project, "-c", "from fastmcp import Client, FastMCP"
                ),
            )
            for name, taken in zip(series, own_seconds, strict=True):
                series[name].append(taken)
                yield figures.Figure(
                    what=f"{name}, {count} tools",
                    unit="s",
                    ours=taken,
                    floor=floor,
                    beside="importing FastMCP",
                    at_most=15 if count == 100 and name == "the whole suite" else None,
                )
        rows = [["", "each tool more"]]
        for name, (first, many) in series.items():
            tool_seconds = (many - first) / (COUNTS[1] - COUNTS[0])
            rows.append([name, f"{tool_seconds * 1000:.1f} ms"])
        yield figures.Table(rows)


if __name__ == "__main__":
    figures.run(run_benchmark, turns=3)

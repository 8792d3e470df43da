"""How often the audit is right about hints, on tools of servers that no rule was made on, labelled by reading.

tests/audit says how they were labelled and names each that was missed. usage: python -m benchmarks.audit
"""

import statistics
from collections.abc import Iterator

from audit.figures import measure, measure_cpu

from benchmarks import figures
from copier_fastmcp_engine.testing.lock import HINTS


def format_share(hits: int, total: int) -> str:
    """How many of how many, and the percentage."""
    return f"{hits} of {total} ({hits / total:.1%})" if total else "none"


def measure_median(count: int, turns: int) -> float:
    """The median of the CPU seconds for a number of tools."""
    times: list[float] = []
    for _ in range(turns):
        times.append(measure_cpu(count))
    return statistics.median(times)


def run_benchmark(turns: int) -> Iterator[figures.Answer]:
    """A table of hints, and the CPU that many tools take."""
    result = measure("blind")
    rows = [["hint", "faults found", "findings right"]]
    for hint in (*HINTS, None):
        recall = format_share(*result.share("recall", hint))
        precision = format_share(*result.share("precision", hint))
        rows.append([hint or "all", recall, precision])
    yield figures.Table(rows)
    floor = measure_median(100, turns)
    yield figures.Figure(
        what="CPU for 1,000 tools",
        unit="s",
        ours=measure_median(1000, turns),
        floor=floor,
        beside="100 tools",
        at_most=2,
    )


if __name__ == "__main__":
    figures.run(run_benchmark, turns=3)

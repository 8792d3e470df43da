"""How often the audit is right about hints, on tools of servers that no rule was made on, labelled by reading.

tests/audit says how they were labelled and names each that was missed. usage: python -m benchmarks.audit
"""

import statistics
from collections.abc import Iterator

from audit.figures import measure, measure_cpu

from benchmarks import figures
from copier_fastmcp_engine.testing.lock import HINTS


def share(hits: int, total: int) -> str:
    """How many of how many, and the percentage."""
    return f"{hits} of {total} ({hits / total:.1%})" if total else "none"


def run_benchmark(turns: int) -> Iterator[figures.Answer]:
    """A table of hints, and the CPU that many tools take."""
    result = measure("blind")
    rows = [["hint", "faults found", "findings right"]]
    for hint in (*HINTS, None):
        kinds = (result.share(kind, hint) for kind in ("recall", "precision"))
        rows.append([hint or "all", *(share(*pair) for pair in kinds)])
    yield figures.Table(rows)
    hundred = statistics.median([measure_cpu(100) for _ in range(turns)])
    many = statistics.median([measure_cpu(1000) for _ in range(turns)])
    yield figures.Figure(
        what="CPU for 1,000 tools",
        unit="s",
        ours=many,
        floor=hundred,
        beside="100 tools",
        at_most=2,
    )


if __name__ == "__main__":
    figures.run(run_benchmark, turns=3)

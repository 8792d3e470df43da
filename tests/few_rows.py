"""A pytest plugin for `scripts/mutate`: on a mutant, run some rows of each slow test, the quick tests first.

A test of thirty values in two eras, under two policies, runs the same code a hundred times; a mutant that no row notices
would wait for all of them. Each value of each parameter is in one row that runs. The rows of a quick test all run: they call
one function with different arguments.
"""

import gc
import json
import os
from collections import Counter
from pathlib import Path

import pytest

QUICK_SECONDS = 0.005  # less than one call through a server takes
# Where mutmut keeps the seconds of each test: next to its settings
STATISTICS = Path("mutmut-stats.json")


def is_mutant_run() -> bool:
    """Tell whether mutmut runs the tests on one mutant, not to learn which tests there are."""
    return "__mutmut_" in os.environ.get("MUTANT_UNDER_TEST", "")


def load_durations() -> dict[str, float]:
    """Return the seconds that each test took without a mutation, by its node id."""
    if not STATISTICS.exists():
        return {}
    statistics = json.loads(STATISTICS.read_text(encoding="utf-8"))
    return dict(statistics["duration_by_test"])


def cover_values(rows: list[pytest.Item]) -> list[pytest.Item]:
    """Return rows with each value of each parameter, which combine the values as evenly as they can."""
    values: dict[pytest.Item, set[tuple[str, str]]] = {}
    for row in rows:
        parameters = row.callspec.params  # type: ignore[attr-defined]
        values[row] = {(name, repr(value)) for name, value in parameters.items()}
    uses: Counter[tuple[str, str]] = Counter()
    selected: list[pytest.Item] = []
    while True:
        candidates = []
        for row in rows:
            if any(uses[value] == 0 for value in values[row]):
                candidates.append(row)
        if not candidates:
            return selected
        best = min(
            candidates, key=lambda row: sum(uses[value] for value in values[row])
        )
        selected.append(best)
        uses.update(values[best])


def select_rows(
    items: list[pytest.Item], durations: dict[str, float]
) -> list[pytest.Item]:
    """Return each row of a quick test, and as many of a slow one as it has values."""
    rows: dict[str, list[pytest.Item]] = {}
    for item in items:
        rows.setdefault(item.nodeid.partition("[")[0], []).append(item)
    selected = []
    for row in rows.values():
        slowest = max(durations.get(item.nodeid, 1) for item in row)
        if len(row) < 3 or slowest < QUICK_SECONDS:
            selected += row
        else:
            selected += cover_values(row)
    return sorted(selected, key=lambda item: durations.get(item.nodeid, 1))


def pytest_configure() -> None:
    """Leave what the forked process inherits out of garbage collection: pytest collects five times when it ends."""
    if is_mutant_run():
        gc.freeze()


def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> None:
    """Leave out the rows that are not needed on a mutant."""
    if not is_mutant_run():
        return
    selected = select_rows(items, load_durations())
    left_out = [item for item in items if item not in selected]
    config.hook.pytest_deselected(items=left_out)
    items[:] = selected

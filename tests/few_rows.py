"""For `scripts/mutate`: on a mutant, some rows of each slow test run first.

A test of thirty values in two eras, under two policies, runs the same code a hundred times. Each value of each parameter is
in one row that runs at first; the others run where none of these notices the mutant. The rows of a quick test all run: they
call one function with different arguments.
"""

import inspect
from collections import Counter

import pytest


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


def select_rows(items: list[pytest.Item]) -> list[pytest.Item]:
    """Return each row of a quick test, and of one that runs a server as many as it has values."""
    rows: dict[str, list[pytest.Item]] = {}
    for item in items:
        rows.setdefault(item.nodeid.partition("[")[0], []).append(item)
    selected = []
    for row in rows.values():
        function = row[0].function  # type: ignore[attr-defined]
        is_quick = not inspect.iscoroutinefunction(function)
        selected += row if len(row) < 3 or is_quick else cover_values(row)
    return selected

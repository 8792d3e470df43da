"""A pytest plugin for `scripts/mutate`: on a mutant, run two rows of each test, which notice what all of them would.

A test with thirty rows runs the same code thirty times; a mutant that no row notices would wait for all of them.
"""

import os

import pytest


def is_mutant_run() -> bool:
    """Tell whether mutmut runs the tests on one mutant, not to learn which tests there are."""
    return "__mutmut_" in os.environ.get("MUTANT_UNDER_TEST", "")


def select_rows(items: list[pytest.Item]) -> list[pytest.Item]:
    """Return the first and the last row of each test function: with two eras, one of each."""
    rows: dict[str, list[pytest.Item]] = {}
    for item in items:
        rows.setdefault(item.nodeid.partition("[")[0], []).append(item)
    selected = []
    for row in rows.values():
        selected += row if len(row) < 3 else [row[0], row[-1]]
    return selected


def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> None:
    """Leave out the rows that are not needed on a mutant."""
    if not is_mutant_run():
        return
    selected = select_rows(items)
    left_out = [item for item in items if item not in selected]
    config.hook.pytest_deselected(items=left_out)
    items[:] = selected

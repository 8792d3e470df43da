"""Lying tools on five servers with hand-written bodies, and correct ones of unusual shape: what each suite says.

A tenth of them is run. `MUTANTS=all uv run pytest -s tests/mutants` runs all, and prints the table.
"""

import os
import re
from pathlib import Path

import pytest

from .servers import SERVERS, Row, findings, rows, write

ALL = os.environ.get("MUTANTS") == "all"


def chosen(server: str) -> list[Row]:
    """The rows of a server that are run here."""
    return rows(server) if ALL else rows(server)[SERVERS.index(server) :: 10]


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, list[str]]]:
    """What the suite of each server finds, by tool."""
    folders = {server: tmp_path_factory.mktemp(server) for server in SERVERS}
    return {
        s: findings(write(s, chosen(s), Path(folder))) for s, folder in folders.items()
    }


@pytest.mark.parametrize("server", SERVERS)
def test_each_mutant_is_found_by_the_words_meant(
    server: str, said: dict[str, dict[str, list[str]]]
) -> None:
    wrong = [row for row in chosen(server) if row.finds]
    missed = []
    for row in wrong:
        words = said[server].get(row.name, [])
        good = any(re.search(row.finds, text, re.DOTALL) for text in words)
        missed += [] if good else [f"{row.name}: wants {row.finds!r}, said {words[:1]}"]
        print(f"{server:10} {row.name:26} {'found' if good else 'MISSED'}  {row.finds}")
    assert not missed, "\n".join(missed)


@pytest.mark.parametrize("server", SERVERS)
def test_no_correct_tool_is_called_wrong(
    server: str, said: dict[str, dict[str, list[str]]]
) -> None:
    right = {row.name for row in chosen(server) if not row.finds}
    assert {
        name: texts for name, texts in said[server].items() if name in {*right, ""}
    } == {}


def test_there_are_enough_of_both() -> None:
    every = [row for server in SERVERS for row in rows(server)]
    assert len([row for row in every if row.finds]) >= 250
    assert len([row for row in every if not row.finds]) >= 80

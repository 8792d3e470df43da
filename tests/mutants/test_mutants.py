"""Lying tools on several servers with hand-written bodies, and correct ones of unusual shape: what each suite says.

Each file of this folder is a server: its tools that lie under `mutants`, its correct ones under `correct` or in
correct.yml. A twentieth of two servers is run; the nightly run takes a twentieth of the others.
`MUTANTS=all uv run pytest -s -m '' tests/mutants` runs all, and prints the table.
"""

import os
import re

import pytest
from support import nightly_but

from .servers import SERVERS, Row, findings, rows, write

ALL = os.environ.get("MUTANTS") == "all"


def chosen(server: str) -> list[Row]:
    """The rows of a server that are run here."""
    return rows(server) if ALL else rows(server)[SERVERS.index(server) :: 20]


class Findings(dict[str, dict[str, list[str]]]):
    """The findings of each server."""

    def __init__(self, factory: pytest.TempPathFactory) -> None:
        """Take what makes folders."""
        super().__init__()
        self.factory = factory

    def __missing__(self, server: str) -> dict[str, list[str]]:
        """Run the suite of a server."""
        project = write(server, chosen(server), self.factory.mktemp(server))
        self[server] = findings(project)
        return self[server]


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, list[str]]]:
    """What the suite of a server finds, by tool, run when it is first asked for."""
    return Findings(tmp_path_factory)


EVERY_RUN = ("api", "dict")


@pytest.mark.parametrize("server", nightly_but(EVERY_RUN, SERVERS))
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


@pytest.mark.parametrize("server", nightly_but(EVERY_RUN, SERVERS))
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

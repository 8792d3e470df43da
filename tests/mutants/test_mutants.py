"""Lying tools on several servers with hand-written bodies, and correct ones of unusual shape: what each suite says.

Each file of this folder is a server: its tools that lie under `mutants`, its correct ones under `correct` or in
correct.yml. A twentieth of two servers is run; the nightly run takes a twentieth of the others.
`MUTANTS=all uv run pytest -s -m '' tests/mutants` runs all, and prints the table. The servers in
folders (`published`, `published_third`, `edges`) run at night, with all their rows.
"""

import os
import re
from pathlib import Path

import pytest
from support import nightly_but

from .servers import PUBLISHED, SERVERS, Row, load_rows, run_suite, write_project

ALL = os.environ.get("MUTANTS") == "all"


def choose_rows(server: str) -> list[Row]:
    """Choose the rows of a server for this run."""
    if ALL or server in PUBLISHED:
        return load_rows(server)
    return load_rows(server)[SERVERS.index(server) :: 20]


class Findings(dict[str, dict[str, list[str]]]):
    """The findings of each server, computed on first access."""

    def __init__(self, factory: pytest.TempPathFactory, template: Path) -> None:
        """Store the factory for folders, and the template."""
        super().__init__()
        self.factory = factory
        self.template = template

    def __missing__(self, server: str) -> dict[str, list[str]]:
        """Run the suite of a server."""
        folder = self.factory.mktemp(server.replace("/", "-"))
        project = write_project(server, choose_rows(server), folder, self.template)
        self[server] = run_suite(project)
        return self[server]


@pytest.fixture(scope="module")
def suite_findings(
    tmp_path_factory: pytest.TempPathFactory, template: Path
) -> dict[str, dict[str, list[str]]]:
    """The findings of each server's suite by tool, run on first access."""
    return Findings(tmp_path_factory, template)


EVERY_RUN = ("api", "dict")


@pytest.mark.parametrize("server", nightly_but(EVERY_RUN, SERVERS + PUBLISHED))
def test_each_mutant_is_found_by_the_words_meant(
    server: str, suite_findings: dict[str, dict[str, list[str]]]
) -> None:
    mutants = []
    for row in choose_rows(server):
        if row.finds:
            mutants.append(row)
    missed = []
    for row in mutants:
        words = suite_findings[server].get(row.name, [])
        is_found = any(re.search(row.finds, text, re.DOTALL) for text in words)
        if not is_found:
            missed.append(f"{row.name}: wants {row.finds!r}, said {words[:1]}")
        verdict = "found" if is_found else "MISSED"
        print(f"{server:10} {row.name:26} {verdict}  {row.finds}")
    assert not missed, "\n".join(missed)


@pytest.mark.parametrize("server", nightly_but(EVERY_RUN, SERVERS + PUBLISHED))
def test_no_correct_tool_is_called_wrong(
    server: str, suite_findings: dict[str, dict[str, list[str]]]
) -> None:
    correct = set()
    for row in choose_rows(server):
        if not row.finds:
            correct.add(row.name)
    false_findings = {}
    for name, texts in suite_findings[server].items():
        if name in {*correct, ""}:
            false_findings[name] = texts
    assert false_findings == {}


def test_there_are_enough_of_both() -> None:
    mutants, correct = 0, 0
    for server in SERVERS:
        for row in load_rows(server):
            if row.finds:
                mutants += 1
            else:
                correct += 1
    assert mutants >= 250
    assert correct >= 80

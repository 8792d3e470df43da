"""`fleet --plan` over fifty servers of eight kinds: each change of a fork in its one line, at a bounded cost (eight servers where
FLEET says no number).
"""

import os
import resource
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from calling import environment
from command.test_fleet_plan import FORK, assert_one_line
from lifecycle import bytes_of, commit, released, start
from support import clone_template, git, pin

pytestmark = pytest.mark.nightly

SIZE = int(os.environ.get("FLEET", "8"))
MOST_SECONDS = 3.0  # of CPU for a server, above Copier's own
CALM = 1.0  # the load up to which wall time says something
NOTES = ["get_note", "search_notes", "create_note", "delete_note"]
ORDERS = [
    {"name": "get_note", "http": "GET /orders/{order_id}", "record": "order"},
    {"name": "delete_note", "http": "DELETE /orders/{order_id}", "record": "order"},
]
KINDS: dict[str, dict[str, Any]] = {
    "sqlite": {},
    "package": {"engine": "package"},
    "http": {"backend": "http", "tools": ORDERS, "domain": "orders"},
    "no backend": {"backend": "none"},
    "consent": {"consent": "url"},
    "end-state": {"profile": "end-state"},
    "packages": {"packages": ["container", "bundle", "registry"]},
    "without a lock": {},
}


def cpu_seconds() -> float:
    """The CPU time of all programs that ended so far."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def servers(template: Path, folder: Path) -> list[Path]:
    """Make the servers: each kind is rendered and pinned once, and copied."""
    firsts = []
    for kind, answers in KINDS.items():
        project = start(template, folder / kind, **{"tools": NOTES, **answers})
        if kind != "without a lock":
            pin(project)
        commit(project, "pinned")
        firsts.append(project)
    projects = firsts[:SIZE]
    for number in range(SIZE - len(projects)):
        first = firsts[number % len(firsts)]
        projects.append(shutil.copytree(first, folder / f"{first.name} {number}"))
    return projects


def copiers_own_seconds(projects: list[Path], folder: Path) -> float:
    """The CPU time of plain Copier for one server of each kind, as a mean."""
    before = cpu_seconds()
    firsts = projects[: len(KINDS)]
    for project in firsts:
        copied = shutil.copytree(project, folder / project.name)
        words = ["-m", "copier", "update", "--defaults", "--trust", "--quiet"]
        subprocess.run(
            [sys.executable, *words, "--vcs-ref", "v2.0.0"],
            cwd=copied,
            env=os.environ | {"COPIER_FASTMCP_CHECKED": "1"},
            check=True,
        )
    return (cpu_seconds() - before) / len(firsts)


def test_a_plan_of_servers_of_eight_kinds(tmp_path: Path) -> None:
    (tmp_path / "template").mkdir()
    template = clone_template(tmp_path / "template", tag="v1.0.0")
    released(template, template, "v2.0.0", *[edit for edit, _ in FORK.values()])
    (tmp_path / "servers").mkdir()
    projects = servers(template, tmp_path / "servers")
    before = [(bytes_of(project), git(project, "for-each-ref")) for project in projects]
    (tmp_path / "plain").mkdir()
    own = copiers_own_seconds(projects, tmp_path / "plain")
    words = ["fleet", "--plan", "--trust", "--ref", "v2.0.0", *map(str, projects)]
    walls = {}
    for jobs in (1, 2):
        started, cpu = time.monotonic(), cpu_seconds()
        # Not a fork of a warm process, whose CPU time would not count here
        done = subprocess.run(
            [sys.executable, "-P", "-m", "copier_fastmcp", *words, "--jobs", str(jobs)],
            cwd=tmp_path,
            env=environment(COLUMNS="400"),
            capture_output=True,
            text=True,
            check=False,
        )
        walls[jobs] = time.monotonic() - started
        cost = (cpu_seconds() - cpu) / len(projects)
        print(
            f"{len(projects)} servers, {jobs} at a time: {walls[jobs]:.0f} s, {cost:.2f} CPU s each, "
            f"Copier's own {own:.2f}; load {os.getloadavg()[0]:.1f}"
        )
        assert done.returncode == 1, done.stderr
        assert own < cost <= own + MOST_SECONDS
    if os.getloadavg()[0] <= CALM + 2:  # the two jobs themselves
        assert walls[2] <= 0.6 * walls[1], "in parallel it takes about half"
    after = [(bytes_of(project), git(project, "for-each-ref")) for project in projects]
    assert after == before
    lines = done.stdout.splitlines()
    gates = [line for line in lines if "RELAXED: gate lost: " in line]
    assert len(gates) == 1, done.stdout
    for kind in FORK:
        if "gate lost" not in FORK[kind][1]:
            assert_one_line(kind, done.stdout, len(projects))
    assert "Blocked:" not in lines
    assert "Conflicts:" not in lines
    assert any(line.strip().endswith("without a lock") for line in lines)

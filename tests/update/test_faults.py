"""An update that is killed or fails: git gives the project back byte for byte, and the next one succeeds."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from lifecycle import MIGRATIONS, TEMPLATE, bytes_of, released, start, update
from support import clone_template, git

POLICY = TEMPLATE + "cli.py.jinja"
SEED = 20261121

KILLS = int(os.environ.get("KILLS", "1"))  # ten at night


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """v1; v2 changes policy; v3 the same, but its migration fails; v4 fixes that."""
    template = clone_template(tmp_path_factory.mktemp("faults"), tag="v1.0.0")
    released(template, template, "v2.0.0", (POLICY, "", "\n# release 2\n"))
    failing = MIGRATIONS + '  - version: v3.0.0\n    command: "exit 3"\n'
    released(template, template, "v3.0.0", ("copier.yml", MIGRATIONS, failing))
    released(template, template, "v4.0.0", ("copier.yml", failing, MIGRATIONS))
    return template


def restore_project(project: Path) -> dict[str, str]:
    """The project after what the guide says to do; a killed git leaves its lock behind."""
    (project / ".git/index.lock").unlink(missing_ok=True)
    git(project, "reset", "--hard", "--quiet")
    git(project, "clean", "-fdq")
    return bytes_of(project)


def start_update(project: Path) -> "subprocess.Popen[bytes]":
    """Start an update in a process group of its own."""
    words = [
        sys.executable,
        "-m",
        "copier",
        "update",
        "--defaults",
        "--trust",
        "--quiet",
    ]
    return subprocess.Popen(
        [*words, "--vcs-ref", "v2.0.0", "."],
        cwd=project,
        env=os.environ | {"COPIER_FASTMCP_CHECKED": "1"},  # the guard writes nothing
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


@pytest.mark.nightly
@pytest.mark.skipif(not hasattr(os, "killpg"), reason="needs process groups")
def test_killed_at_random_points(repository: Path, tmp_path: Path) -> None:
    project = start(repository, tmp_path / "p")
    before = bytes_of(project)
    started = time.monotonic()
    assert start_update(project).wait() == 0
    whole = time.monotonic() - started
    assert bytes_of(project) != before
    assert restore_project(project) == before
    chance = random.Random(SEED)
    killed, touched = 0, 0
    while killed < KILLS:
        running, started = start_update(project), time.monotonic()
        try:
            running.wait(chance.uniform(0.5, 1) * whole)
            whole = (
                time.monotonic() - started
            )  # this machine has less else to do by now
        except subprocess.TimeoutExpired:
            os.killpg(running.pid, signal.SIGKILL)
            running.wait()
            killed += 1
            touched += git(project, "status", "--porcelain") != ""
        assert restore_project(project) == before
    print(
        f"{killed} killed within {whole:.1f} s, {touched} had written by then (seed {SEED})"
    )
    update(project, "v2.0.0")
    assert bytes_of(project) != before


def test_a_failing_migration(repository: Path, tmp_path: Path) -> None:
    project = start(repository, tmp_path / "p")
    before = bytes_of(project)
    with pytest.raises(Exception, match="exit 3"):
        update(project, "v3.0.0")
    assert restore_project(project) == before
    update(project, "v4.0.0")
    assert (project / "src/notes_mcp/cli.py").read_text().endswith("# release 2\n")

"""`copier update` to a release with one changed policy file, against `copier copy` of the same project.

usage: python -m benchmarks.update [TURNS]
"""

import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from lifecycle import TEMPLATE, commit, released
from support import clone_template, git

from benchmarks import figures

CHANGED = "policy/settings.py"


def copier(*words: str | Path) -> float:
    """The seconds of one run of Copier, its start included."""
    command = [sys.executable, "-m", "copier", *map(str, words)]
    started = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True)
    return time.perf_counter() - started


def copy(template: Path, to: Path, tools: str) -> float:
    """The seconds of a new project from the first release, in place of the last one."""
    shutil.rmtree(to, ignore_errors=True)
    options = [
        "--defaults",
        "--skip-tasks",
        "--vcs-ref",
        "v1.0.0",
        "-d",
        f"tools={tools}",
    ]
    return copier("copy", *options, template, to)


def update(project: Path, start: str) -> float:
    """The seconds of an update from the commit `start` to the second release."""
    git(project, "reset", "--quiet", "--hard", start)
    seconds = copier("update", "--defaults", "--trust", "--vcs-ref", "v2.0.0", project)
    assert "the next release" in next(project.glob(f"src/*/{CHANGED}")).read_text()
    return seconds


def run_benchmark(turns: int) -> Iterator[figures.Answer]:
    """A figure for each number of tools."""
    with tempfile.TemporaryDirectory() as place:
        template = clone_template(Path(place, "template"), tag="v1.0.0")
        released(
            template,
            template,
            "v2.0.0",
            (f"{TEMPLATE}{CHANGED}.jinja", "", "\n# the next release\n"),
        )
        for count in (10, 100):
            tools = ", ".join(f"get_note_{n}" for n in range(count))
            project = Path(place, f"updated-{count}")
            copy(template, project, tools)
            git(project, "init", "--quiet")
            commit(project, "start")
            start = git(project, "rev-parse", "HEAD").strip()
            seconds = figures.measure_in_turns(
                turns,
                partial(update, project, start),
                partial(copy, template, Path(place, "copied"), tools),
            )
            yield figures.Figure(
                what=f"{count} tools",
                unit="s",
                ours=seconds[0],
                floor=seconds[1],
                beside="copy",
            )


if __name__ == "__main__":
    figures.run(run_benchmark, turns=3)

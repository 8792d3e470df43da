"""The attacks of tests/attacks, run inside a rendered server: whole, or on a copy of it that lacks a guard."""

import json
import os
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from support import ROOT, python

ATTACKS = ROOT / "tests/attacks"


def words(*files: str) -> list[str]:
    """The words for pytest that run files of tests/attacks."""
    options = ["-c", str(ATTACKS / "pytest.ini"), "-p", "no:cacheprovider"]
    return [*options, *(str(ATTACKS / file) for file in files)]


def attack(project: Path, *files: str) -> str:
    """Run files of tests/attacks inside a rendered server.

    Returns:
        The end of what pytest said, with the name of each row that failed; empty when all hold.
    """
    places = os.pathsep.join([str(project / "src"), str(ROOT / "tests")])
    done = python(project, "-m", "pytest", *words(*files), PYTHONPATH=places)
    return (done.stdout + done.stderr)[-6000:] if done.returncode else ""


class Guard(NamedTuple):
    """What is taken out of a policy module, and the row that must fail then."""

    module: str
    guard: str
    without: str
    file: str
    row: str


def needless(
    project: Path, guards: Mapping[str, Guard], imports: Iterable[str], scratch: Path
) -> dict[str, str]:
    """Run the row of each guard on a copy of a rendered server without it.

    Args:
        project: The rendered server.
        guards: What to take out, by a name.
        imports: The slow modules that all runs share.
        scratch: An empty folder for the copies.

    Returns:
        What pytest said, by the name of each guard that is not there or whose row did not fail.
    """
    wrong: dict[str, str] = {}
    runs = []
    (package,) = (path.name for path in (project / "src").iterdir())
    for number, (name, guard) in enumerate(guards.items()):
        copy = scratch / str(number)
        shutil.copytree(project / "src", copy / "src")
        path = copy / "src" / package / "policy" / f"{guard.module}.py"
        text = path.read_text(encoding="utf-8")
        if text.count(guard.guard) != 1:
            wrong[name] = f"{path.name} has it {text.count(guard.guard)} times"
            continue
        path.write_text(text.replace(guard.guard, guard.without), encoding="utf-8")
        chosen = [*words(guard.file), "-p", "anyio.pytest_plugin", "--assert=plain", "-x"]
        runs.append(
            {
                "name": name,
                "result": str(copy),
                "folder": str(project),
                "source": str(copy / "src"),
                "words": [*chosen, "-k", guard.row],
            }
        )
    plan = {"imports": [*imports], "replaced": [package], "runs": runs}
    (scratch / "plan.json").write_text(json.dumps(plan), encoding="utf-8")
    done = python(
        project,
        str(ATTACKS / "forks.py"),
        str(scratch / "plan.json"),
        PYTHONPATH=str(ROOT / "tests"),
        PYTEST_DISABLE_PLUGIN_AUTOLOAD="1",
        PYTHONWARNINGS="ignore",
    )
    assert done.returncode == 0, done.stderr[-3000:]
    for run in runs:
        folder = Path(str(run["result"]))
        said = (folder / "out").read_text(encoding="utf-8")
        if (folder / "exit").read_text(encoding="utf-8") != "1" or "FAILED" not in said:
            wrong[str(run["name"])] = said[-2000:]
    return wrong

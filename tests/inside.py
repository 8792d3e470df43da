"""Runs the tests of tests/attacks inside a rendered server, in a process of its own."""

import functools
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml
from faults import changed
from support import ROOT, python

ATTACKS = ROOT / "tests/attacks"
OPTIONS = ["-c", str(ATTACKS / "pytest.ini"), "--rootdir", str(ATTACKS)]
Run = tuple[Path, list[str]]  # a project, and the words for the pytest that runs in it


@dataclass(frozen=True)
class Guard:
    """What protects an action: `row` fails when the `edits` (`module function: change`, see faults.py) take it out.

    A module is one of the engine, as `engine/confirmation/gate`.
    """

    name: str
    row: str
    edits: tuple[str, ...]
    profile: str = ""


ENGINE = ROOT / "engine/src"
ENGINE_NAME = "copier_fastmcp_engine"


@functools.cache
def on_the_package(project: Path) -> Path:
    """A copy of a project that imports the engine of this checkout instead of its own: attacks name its modules.

    Only `policy/__init__.py` names the engine, so that this is all that `engine: package` changes in a project's code.
    """
    copy = Path(tempfile.mkdtemp(prefix="attacked-")) / project.name
    shutil.copytree(project, copy, ignore=shutil.ignore_patterns(".*cache", "engine"))
    (package,) = (
        path for path in (copy / "src").iterdir() if (path / "policy").is_dir()
    )
    facade = package / "policy/__init__.py"
    text = facade.read_text(encoding="utf-8")
    facade.write_text(
        text.replace("from ..engine.", "from copier_fastmcp_engine."), encoding="utf-8"
    )
    return copy


def environment(project: Path) -> dict[str, str]:
    """The variables with which a process imports the project's package and `attacks`, and few plugins."""
    return {
        "PYTHONPATH": os.pathsep.join(
            map(str, (project / "src", ENGINE, ROOT / "tests", ROOT))
        ),
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
    }


def rows_of(*rows: str) -> list[str]:
    """The words for pytest that run rows of tests/attacks."""
    return [*OPTIONS, *(str(ATTACKS / row) for row in rows)]


def attack(project: Path, *rows: str, **environ: str) -> None:
    """Attack a rendered server; the test fails with pytest's output, which names each row that fails.

    Args:
        project: The rendered project; its package has the name that the attacks import.
        rows: Folders or files below tests/attacks, or `file::row`.
        environ: More environment variables, settings of the server among them.
    """
    project = on_the_package(project)
    variables = environment(project) | environ
    done = python(project, "-m", "pytest", *rows_of(*rows), **variables)
    if done.returncode:
        pytest.fail(done.stdout + done.stderr, pytrace=False)


def guards(path: Path) -> list[Guard]:
    """The guards that a YAML file lists, each with a name of its own."""
    listed = yaml.safe_load(path.read_text(encoding="utf-8"))
    known = [
        Guard(each["guard"], each["row"], tuple(each["edits"]), each.get("profile", ""))
        for each in listed
    ]
    assert len({guard.name for guard in known}) == len(known)
    return known


def without(guard: Guard, project: Path, to: Path) -> Path:
    """A copy of a project in which a guard is taken out.

    Args:
        guard: What to take out.
        project: The project; where it has no engine of its own, the copy gets one, and imports that.
        to: Where the copy is made.
    """
    copy = Path(shutil.copytree(project, to, ignore=shutil.ignore_patterns(".*cache")))
    (package,) = (copy / "src").iterdir()
    engine = package / "engine"
    if not engine.is_dir():
        # PYTHONPATH has the project's src before the engine of this checkout
        engine = Path(shutil.copytree(ENGINE / ENGINE_NAME, copy / "src" / ENGINE_NAME))
    for edit in guard.edits:
        path, text = edited(edit, engine)
        path.write_text(text, encoding="utf-8")
    return copy


def edited(edit: str, engine: Path) -> tuple[Path, str]:
    """A module of an engine, and its text after an edit; LookupError: the edit does not fit."""
    at, _, change = edit.partition(": ")
    module, function = at.split()
    path = engine / f"{module.removeprefix('engine/')}.py"
    return path, changed(path.read_text(encoding="utf-8"), function, change)


def several(runs: Iterable[Run], folder: Path, **environ: str) -> list[str]:
    """Run pytest in many copies of one project, as many at once as there are processors.

    Args:
        runs: Projects, and what pytest is to run in each.
        folder: An empty folder to work in.
        environ: More environment variables.

    Returns:
        The output of each, its last line `exit` and pytest's exit code.
    """

    def one(run: Run) -> str:
        project, words = run
        own = {
            "PYTEST_DEBUG_TEMPROOT": tempfile.mkdtemp(dir=folder)
        }  # no other makes folders there
        said = ["-m", "pytest", *words, "-p", "anyio", "--assert=plain", "--tb=line"]
        done = python(project, *said, **environment(project) | environ | own)
        return f"{done.stdout}{done.stderr}\nexit {done.returncode}\n"

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(one, runs))


def insist_on(
    known: Sequence[Guard],
    projects: Mapping[str, Path],
    folder: Path,
    words: Callable[..., list[str]] = rows_of,
    *,
    whole: bool = True,
    vendored: bool = False,
    **environ: str,
) -> None:
    """Fail for a guard that can go without a failure of its row, and for a row that fails with all guards there.

    Args:
        known: The guards; a row is `folder/file::row` below tests/attacks.
        projects: The project of each profile that a guard names.
        folder: An empty folder to work in.
        words: The words for pytest that run rows, if these are not below tests/attacks.
        whole: Whether to run the rows with all guards there too; False where another test does.
        vendored: Whether the rows use the engine that the project contains, as its own tests do.
        environ: More environment variables.
    """
    if not vendored:
        projects = {name: on_the_package(project) for name, project in projects.items()}
    runs: list[Run] = [
        (without(guard, projects[guard.profile], folder / f"copy{n}"), words(guard.row))
        for n, guard in enumerate(known)
    ]
    profiles = sorted({guard.profile for guard in known}) if whole else []
    for profile in profiles:
        rows = sorted({guard.row for guard in known if guard.profile == profile})
        runs.append((projects[profile], words(*rows)))
    soon = {"ATTACK_SECONDS": "10"}  # to hang is to fail here
    outputs = several(runs[: len(known)], folder, **soon, **environ)
    outputs += several(runs[len(known) :], folder, **environ)
    wrong = [
        f"{guard.name}: without it {guard.row} holds\n{text}"
        for guard, text in zip(known, outputs, strict=False)
        if not (
            "exit 1\n" in text
            and re.search(f"^FAILED .*{re.escape(guard.row)}", text, re.MULTILINE)
        )
    ]
    wrong += [
        f"{profile}: a row fails\n{text}"
        for profile, text in zip(profiles, outputs[len(known) :], strict=True)
        if "exit 0\n" not in text
    ]
    if wrong:
        pytest.fail("\n".join(wrong), pytrace=False)

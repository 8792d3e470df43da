"""Every Python file, with or without a suffix, is given to ruff and to mypy --strict: here and in what is rendered."""

import json
import re
import subprocess
import sys
from fnmatch import fnmatch
from pathlib import Path

import pytest
from support import EXAMPLES, ROOT, Renders, answers, git, nightly_but, rendered

SHEBANG = re.compile(r"#!.*(python|uv run.* --script)")
# What mypy would check with the settings at hand, without checking it.
SOURCES = """
import sys
from mypy.main import process_options
sources, options = process_options(sys.argv[1:])
assert options.disallow_untyped_defs and options.disallow_any_generics and options.warn_return_any, "not strict"
print(*(source.path for source in sources), sep="\\n")
"""


def is_python(folder: Path, name: str) -> bool:
    """Whether a file is Python, by its suffix or its first line."""
    path = folder / name
    made = Path(name.removesuffix(".jinja"))
    if made.suffix or not path.is_file():
        return Path(name).suffix in (".py", ".pyi")
    return bool(SHEBANG.match(path.read_text(encoding="utf-8").partition("\n")[0]))


def given_to_ruff(folder: Path) -> set[str]:
    """The files that `ruff check .` reads."""
    command = [sys.executable, "-m", "ruff", "check", "--show-files", "."]
    shown = subprocess.run(
        command, cwd=folder, check=True, capture_output=True, text=True
    ).stdout
    return {Path(line).relative_to(folder).as_posix() for line in shown.splitlines()}


def given_to_mypy(folder: Path, *words: str) -> set[str]:
    """The files that mypy reads with a folder's settings, which are strict."""
    command = [sys.executable, "-c", SOURCES, *words]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return {Path(line).as_posix() for line in done.stdout.splitlines()}


def test_every_python_file_of_the_repository_is_checked() -> None:
    tracked = git(ROOT, "ls-files", "-z").split("\0")
    # Below as projects; the reading list's files in tests/project/test_reading_list.py
    rest = ("template/", "examples/rendered/", "examples/reading/")
    ours = {
        name for name in tracked if not name.startswith(rest) and is_python(ROOT, name)
    }
    assert {"scripts/cell", "benchmarks/figures.py", "tests/support.py"} <= ours
    assert sorted(ours - given_to_ruff(ROOT)) == []
    adopted = {
        name for name in ours if name.startswith("adopted/")
    }  # typed in tests/adopting
    drivers = {
        name for name in ours if name.startswith("tests/clients/drivers/")
    }  # each runs in the environment of its client
    assert sorted(ours - adopted - drivers - given_to_mypy(ROOT)) == []


@pytest.mark.parametrize("name", nightly_but({"consent"}))
def test_every_python_file_of_a_project_is_checked(example: Renders, name: str) -> None:
    project = example(name)
    files = (path.relative_to(project).as_posix() for path in project.rglob("*"))
    theirs = {file for file in files if is_python(project, file)}
    manifest = json.loads(
        (project / "tests/policy/engine.json").read_text(encoding="utf-8")
    )
    assert theirs & manifest["files"].keys()
    theirs -= manifest["files"].keys()  # checked where they are written, in engine/src
    assert {"tests/policy/cases.py", "tests/policy/test_behavior.py"} <= theirs
    assert any(file.endswith("/policy/__init__.py") for file in theirs)
    assert sorted(theirs - given_to_ruff(project)) == []
    assert (
        sorted(theirs - given_to_mypy(project, "--config-file", "config/mypy.ini"))
        == []
    )


def test_every_python_file_of_the_template_is_in_an_example() -> None:
    made = {name for example in EXAMPLES for name in rendered(answers(example))}
    sources = [
        path.relative_to(ROOT / "template").as_posix()
        for path in (ROOT / "template").rglob("*")
    ]
    python = [
        name
        for name in sources
        if ".py" in Path(name).suffixes or is_python(ROOT / "template", name)
    ]
    assert "scripts/check.jinja" in python
    patterns = {
        name: re.sub("{{.*?}}", "*", re.sub("{%.*?%}", "", name)) for name in python
    }
    missing = [
        name
        for name, pattern in patterns.items()
        if not any(
            fnmatch(made_one, pattern.removesuffix(".jinja")) for made_one in made
        )
    ]
    assert missing == []

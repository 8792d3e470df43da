"""ruff and mypy --strict check every Python file of the repository and of rendered projects."""

import ast
import fnmatch
import json
import re
import subprocess
import sys
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


def list_ruff_files(folder: Path) -> set[str]:
    """List the files that `ruff check .` reads."""
    command = [sys.executable, "-m", "ruff", "check", "--show-files", "."]
    output = subprocess.run(
        command, cwd=folder, check=True, capture_output=True, text=True
    ).stdout
    paths = set()
    for line in output.splitlines():
        paths.add(Path(line).relative_to(folder).as_posix())
    return paths


def list_mypy_files(folder: Path, *words: str) -> set[str]:
    """List the files that mypy reads with the strict settings of a folder."""
    command = [sys.executable, "-c", SOURCES, *words]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return {Path(line).as_posix() for line in done.stdout.splitlines()}


def test_every_python_file_of_the_repository_is_checked() -> None:
    tracked = git(ROOT, "ls-files", "-z").split("\0")
    # Below as projects; the reading list's files in tests/project/test_reading_list.py
    other_folders = ("template/", "examples/rendered/", "examples/reading/")
    python_files = set()
    for name in tracked:
        if not name.startswith(other_folders) and is_python(ROOT, name):
            python_files.add(name)
    assert {"scripts/cell", "benchmarks/figures.py", "tests/support.py"} <= python_files
    assert sorted(python_files - list_ruff_files(ROOT)) == []
    adopted = set()
    for name in python_files:
        if name.startswith("adopted/"):
            adopted.add(name)  # typed in tests/adopting
    drivers = set()
    for name in python_files:
        if name.startswith("tests/clients/drivers/"):
            drivers.add(name)  # each runs in the environment of its client
    assert sorted(python_files - adopted - drivers - list_mypy_files(ROOT)) == []


@pytest.mark.parametrize("name", nightly_but({"consent"}))
def test_every_python_file_of_a_project_is_checked(example: Renders, name: str) -> None:
    project = example(name)
    files = (path.relative_to(project).as_posix() for path in project.rglob("*"))
    python_files = set()
    for file in files:
        if is_python(project, file):
            python_files.add(file)
    manifest = json.loads(
        (project / "tests/policy/engine.json").read_text(encoding="utf-8")
    )
    assert python_files & manifest["files"].keys()
    python_files -= manifest[
        "files"
    ].keys()  # checked where they are written, in engine/src
    assert {"tests/policy/cases.py", "tests/policy/test_behavior.py"} <= python_files
    assert any(file.endswith("/policy/__init__.py") for file in python_files)
    assert sorted(python_files - list_ruff_files(project)) == []
    assert (
        sorted(
            python_files - list_mypy_files(project, "--config-file", "config/mypy.ini")
        )
        == []
    )


def list_exports(module: Path) -> set[str]:
    """List the names that a module defines or has in `__all__`, which are all that mypy --strict lets others import."""
    names = set()
    for node in ast.parse(module.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Assign):
            names.update(ast.unparse(target) for target in node.targets)
            if ast.unparse(node.targets[0]) == "__all__":
                names.update(ast.literal_eval(node.value))
        elif isinstance(node, ast.AnnAssign):
            names.add(ast.unparse(node.target))
    return names


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_project_imports_what_the_engine_exports(name: str) -> None:
    sources = ROOT / "engine/src"
    for path, text in rendered(answers(name) | {"engine": "package"}).items():
        if not path.endswith(".py"):
            continue
        for node in ast.walk(ast.parse(text)):
            if not isinstance(node, ast.ImportFrom) or node.level:
                continue
            module = str(node.module)
            file = sources / f"{module.replace('.', '/')}.py"
            if not file.is_file():
                continue
            missing = {alias.name for alias in node.names} - list_exports(file)
            assert missing == set(), f"{path}: {module}"


def test_every_python_file_of_the_template_is_in_an_example() -> None:
    rendered_names: set[str] = set()
    for example in EXAMPLES:
        rendered_names.update(rendered(answers(example)))
    template = ROOT / "template"
    patterns = {}
    for path in template.rglob("*"):
        name = path.relative_to(template).as_posix()
        if ".py" in path.suffixes or is_python(template, name):
            patterns[name] = re.sub("{{.*?}}", "*", re.sub("{%.*?%}", "", name))
    assert "scripts/check.jinja" in patterns
    missing = []
    for name, pattern in patterns.items():
        if not fnmatch.filter(rendered_names, pattern.removesuffix(".jinja")):
            missing.append(name)
    assert missing == []

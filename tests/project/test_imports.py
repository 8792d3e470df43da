"""What a generated project imports is what it declares, and its parts import each other in one direction only."""

import ast
import re
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
from support import ROOT, Answers, Renders, answers, rendered

from engine.tests.engine_support.graph import find_cycle, import_graph

HTTP = {"backend": "http", "api": "https://api.example.com", "consent": "url"}


def find_imports(folder: Path) -> set[str]:
    """Find the packages that a folder's modules import by name."""
    names: set[str] = set()
    for path in folder.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                names |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and not node.level:
                names.add(str(node.module))
    return {name.partition(".")[0] for name in names} - sys.stdlib_module_names


def normalize(name: str) -> str:
    """Normalize the name of a distribution."""
    return name.lower().replace("_", "-")


def find_undeclared(names: set[str], requirements: list[str]) -> set[str]:
    """Find the packages of no distribution in a list of requirements."""
    declared = set()
    for line in requirements:
        declared.add(normalize(re.split(r"[\[<>=!~; ]", line)[0]))
    distributions = packages_distributions()
    missing = set()
    for name in names:
        candidates = [name, *distributions.get(name, [])]
        if not declared & {normalize(candidate) for candidate in candidates}:
            missing.add(name)
    return missing


@pytest.mark.parametrize("name", ["notes", "orders", "consent"])
def test_every_import_is_declared(example: Renders, name: str) -> None:
    project = example(name)
    about = tomllib.loads((project / "pyproject.toml").read_text(encoding="utf-8"))
    package = next((project / "src").iterdir())
    needed = about["project"]["dependencies"]
    extra = about["project"]["optional-dependencies"]["redis"]
    undeclared = find_undeclared(find_imports(package) - {package.name}, needed)
    assert undeclared == {"redis"}
    assert find_undeclared(undeclared, extra) == set()
    requirements = [*needed, *about["dependency-groups"]["dev"]]
    local_packages = {package.name, "copier_fastmcp_suite"}
    assert (
        find_undeclared(find_imports(project / "tests") - local_packages, requirements)
        == set()
    )
    assert find_undeclared({"fastmcp"}, []) == {"fastmcp"}


def write_package(answers: Answers, folder: Path) -> Path:
    """Write the package of a rendered project.

    Args:
        answers: The answers of the project.
        folder: An empty folder.

    Returns:
        The folder of the package.
    """
    for name, text in rendered(answers).items():
        if name.startswith("src/"):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text, encoding="utf-8")
    (package,) = (folder / "src").iterdir()
    return package


def written_layers() -> dict[str, set[str]]:
    """Return what each part of a project may import, as docs/architecture.md lists it."""
    text = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
    section = text.partition("## A project's layers\n")[2].partition("\n## ")[0]
    rows = re.findall(r"(?m)^\| `(\w+)` \| (.*) \|$", section)
    return {part: set(re.findall(r"`(\w+)`", imports)) for part, imports in rows}


@pytest.mark.parametrize(
    "profile",
    [answers("notes"), answers("unusual"), HTTP],
    ids=["notes", "unusual", "http"],
)
def test_a_part_imports_only_lower_ones(profile: Answers, tmp_path: Path) -> None:
    layers = written_layers()
    assert find_cycle(layers) == []
    graph = import_graph(write_package(profile, tmp_path))
    assert find_cycle(graph) == []
    graph.pop("__init__", None)
    graph.pop("__main__", None)
    for module, imports in graph.items():
        part = module.partition(".")[0]
        parts = {name.partition(".")[0] for name in imports} - {part}
        assert parts <= layers[part], module


def test_a_circle_in_a_project_is_found(tmp_path: Path) -> None:
    package = write_package(answers("notes"), tmp_path)
    with (package / "settings.py").open("a") as file:
        file.write("\n\ndef late():\n    from .backend import Backend\n")
    assert {"backend", "settings"} <= set(find_cycle(import_graph(package)))


def test_no_module_of_the_command_imports_itself_in_a_circle() -> None:
    graph = import_graph(ROOT / "src/copier_fastmcp")
    assert len(graph) > 80
    assert find_cycle(graph) == []

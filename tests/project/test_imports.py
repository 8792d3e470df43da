"""What a generated project imports is what it declares, to run and to develop."""

import ast
import re
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
from support import Renders


def imported(folder: Path) -> set[str]:
    """The packages that a folder's modules import by name."""
    names: set[str] = set()
    for path in folder.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                names |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and not node.level:
                names.add(str(node.module))
    return {name.partition(".")[0] for name in names} - sys.stdlib_module_names


def undeclared(names: set[str], requirements: list[str]) -> set[str]:
    """Those of no distribution in a list of requirements."""
    declared = {
        re.split(r"[\[<>=!~; ]", line)[0].lower().replace("_", "-")
        for line in requirements
    }
    known = packages_distributions()
    return {
        name
        for name in names
        if not declared
        & {one.lower().replace("_", "-") for one in [name, *known.get(name, [])]}
    }


@pytest.mark.parametrize("name", ["notes", "orders", "consent"])
def test_every_import_is_declared(example: Renders, name: str) -> None:
    project = example(name)
    about = tomllib.loads((project / "pyproject.toml").read_text(encoding="utf-8"))
    package = next((project / "src").iterdir())
    needed = about["project"]["dependencies"]
    assert undeclared(imported(package) - {package.name}, needed) == set()
    more = [*needed, *about["dependency-groups"]["dev"]]
    own = {package.name, "copier_fastmcp_suite"}
    assert undeclared(imported(project / "tests") - own, more) == set()
    assert undeclared({"fastmcp"}, []) == {"fastmcp"}

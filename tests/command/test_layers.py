"""What in the command may import what: the table in docs/architecture.md, and nothing else."""

import ast
import re
from collections.abc import Iterator
from importlib.util import resolve_name
from pathlib import Path

import pytest
from support import ROOT

from copier_fastmcp.cli import NAMES, VERBS

SOURCE = ROOT / "src/copier_fastmcp"
MODULES = sorted(path.relative_to(SOURCE) for path in SOURCE.rglob("*.py"))
VERB_MODULES = {NAMES.get(verb, (verb,))[0] for verb in VERBS}
# `cli` finds a verb by its name; what lies beside the verbs every module may import.
STARTS = {"__init__", "__main__", "cli"}
SHARED = (
    {path.stem for path in MODULES if path.parent == Path()} - VERB_MODULES - STARTS
)


def parse_layers() -> dict[str, set[str]]:
    """Parse the packages that each package may import from the guide."""
    text = (ROOT / "docs/architecture.md").read_text("utf-8")
    rows = re.findall(r"(?m)^\| `(\w+)/` \|[^|]*\| ([^|]*) \|$", text)
    return {package: set(re.findall(r"`(\w+)/`", cell)) for package, cell in rows}


def find_imports(module: Path, text: str) -> Iterator[str]:
    """The first part below copier_fastmcp of everything that a module imports, early or late."""
    package = ".".join(["copier_fastmcp", *module.parts[:-1]])
    for node in ast.walk(ast.parse(text)):
        prefix = ""
        if isinstance(node, ast.ImportFrom):
            dots = "." * node.level
            prefix = resolve_name(f"{dots}{node.module or ''}", package) + "."
        elif not isinstance(node, ast.Import):
            continue
        for alias in node.names:
            name = prefix + alias.name
            if name.startswith("copier_fastmcp."):
                yield name.split(".")[1]


def find_forbidden(module: Path, text: str, packages: dict[str, set[str]]) -> set[str]:
    """Find the forbidden imports of a module."""
    package = module.parts[0].removesuffix(".py")
    may = {package, *packages[package]} if package in packages else set()
    may |= (
        {*packages}
        if package in VERB_MODULES
        else {"cli", "project"}
        if package in STARTS
        else set()
    )
    return set(find_imports(module, text)) - SHARED - may


def test_every_package_is_in_the_guide_and_none_imports_in_a_circle() -> None:
    packages = parse_layers()
    folders = set()
    for path in MODULES:
        if len(path.parts) > 1:
            folders.add(path.parts[0])
    assert packages.keys() == folders
    above: set[str] = set()
    while (
        free := {package for package, imports in packages.items() if imports <= above}
        - above
    ):
        above |= free
    assert above == packages.keys()


def test_the_terms_of_the_guide_lead_to_their_places() -> None:
    """Ten questions of a newcomer, each answered by grepping for one term."""
    text = (ROOT / "docs/architecture.md").read_text("utf-8")
    section = text.partition("## Where things are")[2].partition("\n## ")[0]
    rows = re.findall(r"(?m)^\| [^|]+\? \| `([^`]+)` \| `([^`]+)` \|$", section)
    assert len(rows) == 10
    missing = []
    for term, place in rows:
        if term not in (ROOT / place).read_text("utf-8"):
            missing.append((term, place))
    assert missing == []


@pytest.mark.parametrize("module", MODULES, ids=str)
def test_a_module_imports_what_it_may(module: Path) -> None:
    assert (
        find_forbidden(module, (SOURCE / module).read_text("utf-8"), parse_layers())
        == set()
    )


@pytest.mark.parametrize(
    ("module", "text", "expected"),
    [
        ("analysis/scopes.py", "from ..adopting.survey import survey", {"adopting"}),
        ("project/origin.py", "def f():\n    from .. import update", {"update"}),
        (
            "adopting/live_comparison.py",
            "from copier_fastmcp.audit import audit",
            {"audit"},
        ),
        ("lock.py", "from .project.answers import read", {"project"}),
        ("restore.py", "from .drift import drift", {"drift"}),
        (
            "restore.py",
            "from .project import copier_process\nfrom .errors import tell",
            set(),
        ),
    ],
)
def test_a_forbidden_import_is_seen(module: str, text: str, expected: set[str]) -> None:
    assert find_forbidden(Path(module), text, parse_layers()) == expected

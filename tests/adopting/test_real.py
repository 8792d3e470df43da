"""Real servers from PyPI, never committed: what the issue of adoption asks of them; needs a registry."""

import ast
import shutil
import subprocess
from pathlib import Path

import pytest
from adopting.real import FRESH, KNOWN, Figures, fetched, measured
from lifecycle import commit, uncommitted
from support import git

from copier_fastmcp.cli import main

# The nightly run reads all of them.
NAMES = [
    pytest.param(name, marks=pytest.mark.nightly) for name in [*KNOWN, *FRESH] if name != "blender"
]


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("sdists")


def source(name: str, folder: Path) -> Path:
    try:
        return fetched(name, folder)
    except (RuntimeError, OSError, subprocess.SubprocessError) as error:
        pytest.skip(f"NO REGISTRY, so this real server is not read: {error}")


@pytest.mark.parametrize("name", NAMES)
def test_every_tool_is_found_and_nearly_every_behavior_is_right_or_asked(
    name: str, sources: Path
) -> None:
    figures: Figures = measured(name, source(name, sources))
    assert figures.missing == []
    assert figures.false_reads == []
    assert len(figures.wrong) <= max(1, figures.labelled * 0.1), figures.wrong


@pytest.mark.parametrize("name", NAMES)
def test_annotating_touches_no_body_and_ends(name: str, sources: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(source(name, sources), tmp_path / "it")
    git(folder, "init", "--quiet")
    commit(folder)

    def bodies() -> dict[str, str]:
        found = {}
        for path in sorted(folder.rglob("*.py")):
            tree = ast.parse(path.read_bytes())
            for node in ast.walk(tree):
                if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                    node.decorator_list = []
                    found[f"{path}:{node.name}:{node.col_offset}"] = ast.unparse(node)
        return found

    before = bodies()
    assert main(["annotate", str(folder), "--unattended"]) in (0, 1)
    after = bodies()
    tools = {key for key in before if before[key] != after.get(key)}
    # What registers tools in its body holds the annotations; no other function changes.
    assert all("annotations=" in after[key] for key in tools)
    commit(folder)
    main(["annotate", str(folder), "--unattended"])
    assert uncommitted(folder) == set()

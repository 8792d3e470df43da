"""The layers of the engine: the table in docs/architecture.md, and no module that imports itself in a circle."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from engine.tests.engine_support.graph import (
    SOURCE,
    find_cycle,
    import_graph,
    imported_modules,
)

GUIDE = Path(__file__).parents[2] / "docs/architecture.md"
GRAPH = import_graph()


def read_layers() -> dict[str, int]:
    """Return the layer of each module, as the guide lists them."""
    layers = {}
    for number, modules in re.findall(
        r"(?m)^\| (\d+) \| ([^|]+) \|", GUIDE.read_text(encoding="utf-8")
    ):
        for name in re.findall(r"`([\w.]+)`", modules):
            assert name not in layers, f"{name} is in two layers"
            layers[name] = int(number)
    return layers


LAYERS = read_layers()


def test_no_module_imports_itself_in_a_circle() -> None:
    assert find_cycle(GRAPH) == []


def test_a_circle_is_found() -> None:
    assert find_cycle({"a": {"b"}, "b": {"a"}, "c": set(), "d": {"a"}}) == [
        "a",
        "b",
        "d",
    ]


def test_every_module_is_in_the_guide() -> None:
    assert set(LAYERS) == set(GRAPH)


@pytest.mark.parametrize("module", sorted(GRAPH))
def test_a_module_imports_only_its_own_layer_and_lower_ones(module: str) -> None:
    higher = [name for name in GRAPH[module] if LAYERS[name] > LAYERS[module]]
    assert higher == []


def test_a_late_import_counts_and_one_for_type_checkers_does_not() -> None:
    late = "def f():\n    from .guard import Guard\n"
    types = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from .guard import Guard\n"
    modules = {"guard", "http"}
    assert imported_modules("http", late, modules) == {"guard"}
    assert imported_modules("http", types, modules) == set()


def test_the_engine_imports_itself_relatively_only() -> None:
    absolute = re.compile(r"(?m)^\s*(from|import) copier_fastmcp_engine\b")
    for path in SOURCE.rglob("*.py"):
        assert not absolute.search(path.read_text(encoding="utf-8")), path


@pytest.mark.parametrize(
    "module", ["policy", "facade", "errors", "project", "declarations"]
)
def test_the_command_line_needs_no_fastmcp_for_its_help(module: str) -> None:
    code = (
        f"import sys, copier_fastmcp_engine.{module}; print('fastmcp' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={"PYTHONPATH": str(SOURCE.parent)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "False\n"

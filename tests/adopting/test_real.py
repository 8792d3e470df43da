"""Real servers from PyPI, never committed: what the issue of adoption asks of them; needs a registry."""

import ast
import shutil
import subprocess
from pathlib import Path

import pytest
from adopting.real import (
    ANNOTATED,
    FRESH,
    KNOWN,
    STARTED,
    UNSEEN,
    Figures,
    environment,
    fetched,
    listed,
    measured,
)
from lifecycle import commit, released, uncommitted, update
from support import git

from copier_fastmcp.cli import main

# The nightly run reads all of them.
NAMES = [
    pytest.param(name, marks=pytest.mark.nightly)
    for name in [*KNOWN, *FRESH, *UNSEEN]
    if name != "blender"
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


@pytest.mark.nightly
def test_one_tool_in_five_is_asked_about_at_most(sources: Path) -> None:
    names = [name for name in [*KNOWN, *FRESH, *UNSEEN] if name != "blender"]
    rows = [measured(name, source(name, sources)) for name in names]
    assert sum(len(row.asked) for row in rows) * 5 <= sum(row.tools for row in rows)


def functions(path: Path) -> list[str]:
    """Every function of a file, without its decorators and those of the functions in it."""
    tree = ast.parse(path.read_bytes())
    nodes = [
        n
        for n in ast.walk(tree)
        if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    for node in nodes:
        node.decorator_list = []
    return [ast.unparse(node) for node in nodes]


def lines(path: Path) -> list[str]:
    """The lines of all functions, but for the one that governs a server."""
    found = "\n".join(functions(path)).splitlines()
    return [line for line in found if "policy.govern(" not in line]


def owned(name: str, sources: Path, to: Path) -> Path:
    """A server in a repository of its own, as its author has it."""
    folder = shutil.copytree(source(name, sources), to)
    git(folder, "init", "--quiet")
    git(folder, "add", "--all", "--force")
    commit(folder)
    return folder


@pytest.mark.parametrize("name", NAMES)
def test_annotating_touches_no_body_and_ends(
    name: str, sources: Path, tmp_path: Path
) -> None:
    folder = owned(name, sources, tmp_path / "it")
    files = sorted(folder.rglob("*.py"))
    before = [text for path in files for text in functions(path)]
    assert main(["annotate", str(folder), "--unattended"]) in (0, 1)
    after = [text for path in files for text in functions(path)]
    # What registers tools in its body holds the annotations; no other function changes.
    pairs = zip(before, after, strict=True)
    assert all(was == now or "annotations=" in now for was, now in pairs)
    commit(folder)
    main(["annotate", str(folder), "--unattended"])
    assert uncommitted(folder) == set()


@pytest.mark.nightly
@pytest.mark.parametrize("name", ANNOTATED)
@pytest.mark.anyio
async def test_an_annotated_server_starts_and_lists_the_same(
    name: str, sources: Path, tmp_path: Path
) -> None:
    before, folder = source(name, sources), owned(name, sources, tmp_path / "it")
    assert main(["annotate", str(folder), "--unattended"]) == 0
    try:
        python = environment(folder, tmp_path / "environment")
    except (RuntimeError, OSError) as error:
        pytest.skip(f"NO REGISTRY, so this real server is not started: {error}")
    was = await listed(name, python, before, tmp_path / "home")
    now = await listed(name, python, folder, tmp_path / "home")
    hints = {"readOnlyHint", "destructiveHint", "idempotentHint"}
    for tool in now.values():
        said = tool.pop("annotations")
        assert hints <= said.keys()
        assert tool.get("title") or said["title"]
    kept = {
        name: {k: v for k, v in tool.items() if k != "annotations"}
        for name, tool in was.items()
    }
    assert now == kept


@pytest.mark.nightly
@pytest.mark.parametrize("name", STARTED)
@pytest.mark.anyio
async def test_an_adopted_server_starts_and_lists_the_same(
    name: str, sources: Path, template: Path, tmp_path: Path
) -> None:
    before, folder = source(name, sources), owned(name, sources, tmp_path / "it")
    words = ["adopt", str(folder), "--unattended", "--raise"]
    assert main([*words, "--template", str(template), "--ref", "v99.0.0"]) == 0
    for path in git(folder, "diff", "--name-only", "--", "*.py").splitlines():
        assert lines(folder / path) == lines(before / path), path
    try:
        python = environment(folder, tmp_path / "environment")
    except (RuntimeError, OSError) as error:
        pytest.skip(f"NO REGISTRY, so this real server is not started: {error}")
    was = await listed(name, python, before, tmp_path / "home")
    now = await listed(name, python, folder, tmp_path / "home")
    assert now.keys() == was.keys()
    for tool, after in now.items():
        hints = after["annotations"]
        asks = "confirm" in after["inputSchema"]["properties"]
        gated = asks and "confirm" not in was[tool]["inputSchema"].get("properties", {})
        assert hints["destructiveHint"] or not gated
        assert {
            "readOnlyHint",
            "idempotentHint",
            "openWorldHint",
            "title",
        } <= hints.keys()
        kept = ["description", "_meta", "icons"] + ["inputSchema", "outputSchema"] * (
            not gated
        )
        for key in kept:
            assert after.get(key) == was[tool].get(key), (tool, key)
    commit(folder)
    assert main([*words, "--template", str(template)]) == 0
    assert uncommitted(folder) == set()
    edit = ("template/src/{{package_name}}/policy/errors.py", "", "\n# Release 100.\n")
    release = released(template, tmp_path / "template", "v100.0.0", edit)
    answers = folder / ".copier-answers.yml"
    answers.write_text(answers.read_text().replace(str(template), str(release)))
    commit(folder)
    update(folder, "v100.0.0")
    names = git(folder, "diff", "--name-only", "HEAD~1").split()
    assert [Path(each).name for each in names] == [".copier-answers.yml", "errors.py"]

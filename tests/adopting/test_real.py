"""Real servers from PyPI, which are never committed; needs a registry."""

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
    TESTED,
    UNSEEN,
    Figures,
    create_environment,
    fetch_source,
    list_served_tools,
    measure_server,
    run_tests,
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
        return fetch_source(name, folder)
    except (RuntimeError, OSError, subprocess.SubprocessError) as error:
        pytest.skip(f"NO REGISTRY, so this real server is not read: {error}")


@pytest.mark.parametrize("name", NAMES)
def test_every_tool_is_found_and_nearly_every_behavior_is_right_or_asked(
    name: str, sources: Path
) -> None:
    figures: Figures = measure_server(name, source(name, sources))
    assert figures.missing == []
    assert figures.false_reads == []
    assert len(figures.errors) <= max(1, figures.labelled * 0.1), figures.errors


@pytest.mark.nightly
def test_one_tool_in_five_is_asked_about_at_most(sources: Path) -> None:
    names = [name for name in [*KNOWN, *FRESH, *UNSEEN] if name != "blender"]
    rows = [measure_server(name, source(name, sources)) for name in names]
    assert sum(len(row.questions) for row in rows) * 5 <= sum(row.tools for row in rows)


def unparse_functions(path: Path) -> list[str]:
    """Unparse every function of a file without decorators, including nested ones."""
    tree = ast.parse(path.read_bytes())
    nodes = []
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            nodes.append(node)
    for node in nodes:
        node.decorator_list = []
    return [ast.unparse(node) for node in nodes]


def list_function_lines(path: Path) -> list[str]:
    """List the lines of all functions, except the call of `govern`."""
    source_lines = "\n".join(unparse_functions(path)).splitlines()
    kept_lines = []
    for line in source_lines:
        if "policy.govern(" not in line:
            kept_lines.append(line)
    return kept_lines


def copy_source(name: str, sources: Path, to: Path) -> Path:
    """Copy a server's source to its own git repository."""
    folder = shutil.copytree(source(name, sources), to)
    git(folder, "init", "--quiet")
    git(folder, "add", "--all", "--force")
    commit(folder)
    return folder


@pytest.mark.parametrize("name", NAMES)
def test_annotating_touches_no_body_and_ends(
    name: str, sources: Path, tmp_path: Path
) -> None:
    folder = copy_source(name, sources, tmp_path / "it")
    files = sorted(folder.rglob("*.py"))
    before = []
    for path in files:
        before += unparse_functions(path)
    assert main(["annotate", str(folder), "--unattended"]) in (0, 1)
    after = []
    for path in files:
        after += unparse_functions(path)
    # What registers tools in its body holds the annotations; no other function changes.
    pairs = zip(before, after, strict=True)
    for old, new in pairs:
        assert old == new or "annotations=" in new
    commit(folder)
    main(["annotate", str(folder), "--unattended"])
    assert uncommitted(folder) == set()


@pytest.mark.nightly
@pytest.mark.parametrize("name", ANNOTATED)
@pytest.mark.anyio
async def test_an_annotated_server_starts_and_lists_the_same(
    name: str, sources: Path, tmp_path: Path
) -> None:
    before, folder = source(name, sources), copy_source(name, sources, tmp_path / "it")
    assert main(["annotate", str(folder), "--unattended"]) == 0
    try:
        python = create_environment(folder, tmp_path / "environment")
    except (RuntimeError, OSError) as error:
        pytest.skip(f"NO REGISTRY, so this real server is not started: {error}")
    original_tools = await list_served_tools(name, python, before, tmp_path / "home")
    annotated_tools = await list_served_tools(name, python, folder, tmp_path / "home")
    hints = {"readOnlyHint", "destructiveHint", "idempotentHint"}
    for tool in annotated_tools.values():
        annotations = tool.pop("annotations")
        assert hints <= annotations.keys()
        assert tool.get("title") or annotations["title"]
    for tool in original_tools.values():
        tool.pop("annotations", None)
    assert annotated_tools == original_tools


@pytest.mark.nightly
@pytest.mark.parametrize("name", STARTED)
@pytest.mark.anyio
async def test_an_adopted_server_starts_and_lists_the_same(
    name: str, sources: Path, template: Path, tmp_path: Path
) -> None:
    before, folder = source(name, sources), copy_source(name, sources, tmp_path / "it")
    words = ["adopt", str(folder), "--unattended", "--raise"]
    assert main([*words, "--template", str(template), "--ref", "v99.0.0"]) == 0
    for path in git(folder, "diff", "--name-only", "--", "*.py").splitlines():
        assert list_function_lines(folder / path) == list_function_lines(
            before / path
        ), path
    try:
        python = create_environment(folder, tmp_path / "environment")
    except (RuntimeError, OSError) as error:
        pytest.skip(f"NO REGISTRY, so this real server is not started: {error}")
    original_tools = await list_served_tools(name, python, before, tmp_path / "home")
    adopted_tools = await list_served_tools(name, python, folder, tmp_path / "home")
    assert adopted_tools.keys() == original_tools.keys()
    for tool, after in adopted_tools.items():
        hints = after["annotations"]
        description = after.get("description") or ""
        asks = "confirm" in after["inputSchema"]["properties"]
        gated = asks and "confirm" not in original_tools[tool]["inputSchema"].get(
            "properties", {}
        )
        assert hints["destructiveHint"] or not gated
        assert {
            "readOnlyHint",
            "idempotentHint",
            "openWorldHint",
            "title",
        } <= hints.keys()
        preserved = ["_meta", "icons"]
        if gated:
            original = original_tools[tool].get("description") or ""
            assert description.endswith("Two-step confirmation.")
            description = description.removesuffix("Two-step confirmation.")
            assert description.rstrip() == original.rstrip()
        else:
            preserved += ["description", "inputSchema", "outputSchema"]
        for key in preserved:
            assert after.get(key) == original_tools[tool].get(key), (tool, key)
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
    file_names = []
    for name_of_file in names:
        file_names.append(Path(name_of_file).name)
    assert file_names == [
        ".copier-answers.yml",
        "errors.py",
    ]


@pytest.mark.nightly
@pytest.mark.parametrize("name", TESTED)
def test_the_authors_tests_end_as_before_and_a_removal_leaves_their_bytes(
    name: str, sources: Path, template: Path, tmp_path: Path
) -> None:
    before, folder = source(name, sources), copy_source(name, sources, tmp_path / "it")
    words = ["adopt", str(folder), "--unattended", "--raise"]
    assert main([*words, "--template", str(template), "--ref", "v99.0.0"]) == 0
    commit(folder)
    packages = ("pytest", "pytest-asyncio", "pytest-mock", "respx")
    try:
        python = create_environment(folder, tmp_path / "environment", *packages)
    except (RuntimeError, OSError) as error:
        pytest.skip(f"NO REGISTRY, so these tests are not run: {error}")
    original_outcomes = run_tests(python, before)
    assert "PASSED" in original_outcomes.values()
    adopted_outcomes = run_tests(python, folder)
    assert original_outcomes.items() <= adopted_outcomes.items()
    git(folder, "clean", "-fdqx")
    assert main(["adopt", str(folder), "--remove"]) == 0
    commit(folder)
    assert git(folder, "diff", "--name-only", "HEAD~2") == ""

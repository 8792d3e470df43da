"""Workflows: linted by zizmor, every action pinned to one commit, the matrix as the examples are."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import yaml
from support import EXAMPLES, ROOT, Renders

OWN = ROOT / ".github/workflows"


def cells() -> list[str]:
    """The names that `scripts/cell` lists."""
    done = subprocess.run(
        [sys.executable, ROOT / "scripts/cell"], capture_output=True, text=True, check=True
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


def test_the_linter_would_find_something(tmp_path: Path) -> None:
    text = (OWN / "ci.yml").read_text(encoding="utf-8")
    folder = tmp_path / ".github/workflows"
    folder.mkdir(parents=True)
    (folder / "ci.yml").write_text(text.replace('"$CELL"', "${{ github.event.issue.title }}"))
    assert "template-injection" in zizmor(folder)


def test_each_action_is_pinned_to_one_commit_everywhere(project: Path) -> None:
    found: dict[str, set[str]] = {}
    for text in (*workflows(OWN).values(), *workflows(project / ".github/workflows").values()):
        for action, rest in re.findall(r"uses: ([^@\s]+)(\S*.*)", text):
            if not action.startswith("./"):
                found.setdefault(action, set()).add(rest)
    assert found
    for action, pins in found.items():
        assert len(pins) == 1, f"{action}: {sorted(pins)}"
        assert re.fullmatch(r"@[0-9a-f]{40} # v\d+\.\d+\.\d+", pins.pop()), action


def test_every_example_and_choice_is_a_job() -> None:
    questions = yaml.safe_load((ROOT / "copier.yml").read_text(encoding="utf-8"))
    wanted = {f"example-{name}-{age}-python" for name in EXAMPLES for age in ("oldest", "newest")}
    for name in {"profile", "backend", "consent"} & questions.keys():
        wanted |= {f"{name}-{value}" for value in questions[name]["choices"].values()}
    names = cells()
    assert wanted <= set(names)
    assert len(names) == len(set(names))


def test_the_matrix_is_what_the_list_is() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "scripts/cell", "--json"],
        capture_output=True,
        text=True,
        check=True,
    )
    jobs = json.loads(done.stdout)["include"]
    assert [*(job["name"] for job in jobs), "nightly"] == cells()
    assert {job["os"] for job in jobs} == {"ubuntu-latest", "macos-latest", "windows-latest"}


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

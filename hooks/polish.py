"""Format and lint a fresh project; anywhere else only check.

Copier runs this after `copier copy`, in the new project, with its own interpreter. Rendered text is already
canonical, so nothing changes and `--skip-tasks` gives the same bytes; the hook proves it on your machine.
In a folder that was there before (a git repository, earlier answers: `recopy`) it never writes.
"""

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

REMEDY = "ruff was not found, so nothing was checked; `uv tool install ruff`, then `ruff check`"


def ruff() -> list[str] | None:
    """The command that runs ruff: Copier's own interpreter, PATH, or uvx; None when there is none."""
    if importlib.util.find_spec("ruff"):
        return [sys.executable, "-m", "ruff"]
    if program := shutil.which("ruff"):
        return [program]
    if program := shutil.which("uvx"):
        return [program, "--quiet", "ruff"]
    return None


def is_fresh(project: Path) -> bool:
    """Whether every file in `project` came with this copy: no repository, no earlier answers."""
    if (project / ".git").exists():
        return False
    earliest = (project / ".copier-answers.yml").stat().st_mtime - 60
    for path in project.rglob("*"):
        if path.is_file() and path.stat().st_mtime < earliest:
            return False
    return True


def polish(project: Path) -> str:
    """Format and lint, or only check; answers one line that says what was done."""
    command = ruff()
    if command is None:
        return REMEDY
    fresh = is_fresh(project)
    environment = os.environ | {"RUFF_NO_CACHE": "true"}
    steps = (
        [["format"], ["check", "--fix"]]
        if fresh
        else [["format", "--check"], ["check"]]
    )
    for step in steps:
        done = subprocess.run(
            [*command, *step, "--quiet", "."],
            cwd=project,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            return f"ruff {' '.join(step)} has something to say; run it in {project}"
    return (
        "formatted and linted with ruff"
        if fresh
        else "checked with ruff, nothing written"
    )


if __name__ == "__main__":
    print(polish(Path.cwd()))

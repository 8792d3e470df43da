"""Format and lint of files that the template wrote, with ruff and the project's own settings."""

import subprocess
from collections.abc import Iterable
from pathlib import Path

from ..errors import one_line
from .pinning import project_environment

STEPS = (("format", "--check", "--quiet"), ("check", "--quiet"))
# One line for each violation: newer formatters show a difference otherwise
RUFF_SETTINGS = {"RUFF_NO_CACHE": "true", "RUFF_OUTPUT_FORMAT": "concise"}
NO_RUFF = "Failed to spawn"  # how uv begins where the project does not depend on ruff
LONGEST_LIST = 5


def find_style_violations(project: Path, names: Iterable[str]) -> list[str]:
    """Return what ruff objects to in some files of a temporary copy of a project; nothing is written.

    Args:
        project: The project, whose environment exists.
        names: Paths in the project; only Python files that exist count.
    """
    existing = []
    for name in names:
        if name.endswith(".py") and (project / name).is_file():
            existing.append(name)
    lines: list[str] = []
    for step in STEPS if existing else ():
        try:
            done = subprocess.run(
                ["uv", "run", "--quiet", "ruff", *step, "--force-exclude", *existing],
                cwd=project,
                env=project_environment(project, in_worktree=True) | RUFF_SETTINGS,
                capture_output=True,
                text=True,
                check=False,
            )
        except OSError:  # without uv nothing was pinned either, and the report says so
            return []
        output = (done.stdout + done.stderr).strip()
        if not done.returncode or NO_RUFF in output:
            continue
        prefix = "ruff format: " if step[0] == "format" else ""
        for line in output.splitlines():
            lines.append(f"{prefix}{one_line(line)}")
    if len(lines) > LONGEST_LIST:
        lines[LONGEST_LIST:] = [f"and {len(lines) - LONGEST_LIST} more: ruff check"]
    return lines

"""A project's lock and tool table, renewed by its own server."""

import subprocess
from pathlib import Path

from .. import lock
from ..errors import UnableError, one_line

PIN = Path("tests/policy/pin.py")
TABLE = "docs/tools.md"


def pin(project: Path) -> None:
    """Renew a project's lock and tool table from its own server.

    Raises:
        UnableError: The server does not start, or uv is not there; nothing was written.
    """
    if reason := uv(project, "run", "--quiet", PIN.as_posix()):
        raise UnableError(f"{PIN.as_posix()}: {reason}; nothing was written")


def uv(project: Path, *words: str) -> str:
    """Run uv in a project.

    Returns:
        What it says last where it fails, on one line; nothing where it does not.

    Raises:
        UnableError: uv is not there.
    """
    try:
        done = subprocess.run(
            ["uv", *words], cwd=project, capture_output=True, text=True, check=False
        )
    except OSError as error:
        raise UnableError("uv is not installed; get it from https://docs.astral.sh/uv") from error
    lines = (done.stdout + done.stderr).strip().splitlines() or [f"exit code {done.returncode}"]
    return one_line(lines[-1]) if done.returncode else ""


def renewed(project: Path) -> list[str]:
    """Pin anew, and say what changed for clients, a line each; a reason where that cannot be."""
    first = not (project / lock.FILE).exists()
    try:
        before = {} if first else lock.read(project / lock.FILE)
        pin(project)
        if first:
            return ["pinned for the first time: there was no lock to compare with"]
        return lock.differences(before, lock.read(project / lock.FILE))
    except (UnableError, ValueError) as error:
        return [f"not pinned: {one_line(error)}"]

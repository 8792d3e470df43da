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
    try:
        done = subprocess.run(
            ["uv", "run", "--quiet", PIN.as_posix()],
            cwd=project,
            capture_output=True,
            text=True,
            check=False,
        )
    except OSError as error:
        raise UnableError(f"uv: {error}; install uv, which pins the tools") from error
    if done.returncode:
        lines = (done.stdout + done.stderr).strip().splitlines()
        reason = lines[-1] if lines else f"exit code {done.returncode}"
        raise UnableError(f"{PIN.as_posix()}: {one_line(reason)}; nothing was written")


def renewed(project: Path) -> list[str]:
    """Pin anew, and say what changed for clients, a line each; a reason where that cannot be."""
    try:
        before = lock.read(project / lock.FILE)
        pin(project)
        return lock.differences(before, lock.read(project / lock.FILE))
    except (UnableError, ValueError) as error:
        return [f"not pinned: {one_line(error)}"]

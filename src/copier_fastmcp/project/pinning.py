"""A project's lock and tool table, renewed by its own server."""

import os
import subprocess
from pathlib import Path

from copier_fastmcp_engine.testing import lock

from ..errors import UnableError, one_line
from .repository import isolated_environment

PIN = Path("tests/policy/pin.py")
TABLE = "docs/tools.md"
PINNED = (lock.FILE, TABLE)  # what pinning writes
NOT_PINNED = "not pinned"


def pin(project: Path, *, in_worktree: bool = False) -> None:
    """Renew a project's lock and tool table from its own server.

    Args:
        project: The project.
        in_worktree: Whether it is a temporary copy, which must not use the author's environment.

    Raises:
        UnableError: The server does not start, or uv is not installed, or a link leads out of a temporary
            copy; nothing was written.
    """
    if in_worktree:
        _refuse_links_to_outside(project)
    if reason := uv(project, "run", "--quiet", PIN.as_posix(), in_worktree=in_worktree):
        raise UnableError(f"{PIN.as_posix()}: {reason}; nothing was written")


def _refuse_links_to_outside(project: Path) -> None:
    """Refuse to pin where a link leads out of a temporary copy, for example into the author's checkout.

    Raises:
        UnableError: A file that pinning writes is elsewhere.
    """
    root = project.resolve()
    for name in PINNED:
        place = (project / name).resolve()
        if not place.is_relative_to(root):
            raise UnableError(
                f"{name} is a link to {place}, outside of the server; replace it with a file"
            )


def project_environment(project: Path, *, in_worktree: bool = False) -> dict[str, str]:
    """Return the environment in which a project's own code runs.

    Args:
        project: The project; its sources are imported before any that are installed.
        in_worktree: Whether it is a temporary copy, which must not be installed into the author's environment.
    """
    environment = isolated_environment()
    if in_worktree:
        environment.pop("VIRTUAL_ENV", None)
        shared = environment.get("UV_PROJECT_ENVIRONMENT", "")
        if os.path.isabs(shared) and not environment.get("UV_NO_SYNC"):
            del environment["UV_PROJECT_ENVIRONMENT"]
    paths = [str(project.resolve() / "src"), environment.get("PYTHONPATH", "")]
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, paths))
    return environment


def uv(project: Path, *words: str, in_worktree: bool = False) -> str:
    """Run uv in a project.

    Returns:
        Its last line where it fails; nothing where it does not.

    Raises:
        UnableError: uv is not installed.
    """
    try:
        done = subprocess.run(
            ["uv", *words],
            cwd=project,
            env=project_environment(project, in_worktree=in_worktree),
            capture_output=True,
            text=True,
            check=False,
        )
    except OSError as error:
        raise UnableError(
            "uv is not installed; get it from https://docs.astral.sh/uv"
        ) from error
    lines = (done.stdout + done.stderr).strip().splitlines() or [
        f"exit code {done.returncode}"
    ]
    return one_line(lines[-1]) if done.returncode else ""


def renew_lock(project: Path) -> list[str]:
    """Pin a temporary copy of a project anew.

    Returns:
        What changed for clients, a line each; a reason where the project cannot be pinned.
    """
    first = not (project / lock.FILE).exists()
    try:
        before = {} if first else lock.load_lock(project / lock.FILE)
        pin(project, in_worktree=True)
        if first:
            return ["pinned for the first time: there was no lock to compare with"]
        return _list_differences(before, lock.load_lock(project / lock.FILE))
    except (UnableError, ValueError) as error:
        return [f"{NOT_PINNED}: {one_line(error)}"]


def _list_differences(before: lock.Lock, after: lock.Lock) -> list[str]:
    """What changed, a line each; before the first release there are no callers to break."""
    lines = lock.format_differences(before, after)
    if before["released"]:
        return lines
    return [line.replace(": BREAKING: ", ": ", 1) for line in lines]

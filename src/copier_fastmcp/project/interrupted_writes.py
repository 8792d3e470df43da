"""Writes into an author's tree that a killed run left in the middle: found by the next run, which explains the way back.

While files are written, a locked file in `.git` names each of them with the digests of its old and new contents. The
system unlocks it when the process ends, so an unlocked one is a killed run's. Nothing of the tree is undone here: the
author may have gone on working in it.
"""

import hashlib
import json
import os
import shlex
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from ..errors import RefusedError, UnableError
from .repository import git

PREFIX = "copier-fastmcp-writing-"
ASIDE = ".tmp"  # ends the name of an old file that is moved aside
LONGEST_STEM = 40
SHOWN = 5


def try_lock(file: BinaryIO) -> bool:
    """Lock a file if no living process holds it; the system unlocks it when its process ends."""
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def aside_prefix(path: Path) -> str:
    """Return how the names of temporary files next to a path begin."""
    return f".{path.name[:LONGEST_STEM]}."


def _find_git_folder(folder: Path) -> Path | None:
    """Return the `.git` folder of the nearest existing folder's checkout; None outside of git."""
    while not folder.is_dir():
        folder = folder.parent
    try:
        return Path(git(folder, "rev-parse", "--absolute-git-dir").rstrip("\n"))
    except UnableError:
        return None


@dataclass(frozen=True)
class Digests:
    """The digests of a path's contents before and after a write; None where there is no file."""

    before: str | None
    after: str | None


class WriteJournal:
    """The record of a write that is under way; outside of git there is none."""

    def __init__(self, files: Mapping[Path, Digests]) -> None:
        """Record a write.

        Args:
            files: The paths that are about to be written.
        """
        self._files = files
        self._path: Path | None = None
        self._file: BinaryIO | None = None
        folder = _find_git_folder(next(iter(files)).parent) if files else None
        if folder is None:
            return
        rows = {}
        for path, digests in files.items():
            rows[os.path.abspath(path)] = [digests.before, digests.after]
        self._path = folder / f"{PREFIX}{os.getpid()}-{os.urandom(4).hex()}"
        try:
            self._file = self._path.open("xb+", buffering=0)
            try_lock(self._file)
            self._file.write(json.dumps(rows).encode())
        except OSError:  # the tree can be written where .git cannot
            self.close()

    def close(self) -> None:
        """Forget the write if it is complete or undone; else a later run explains the way back."""
        is_over = not _find_commands(self._files)
        if self._file is not None:
            self._file.close()
        if self._path is not None and is_over:
            self._path.unlink(missing_ok=True)


def compute_digest(path: Path) -> str | None:
    """Return the digest of what a path holds; None where there is no file."""
    if path.is_symlink():
        return digest_of(os.fsencode(os.readlink(path)))
    return digest_of(path.read_bytes()) if path.is_file() else None


def digest_of(data: bytes) -> str:
    """Return the digest of a file's contents, or of a link's target."""
    return hashlib.sha256(data).hexdigest()


def refuse_interrupted_write(folder: Path) -> None:
    """Refuse to go on after a run that was killed while it wrote into the tree.

    What needs no decision is cleaned up: a write that was complete, or that the author has undone.

    Args:
        folder: A folder of the checkout.

    Raises:
        RefusedError: Files are half written; the message has the commands that put them back.
    """
    git_folder = _find_git_folder(folder)
    if git_folder is None:
        return
    for journal in sorted(git_folder.glob(f"{PREFIX}*")):
        try:
            with journal.open("rb+", buffering=0) as file:
                if not try_lock(file):
                    continue
                rows = json.loads(file.read() or b"{}")
        except (OSError, ValueError):
            # The process of the journal is ending now, or was killed at once
            rows = {}
        files = {Path(name): Digests(*pair) for name, pair in rows.items()}
        commands = _find_commands(files)
        if commands:
            names = [path.name for path in files][:SHOWN]
            problem = f"a run was killed while it wrote {', '.join(names)}"
            undo = "; ".join(commands)
            keep = f"to keep the files as they are: rm {shlex.quote(str(journal))}"
            raise RefusedError(f"{problem}; to undo it: {undo}; {keep}")
        journal.unlink(missing_ok=True)


def _find_commands(files: Mapping[Path, Digests]) -> list[str]:
    """Return the shell commands that undo a write; none where it is complete or undone."""
    states = {path: compute_digest(path) for path in files}
    is_complete = all(states[path] == digests.after for path, digests in files.items())
    commands = []
    for path, digests in files.items():
        for aside in path.parent.glob(f"{_escape(aside_prefix(path))}*{ASIDE}"):
            held = compute_digest(aside)
            is_old = held == digests.before
            if is_complete or states[path] == digests.before or not is_old:
                if held in (digests.before, digests.after, digest_of(b"")):
                    aside.unlink()
            else:
                source, target = shlex.quote(str(aside)), shlex.quote(str(path))
                commands.append(f"mv -f {source} {target}")
        is_created = digests.before is None and states[path] == digests.after
        if is_created and states[path] is not None and not is_complete:
            commands.append(f"rm {shlex.quote(str(path))}")
    return commands


def _escape(name: str) -> str:
    """Return a name as a glob pattern that matches only itself."""
    return "".join(f"[{letter}]" if letter in "*?[" else letter for letter in name)

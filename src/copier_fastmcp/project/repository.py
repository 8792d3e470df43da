"""Git, as the verbs need it."""

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

from ..errors import UnableError, one_line

# What git is told not to show would be deleted unseen, so it shows everything here.
ALL_FILES = ("-c", "status.showUntrackedFiles=all")


def git(folder: Path, *words: str) -> str:
    """What git prints.

    Raises:
        UnableError: Git is not there or refuses; its own last line says why.
    """
    return _run(folder, *ALL_FILES, *words)


def setting(folder: Path, name: str) -> str:
    """A setting of git's as its user has it; empty where there is none.

    Raises:
        UnableError: Git is not there or refuses; its own last line says why.
    """
    return _run(folder, "config", "--default", "", name).strip()


def _run(folder: Path, *words: str) -> str:
    try:
        done = subprocess.run(
            ["git", *words],
            cwd=folder,
            capture_output=True,
            text=True,
            check=True,
            errors="surrogateescape",
            env=os.environ | {"LC_ALL": "C"},  # what it says is read
        )
    except subprocess.CalledProcessError as error:
        lines = (error.stdout + error.stderr).strip().splitlines()
        fatal = [line for line in lines if line.startswith("fatal: ")]  # a hint may follow it
        why = one_line((fatal or lines or [error])[-1])
        if why.startswith("fatal: not a git repository"):
            why = "not a git repository; run `git init` and commit first"
        raise UnableError(f"git: {why}") from error
    except OSError as error:
        raise UnableError(f"git: {error}") from error
    return done.stdout


def changed(folder: Path, *words: str) -> dict[str, str]:
    """Each changed or untracked path of a repository, seen from its root, with git's two letters."""
    entries = git(folder, "status", "--porcelain", "-z", "--no-renames", *words).split("\0")
    return {entry[3:]: entry[:2] for entry in entries if entry}


def ignored(folder: Path, names: Sequence[str]) -> list[str]:
    """Those of some paths that git would not see; a tracked one is seen whatever .gitignore says.

    Raises:
        UnableError: Git is not there or refuses.
    """
    try:
        done = subprocess.run(
            ["git", "check-ignore", "-z", "--stdin"],
            cwd=folder,
            input="\0".join(names).encode("utf-8", "surrogateescape"),
            capture_output=True,
            check=False,
        )
    except OSError as error:
        raise UnableError(f"git: {error}") from error
    if done.returncode > 1:
        raise UnableError(f"git: {one_line(done.stderr.decode(errors='replace'))}")
    return [name for name in done.stdout.decode("utf-8", "surrogateescape").split("\0") if name]

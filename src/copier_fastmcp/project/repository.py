"""Git, as the verbs need it: without hooks, and without locks in the author's checkout."""

import os
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ..errors import UnableError, one_line

# Untracked files are listed whatever the user's settings hide.
ALL_FILES = ("-c", "status.showUntrackedFiles=all")
# Variables that point git at another repository than the one of the folder it runs in.
LOCATIONS = {
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_COMMON_DIR",
    "GIT_DIR",
    "GIT_INDEX_FILE",
    "GIT_NAMESPACE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_PREFIX",
    "GIT_WORK_TREE",
}
# Settings of every git process below this command: no program that a checkout names runs, nothing is packed.
SETTINGS = {
    "core.hooksPath": os.devnull,
    "core.fsmonitor": "false",
    "submodule.recurse": "false",
    "gc.auto": "0",
    "maintenance.auto": "false",
}
# For `git diff` and `git show`: no program of .git/config shows a file.
PLAIN_DIFF = ("--no-ext-diff", "--no-textconv", "--no-color")
VARIABLES = {
    "LC_ALL": "C",  # messages are parsed
    "GIT_OPTIONAL_LOCKS": "0",  # `git status` does not write the index
    "GIT_LFS_SKIP_SMUDGE": "1",  # a worktree needs no large files
}
# The lines above and below a conflict, the same as Copier writes.
CONFLICT_LABELS = ("before updating", "last update", "after updating")
MOST_CONFLICTS = 127  # git's exit code for that many or more; a higher one is an error
NO_REPOSITORY = "not a git repository; run `git init` and commit first"


def isolated_environment() -> dict[str, str]:
    """Return the environment for git, and for every program that starts git.

    Returns:
        The environment of this process, with hooks and optional locks disabled.
    """
    environment = dict(os.environ)
    for name in LOCATIONS:
        environment.pop(name, None)
    environment.update(VARIABLES)
    recorded_count = environment.get("GIT_CONFIG_COUNT", "0")
    count = int(recorded_count) if recorded_count.isdigit() else 0
    for key, value in SETTINGS.items():
        environment[f"GIT_CONFIG_KEY_{count}"] = key
        environment[f"GIT_CONFIG_VALUE_{count}"] = value
        count += 1
    environment["GIT_CONFIG_COUNT"] = str(count)
    return environment


def git(folder: Path, *words: str) -> str:
    """Run git and return its output.

    Raises:
        UnableError: Git is not installed or refuses; its own last line says why.
    """
    return _run(folder, *ALL_FILES, *words)


def read_setting(folder: Path, name: str) -> str:
    """Return a git setting of the user; empty where there is none.

    Raises:
        UnableError: Git is not installed or refuses; its own last line says why.
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
            env=isolated_environment(),
        )
    except subprocess.CalledProcessError as error:
        lines = (error.stdout + error.stderr).strip().splitlines()
        # a hint may follow it
        fatal = [line for line in lines if line.startswith("fatal: ")]
        reason = one_line((fatal or lines or [error])[-1])
        if reason.startswith("fatal: not a git repository"):
            reason = NO_REPOSITORY
        raise UnableError(f"git: {reason}") from error
    except OSError as error:
        raise UnableError(f"git: {error}") from error
    return done.stdout


def split_names(output: str) -> list[str]:
    """Return the names in an output that separates them with NUL."""
    return [name for name in output.split("\0") if name]


def list_changes(folder: Path, *words: str) -> dict[str, str]:
    """Return each changed or untracked path, relative to the repository's root, with git's two letters."""
    entries = split_names(
        git(folder, "status", "--porcelain", "-z", "--no-renames", *words)
    )
    return {entry[3:]: entry[:2] for entry in entries}


def list_ignored(folder: Path, names: Sequence[str]) -> list[str]:
    """Return those of some paths that git ignores; a tracked one counts whatever .gitignore says.

    Raises:
        UnableError: Git is not installed or refuses.
    """
    try:
        done = subprocess.run(
            ["git", "check-ignore", "-z", "--stdin"],
            cwd=folder,
            input="\0".join(names).encode("utf-8", "surrogateescape"),
            capture_output=True,
            check=False,
            env=isolated_environment(),
        )
    except OSError as error:
        raise UnableError(f"git: {error}") from error
    if done.returncode > 1:
        raise UnableError(f"git: {one_line(done.stderr.decode(errors='replace'))}")
    return split_names(done.stdout.decode("utf-8", "surrogateescape"))


@dataclass(frozen=True)
class MergedContent:
    """The bytes of a file after a merge; with markers where both sides changed the same lines."""

    data: bytes
    has_conflict: bool


def merge_contents(mine: bytes, base: bytes, updated: bytes) -> MergedContent:
    """Merge two changes of a text.

    Args:
        mine: The author's text.
        base: The text that both come from.
        updated: The text with the change to apply.

    Raises:
        UnableError: Git is not installed, or one of them is not a text.
    """
    words = ["git", "merge-file", "--stdout", "--quiet"]
    for label in CONFLICT_LABELS:
        words += ["-L", label]
    with tempfile.TemporaryDirectory() as place:
        for name, data in (("mine", mine), ("base", base), ("theirs", updated)):
            path = Path(place) / name
            path.write_bytes(data)
            words.append(str(path))
        try:
            done = subprocess.run(
                words, capture_output=True, check=False, env=isolated_environment()
            )
        except OSError as error:
            raise UnableError(f"git: {error}") from error
    if not 0 <= done.returncode <= MOST_CONFLICTS:
        raise UnableError(
            f"git merge-file: {one_line(done.stderr.decode(errors='replace'))}"
        )
    return MergedContent(done.stdout, bool(done.returncode))

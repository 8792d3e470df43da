"""Files of a repository written so that git, or we ourselves, can take all of it back."""

import shutil
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from ..errors import RefusedError, UnableError
from .repository import changed, ignored


def clean(root: Path, why: str, names: Sequence[str] = ()) -> None:
    """Make sure that git can undo what comes, and that this takes nobody's work.

    Args:
        root: A folder of the repository.
        why: What a clean tree is for, as a sentence ends.
        names: Only these paths of it.

    Raises:
        RefusedError: There are uncommitted changes, or this is not a git repository.
        UnableError: Git is not there.
    """
    try:
        held = sorted(changed(root, *(["--", *names] if names else [])))
    except UnableError as error:
        if shutil.which("git") is None:
            raise
        raise RefusedError(f"{error}, {why}") from error
    if held:
        more = f" and {len(held) - 3} more" if len(held) > 3 else ""
        raise RefusedError(f"commit {', '.join(held[:3])}{more} first, {why}")


def reachable(root: Path, paths: Iterable[Path]) -> None:
    """Make sure that each path lies in a repository, and that git sees it there.

    Raises:
        RefusedError: One is behind a link that leads out, or git ignores it.
        UnableError: Git is not there.
    """
    names = [path.relative_to(root).as_posix() for path in paths]
    for name in names:
        if not (root / name).resolve().is_relative_to(root):
            raise RefusedError(f"{name}: a link leads out of the repository; begin where it leads")
    if held := ignored(root, names):
        raise RefusedError(
            f"{held[0]}: .gitignore leaves it out, so git could not undo it; change that first"
        )


def write(files: Mapping[Path, bytes]) -> None:
    """Write files; what goes wrong before the last one, also Ctrl-C, is undone."""
    before: dict[Path, bytes] = {}
    made: list[Path] = []
    try:
        for path, held in files.items():
            for folder in reversed(path.parents):
                if not folder.exists():
                    folder.mkdir()
                    made.append(folder)
            if path.exists():
                before[path] = path.read_bytes()
            elif path.parent.is_dir():
                made.append(path)
            path.write_bytes(held)
    except BaseException:
        for path, held in before.items():
            path.write_bytes(held)
        for path in reversed(made):
            path.rmdir() if path.is_dir() else path.unlink(missing_ok=True)
        raise

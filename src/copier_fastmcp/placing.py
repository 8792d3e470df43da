"""A rendered project brought to its destination: nothing of somebody else's is overwritten unasked."""

import filecmp
import os
import shutil
from dataclasses import dataclass, field
from pathlib import Path

from .errors import RefusedError


@dataclass
class Placed:
    """What would be written, by how it meets what is there."""

    new: list[str] = field(default_factory=list)
    same: list[str] = field(default_factory=list)
    differ: list[str] = field(default_factory=list)


def compare(project: Path, destination: Path) -> Placed:
    """How the files of a rendered project meet those in a folder.

    Raises:
        RefusedError: The folder is a project already, or something in it is in the way.
    """
    if (destination / ".copier-answers.yml").exists():
        raise RefusedError(
            f"{destination} is a project already; change it with add, rename, remove, or copier update"
        )
    if destination.exists() and not destination.is_dir():
        raise RefusedError(f"{destination} is a file; name a folder")
    found = Placed()
    for path in sorted(project.rglob("*")):
        name = path.relative_to(project).as_posix()
        there = destination / name
        if path.is_dir():
            if there.exists() and not there.is_dir():
                raise RefusedError(f"{there} is a file where a folder has to be; move it")
        elif there.is_dir():
            raise RefusedError(f"{there} is a folder where a file has to be; move it")
        elif not there.exists() and not there.is_symlink():
            found.new.append(name)
        else:
            same = there.is_file() and filecmp.cmp(path, there, shallow=False)
            (found.same if same else found.differ).append(name)
    return found


def place(project: Path, destination: Path, placed: Placed, *, replace: bool) -> list[str]:
    """Copy what is new, and what differs where it may be replaced; all of it, or nothing.

    Returns:
        The files that were written.
    """
    written: list[Path] = []
    before: dict[Path, bytes] = {}
    made: list[Path] = []
    names = [*placed.new, *(placed.differ if replace else [])]
    try:
        for name in names:
            there = destination / name
            for folder in reversed([there.parent, *there.parent.parents]):
                if not folder.exists():
                    folder.mkdir()
                    made.append(folder)
            if name in placed.differ:
                before[there] = there.read_bytes()
            written.append(there)
            shutil.copy2(project / name, there)
    except BaseException:  # also Ctrl-C
        for path in written:
            if path in before:
                path.write_bytes(before[path])
            else:
                path.unlink(missing_ok=True)
        for folder in reversed(made):
            os.rmdir(folder)
        raise
    return names

"""A rendered project brought to its destination: nothing of somebody else's is overwritten unasked."""

import filecmp
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from copier_fastmcp_engine.testing.lock import FILE as LOCK

from ..errors import RefusedError
from ..project.pinning import TABLE

INSTALLED = (".venv", "uv.lock", LOCK, TABLE)  # what installing and pinning make


@dataclass
class Placement:
    """What would be written, by how it meets what is there."""

    new: list[str] = field(default_factory=list)
    same: list[str] = field(default_factory=list)
    differ: list[str] = field(default_factory=list)


def is_project(folder: Path) -> bool:
    """Whether a folder is a project of this template already."""
    return (folder / ".copier-answers.yml").exists()


def require_usable(destination: Path) -> None:
    """Refuse a folder in which no server can be made.

    Raises:
        RefusedError: It is a project already, or a file.
    """
    if is_project(destination):
        raise RefusedError(
            f"{destination} is a project already; change it with add, rename, remove, or copier update"
        )
    if destination.exists() and not destination.is_dir():
        raise RefusedError(f"{destination} is a file; name a folder")


def compare_files(project: Path, destination: Path) -> Placement:
    """How the files of a rendered project meet those in a folder.

    Raises:
        RefusedError: The folder is a project already, or something in it is in the way.
    """
    require_usable(destination)
    found = Placement()
    for path in sorted(project.rglob("*")):
        name = path.relative_to(project).as_posix()
        there = destination / name
        if path.is_dir():
            if there.exists() and not there.is_dir():
                raise RefusedError(
                    f"{there} is a file where a folder has to be; move it"
                )
        elif there.is_dir():
            raise RefusedError(f"{there} is a folder where a file has to be; move it")
        elif not there.exists() and not there.is_symlink():
            found.new.append(name)
        else:
            same = there.is_file() and filecmp.cmp(path, there, shallow=False)
            (found.same if same else found.differ).append(name)
    return found


@contextmanager
def place_files(
    project: Path, destination: Path, met: Placement, *, replace: bool
) -> Iterator[list[str]]:
    """Copy what is new, and what differs where it may be replaced.

    What goes wrong before the end of the `with`, also Ctrl-C, is undone, with what an installation
    put beside it.

    Yields:
        The files that were written.
    """
    names = [*met.new, *(met.differ if replace else [])]
    written: list[Path] = []
    before: dict[Path, bytes] = {}
    made: list[Path] = []
    beside = [one for name in INSTALLED if not (one := destination / name).exists()]
    try:
        for name in names:
            there = destination / name
            for folder in reversed([there.parent, *there.parent.parents]):
                if not folder.exists():
                    folder.mkdir()
                    made.append(folder)
            if name in met.differ:
                before[there] = there.read_bytes()
            written.append(there)
            shutil.copy2(project / name, there)
        yield names
    except BaseException:
        for path in [*written, *beside]:
            if path in before:
                path.write_bytes(before[path])
            elif path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)
        for folder in reversed(made):
            shutil.rmtree(folder, ignore_errors=True)
        raise

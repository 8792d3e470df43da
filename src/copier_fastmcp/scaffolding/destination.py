"""The destination of a rendered project: comparing its files, and writing them without overwriting unasked."""

import filecmp
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from copier_fastmcp_engine.testing.lock import FILE as LOCK

from ..errors import RefusedError
from ..project.pinning import TABLE

INSTALLED = (".venv", "uv.lock", LOCK, TABLE)  # results of installing and pinning


@dataclass
class Placement:
    """The files of a rendered project, compared with those of its destination.

    Attributes:
        new: Files that the destination does not have.
        same: Files with the same contents.
        differ: Files with other contents.
    """

    new: list[str] = field(default_factory=list)
    same: list[str] = field(default_factory=list)
    differ: list[str] = field(default_factory=list)


def is_project(folder: Path) -> bool:
    """Return whether a folder is a project of this template already."""
    return (folder / ".copier-answers.yml").exists()


def require_usable(destination: Path) -> None:
    """Refuse a folder in which no server can be created.

    Raises:
        RefusedError: The destination is a project already, or a file.
    """
    if is_project(destination):
        raise RefusedError(
            f"{destination} is a project already; change it with add, rename, remove, or copier update"
        )
    if destination.exists() and not destination.is_dir():
        raise RefusedError(f"{destination} is a file; name a folder")


def compare_files(project: Path, destination: Path) -> Placement:
    """Compare the files of a rendered project with those in a folder.

    Raises:
        RefusedError: The folder is a project already, or a file and a folder have the same name.
    """
    require_usable(destination)
    placement = Placement()
    for path in sorted(project.rglob("*")):
        name = path.relative_to(project).as_posix()
        target = destination / name
        if path.is_dir():
            if target.exists() and not target.is_dir():
                raise RefusedError(
                    f"{target} is a file where a folder has to be; move it"
                )
        elif target.is_dir():
            raise RefusedError(f"{target} is a folder where a file has to be; move it")
        elif not target.exists() and not target.is_symlink():
            placement.new.append(name)
        elif target.is_file() and filecmp.cmp(path, target, shallow=False):
            placement.same.append(name)
        else:
            placement.differ.append(name)
    return placement


class _Writer:
    """Copies files to a destination and can undo that.

    Attributes:
        destination: The destination.
        uninstalled: Paths that only an installation creates; undoing removes them.
    """

    def __init__(self, destination: Path) -> None:
        self.destination = destination
        self.uninstalled: list[Path] = []
        for name in INSTALLED:
            path = destination / name
            if not path.exists():
                self.uninstalled.append(path)
        self._files: list[Path] = []
        self._contents: dict[Path, bytes] = {}
        self._folders: list[Path] = []

    def copy(self, source: Path, name: str, *, overwrite: bool) -> None:
        target = self.destination / name
        for folder in reversed([target.parent, *target.parent.parents]):
            if not folder.exists():
                folder.mkdir()
                self._folders.append(folder)
        if overwrite:
            self._contents[target] = target.read_bytes()
        self._files.append(target)
        shutil.copy2(source, target)

    def undo(self) -> None:
        for path in [*self._files, *self.uninstalled]:
            if path in self._contents:
                path.write_bytes(self._contents[path])
            elif path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)
        for folder in reversed(self._folders):
            shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def place_files(
    project: Path, destination: Path, placement: Placement, *, replace: bool
) -> Iterator[list[str]]:
    """Copy new files, and on request those that differ.

    An error before the end of the `with`, also Ctrl-C, undoes the copy and the results of an installation.

    Args:
        project: The rendered project.
        destination: The destination.
        placement: The comparison of both.
        replace: Whether files that differ are replaced.

    Yields:
        The files that were written.
    """
    names = list(placement.new)
    if replace:
        names += placement.differ
    writer = _Writer(destination)
    try:
        for name in names:
            overwrite = name in placement.differ
            writer.copy(project / name, name, overwrite=overwrite)
        yield names
    except BaseException:
        writer.undo()
        raise

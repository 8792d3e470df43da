"""Files written into an author's working tree: only as long as they hold what the author was shown.

A file is never opened for writing. It is moved aside, compared with what is expected, and replaced; a file that was
saved meanwhile is moved back, and what was written before it is undone.
"""

import errno
import os
import shutil
import stat
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..errors import RefusedError, UnableError
from .interrupted_writes import (
    ASIDE,
    Digests,
    WriteJournal,
    aside_prefix,
    digest_of,
    refuse_interrupted_write,
)
from .repository import list_changes, list_ignored

EXECUTABLE = 0o111
NO_LINKS = {errno.EPERM, errno.ENOTSUP, errno.EACCES, errno.EMLINK, errno.ENOSYS}


@dataclass(frozen=True)
class Content:
    """What a path holds: the bytes of a file, or the target of a link."""

    data: bytes
    is_link: bool = False
    is_executable: bool = False


@dataclass(frozen=True)
class Change:
    """What a path holds before and after; None where there is no file."""

    before: Content | None
    after: Content | None


def read_content(path: Path) -> Content | None:
    """Return what a path holds; None where there is nothing.

    Raises:
        RefusedError: It is a folder.
    """
    try:
        if path.is_symlink():
            return Content(os.fsencode(os.readlink(path)), is_link=True)
        mode = path.stat().st_mode
        if stat.S_ISDIR(mode):
            raise RefusedError(f"{path} is a folder; move it away")
        return Content(path.read_bytes(), is_executable=bool(mode & 0o100))
    except (FileNotFoundError, NotADirectoryError):
        return None


def require_clean(root: Path, purpose: str, names: Sequence[str] = ()) -> None:
    """Require that there are no uncommitted changes.

    Args:
        root: A folder of the repository.
        purpose: What a clean tree is for, as the end of a sentence.
        names: Only these paths of it.

    Raises:
        RefusedError: There are uncommitted changes, or this is not a git repository.
        UnableError: Git is not installed.
    """
    try:
        held = sorted(list_changes(root, *(["--", *names] if names else [])))
    except UnableError as error:
        if shutil.which("git") is None:
            raise
        raise RefusedError(f"{error}, {purpose}") from error
    if held:
        rest_count = f" and {len(held) - 3} more" if len(held) > 3 else ""
        raise RefusedError(f"commit {', '.join(held[:3])}{rest_count} first, {purpose}")


def require_reachable(root: Path, paths: Iterable[Path]) -> None:
    """Require that each path is in the repository, and that git does not ignore it.

    Raises:
        RefusedError: One is behind a link that leads out, or git ignores it.
        UnableError: Git is not installed.
    """
    names = [path.relative_to(root).as_posix() for path in paths]
    for name in names:
        if not (root / name).resolve().is_relative_to(root):
            raise RefusedError(
                f"{name}: a link leads out of the repository; begin where it leads"
            )
    if held := list_ignored(root, names):
        raise RefusedError(
            f"{held[0]}: .gitignore leaves it out, so git could not undo it; change that first"
        )


def write_files(
    files: Mapping[Path, bytes], expected: Mapping[Path, bytes] | None = None
) -> None:
    """Write files; on an error, also Ctrl-C, those already written are undone.

    Args:
        files: The new bytes of each file.
        expected: The bytes that the author was shown; without them, those of this moment count.

    Raises:
        RefusedError: A file was changed meanwhile; nothing is written.
    """
    changes = {}
    for path, data in files.items():
        target = path.resolve() if path.is_symlink() else path
        before = read_content(target)
        if (
            expected
            and path in expected
            and (before is None or before.data != expected[path])
        ):
            raise RefusedError(
                f"{path} was changed meanwhile; nothing was written, try again"
            )
        is_executable = before is not None and before.is_executable
        changes[target] = Change(before, Content(data, is_executable=is_executable))
    write_changes(changes)


def write_changes(changes: Mapping[Path, Change]) -> None:
    """Bring each path from what it holds before to what it holds after: all of them or none.

    Raises:
        RefusedError: A path does not hold what is expected; it was changed meanwhile. Or a killed run left files
            half written.
        OSError: A file cannot be written.
    """
    if changes:
        refuse_interrupted_write(next(iter(changes)).parent)
    for path, change in changes.items():
        if read_content(path) != change.before:
            raise RefusedError(
                f"{path} was changed meanwhile; nothing was written, try again"
            )
    pending = {}
    for path, change in changes.items():
        if change.before != change.after:
            pending[path] = change
    journal = _record_write(pending)
    try:
        _write_all(pending)
    finally:
        journal.close()


def _record_write(changes: Mapping[Path, Change]) -> WriteJournal:
    """Record the write for a later run, which finds the record if this one is killed."""
    files = {}
    for path, change in changes.items():
        before = digest_of(change.before.data) if change.before else None
        after = digest_of(change.after.data) if change.after else None
        files[path] = Digests(before, after)
    return WriteJournal(files)


def _write_all(changes: Mapping[Path, Change]) -> None:
    """Write all paths, or undo those that were written."""
    steps: list[_Replacement] = []
    try:
        for path, change in changes.items():
            step = _Replacement(path, change)
            steps.append(step)
            step.do()
        for step in steps:
            step.verify()
    except BaseException:
        for step in reversed(steps):
            step.undo()
        raise
    for step in steps:
        step.finish()


class _Replacement:
    """One path, replaced: its old file is aside until all paths are written."""

    def __init__(self, path: Path, change: Change) -> None:
        self.path = path
        self.change = change
        self.folders: list[Path] = []
        self.aside: Path | None = None
        self.is_placed = False

    def do(self) -> None:
        """Move the old file aside, compare it, and put the new one in its place."""
        for folder in reversed(self.path.parents):
            if not folder.exists():
                folder.mkdir()
                self.folders.append(folder)
        if self.change.before is not None:
            aside = self._temporary()
            self.aside = aside
            try:
                os.replace(self.path, aside)
            except FileNotFoundError:
                self.aside = None
                raise self._changed() from None
            self.verify()
        if self.change.after is not None:
            self._place(self.change.after)
            self.is_placed = True

    def verify(self) -> None:
        """Refuse an old file that was saved meanwhile.

        Raises:
            RefusedError: It was.
        """
        if self.aside is not None and read_content(self.aside) != self.change.before:
            raise self._changed()

    def _changed(self) -> RefusedError:
        return RefusedError(
            f"{self.path} was changed meanwhile; nothing was written, try again"
        )

    def _temporary(self) -> Path:
        prefix = aside_prefix(self.path)
        handle, name = tempfile.mkstemp(
            dir=self.path.parent, prefix=prefix, suffix=ASIDE
        )
        os.close(handle)
        os.unlink(name)
        return Path(name)

    def _place(self, content: Content) -> None:
        """Create the file, but not over one that appeared meanwhile."""
        new = self._temporary()
        try:
            if content.is_link:
                os.symlink(os.fsdecode(content.data), new)
            else:
                new.write_bytes(content.data)
                if self.aside is not None and not self.aside.is_symlink():
                    shutil.copymode(self.aside, new)
                mode = stat.S_IMODE(new.stat().st_mode) & ~EXECUTABLE
                readable = (mode & 0o444) >> 2  # all who may read it may also run it
                new.chmod(mode | readable if content.is_executable else mode)
            self._rename(new, self.path)
        finally:
            new.unlink(missing_ok=True)

    def _rename(self, source: Path, target: Path) -> None:
        """Give a file its name, unless another file has it by now.

        Raises:
            RefusedError: Another file has it.
        """
        try:
            os.link(source, target, follow_symlinks=False)
        except FileExistsError:
            raise self._changed() from None
        except (OSError, NotImplementedError) as error:
            if isinstance(error, OSError) and error.errno not in NO_LINKS:
                raise
            if os.path.lexists(target):
                raise self._changed() from None
            os.rename(source, target)

    def undo(self) -> None:
        """Put the old file back, unless the author has saved another one in its place."""
        if self.is_placed:
            self._take_back()
        if self.aside is not None and not os.path.lexists(self.path):
            os.rename(self.aside, self.path)
            self.aside = None
        elif self.aside is not None and read_content(self.aside) == self.change.before:
            self.aside.unlink()  # git has it
        for folder in reversed(self.folders):
            try:
                folder.rmdir()
            except OSError:  # somebody put a file there
                break

    def _take_back(self) -> None:
        """Remove what was written, unless the author has saved another text over it."""
        taken = self._temporary()
        try:
            os.replace(self.path, taken)
        except FileNotFoundError:
            return
        if read_content(taken) != self.change.after:
            self._rename(taken, self.path)
        taken.unlink(missing_ok=True)

    def finish(self) -> None:
        """Delete the old file; one that was saved after all is kept, and named."""
        if self.aside is None:
            return
        if read_content(self.aside) == self.change.before:
            self.aside.unlink(missing_ok=True)
            return
        backup = self.path.with_name(f"{self.path.name}.yours")
        os.replace(self.aside, backup)
        raise RefusedError(
            f"{self.path} was saved meanwhile; what was saved is in {backup}"
        )


def delete_empty_folders(root: Path, deleted: Iterable[Path]) -> None:
    """Delete the folders that held nothing but deleted files, and what Python compiled of these.

    A folder that stays would be imported as an empty package.

    Args:
        root: The folder in which the files were.
        deleted: The deleted files.
    """
    for path in deleted:
        for compiled in (path.parent / "__pycache__").glob(f"{path.stem}.*.pyc"):
            compiled.unlink()
        for folder in path.parents:
            if folder == root:
                break
            caches = folder / "__pycache__"
            if caches.is_dir() and not any(caches.iterdir()):
                caches.rmdir()
            if not folder.is_dir() or any(folder.iterdir()):
                break
            folder.rmdir()

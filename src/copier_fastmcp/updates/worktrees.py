"""A second checkout of a repository: changes are made there, and only a branch reaches the author's.

The author's working tree, index, stash and untracked files are never opened for writing. Only `.git` gains
something: the registration of the worktree while it exists, objects, and in the end the branch.
"""

import os
import re
import shutil
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import BinaryIO

from ..errors import RefusedError, UnableError, print_message
from ..project.interrupted_writes import refuse_interrupted_write, try_lock
from ..project.repository import (
    NO_REPOSITORY,
    git,
    list_changes,
    read_setting,
    split_names,
)

# The prefix of the temporary folders, so that nothing else is ever removed
PREFIX = "copier-fastmcp-"
# A folder in .git, with one locked file for each worktree that exists
REGISTRY = "copier-fastmcp"
SHOWN = 5
# What Python reads of bytes that are no UTF-8.
SURROGATE = re.compile("[\ud800-\udfff]")
CACHES = {"__pycache__", ".venv", ".ruff_cache", ".mypy_cache", ".pytest_cache"}
# Settings that a clone would otherwise lack, since they may be set for the repository only.
CLONED_SETTINGS = (
    "user.name",
    "user.email",
    "user.signingkey",
    "commit.gpgsign",
    "gpg.format",
    "core.autocrlf",
    "core.eol",
    "core.symlinks",
)
STATES = {"A": "new", "D": "removed"}


def shorten(names: Iterable[str]) -> str:
    """Join names for a message, at most a few of them."""
    names = sorted(names)
    remainder = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + remainder


@dataclass
class Registration:
    """A locked file in `.git` with the path of a temporary folder, so that a later run finds a killed one's."""

    path: Path
    file: BinaryIO

    @classmethod
    def of(cls, registry: Path, folder: Path) -> "Registration":
        """Register a temporary folder.

        Raises:
            UnableError: The repository cannot be written.
        """
        path = registry / folder.name
        try:
            registry.mkdir(exist_ok=True)
            file = path.open("xb+", buffering=0)
        except OSError as error:
            raise UnableError(
                f"{registry} cannot be written: {error.strerror}"
            ) from error
        # A run that cleans up at this moment would find an unlocked file; an empty one it leaves alone.
        try_lock(file)
        file.write(os.fsencode(folder))
        return cls(path, file)

    def remove(self) -> None:
        """Forget the folder."""
        self.file.close()
        self.path.unlink(missing_ok=True)


def _registry(root: Path) -> Path:
    common = git(root, "rev-parse", "--git-common-dir").strip()
    return (root / common).resolve() / REGISTRY


def remove_leftovers(root: Path) -> list[Path]:
    """Remove the worktrees that killed runs left behind; those of living processes stay.

    Args:
        root: The root of a repository.

    Returns:
        The folders that were removed.
    """
    registry, removed = _registry(root), []
    for path in sorted(registry.glob(PREFIX + "*")):
        try:
            with path.open("rb+", buffering=0) as file:
                folder = Path(os.fsdecode(file.read()))
                if not folder.name.startswith(PREFIX) or not try_lock(file):
                    continue
                _remove_folder(root, folder)
        except OSError:  # its process has just removed it, or locks it on Windows
            continue
        path.unlink(missing_ok=True)
        removed.append(folder)
    return removed


def _remove_folder(root: Path, folder: Path) -> None:
    """Remove a temporary folder, and the worktree in it from git's list."""
    for line in git(root, "worktree", "list", "--porcelain").splitlines():
        path = Path(line.removeprefix("worktree "))
        if line.startswith("worktree ") and path.parent == folder:
            try:
                git(root, "worktree", "remove", "--force", "--force", str(path))
            except UnableError as error:
                print_message(f"{path}: {error}")
    shutil.rmtree(folder, ignore_errors=True)


@dataclass
class Worktree:
    """A checkout of a repository's HEAD in a temporary folder, for as long as the `with` block runs.

    It is a linked worktree, or a clone where the repository is sparse or forbids one. A later run removes what a
    killed run left behind.

    Attributes:
        checkout: The author's folder: a generated project, which may be part of a larger repository.
        repository: The root of the author's checkout.
        prefix: The project's path in the repository; empty for the root.
        start: The commit that HEAD names.
        root: The root of the temporary checkout.
        project: The project in it.
    """

    checkout: Path
    repository: Path = field(init=False)
    prefix: str = field(init=False)
    start: str = field(init=False)
    root: Path = field(init=False)
    project: Path = field(init=False)
    _folder: Path = field(init=False)
    _registration: Registration = field(init=False)
    _is_clone: bool = field(init=False, default=False)
    _left_by_checks: set[str] = field(init=False, default_factory=set)

    def __post_init__(self) -> None:
        """Find the repository and its commit.

        Raises:
            RefusedError: The folder is in no repository.
            UnableError: The repository has no commit.
        """
        self.checkout = self.checkout.resolve()
        try:
            top = git(self.checkout, "rev-parse", "--show-toplevel").rstrip("\n")
        except UnableError as error:
            if NO_REPOSITORY not in str(error):
                raise
            raise RefusedError(f"{self.checkout} is {NO_REPOSITORY}") from error
        self.repository = Path(top).resolve()
        self.prefix = project_prefix(self.checkout)
        try:
            self.start = git(
                self.checkout, "rev-parse", "--verify", "--quiet", "HEAD"
            ).strip()
        except UnableError as error:
            raise UnableError(
                f"{self.repository} has no commit; commit first"
            ) from error

    def __enter__(self) -> "Worktree":
        """Create the checkout.

        Raises:
            RefusedError: A killed run left files of the author's tree half written.
            UnableError: Git cannot, or the commit is changed by checking it out.
        """
        refuse_interrupted_write(self.checkout)
        remove_leftovers(self.repository)
        self._folder = Path(tempfile.mkdtemp(prefix=PREFIX)).resolve()
        try:
            self._registration = Registration.of(
                _registry(self.repository), self._folder
            )
        except UnableError:
            self._folder.rmdir()
            raise
        try:
            self.root = self._folder / self.repository.name
            self._check_out()
            self.project = self.root / self.prefix
            if not self.project.is_dir():
                raise UnableError(
                    f"{self.checkout} is not in the last commit; commit it first"
                )
            if unlike := list_changes(self.root):
                problem = "differ from the commit as soon as git checks them out"
                fix = "`git add --renormalize .` and commit"
                raise UnableError(f"{shorten(unlike)}: {problem}; {fix}")
        except BaseException:
            self._remove()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Remove the checkout."""
        self._remove()

    def _check_out(self) -> None:
        """Make a linked worktree; a clone where the repository is sparse or forbids worktrees."""
        is_sparse = read_setting(self.repository, "core.sparseCheckout") == "true"
        if not is_sparse:
            place = str(self.root)
            try:
                git(
                    self.repository,
                    "worktree",
                    "add",
                    "--detach",
                    "--quiet",
                    place,
                    self.start,
                )
            except UnableError:
                shutil.rmtree(self.root, ignore_errors=True)
            else:
                return
        self._is_clone = True
        words = (
            "clone",
            "--quiet",
            "--shared",
            "--no-checkout",
            "--no-tags",
            ".",
            str(self.root),
        )
        git(self.repository, *words)
        for name in CLONED_SETTINGS:
            if value := read_setting(self.repository, name):
                git(self.root, "config", name, value)
        git(self.root, "switch", "--quiet", "--detach", self.start)

    def _remove(self) -> None:
        """Remove everything temporary."""
        try:
            _remove_folder(self.repository, self._folder)
        except UnableError as error:
            print_message(f"{self._folder}: {error}; the next run removes it")
        finally:
            self._registration.remove()

    def stage(self) -> None:
        """Stage every file of a change, also new ones that .gitignore names: a release may bring one.

        What a check left behind, and .gitignore names, is not staged.
        """
        git(self.root, "add", "--all")
        ignored = []
        for name in self._ignored_files():
            if name not in self._left_by_checks:
                ignored.append(name)
        if ignored:
            git(self.root, "add", "--force", "--", *ignored)

    def stage_files(self, names: Iterable[str]) -> None:
        """Stage only these files of the project, as far as they exist; programs that ran may have left others."""
        existing = [name for name in names if (self.project / name).is_file()]
        if existing:
            git(self.project, "add", "--force", "--", *existing)

    def _ignored_files(self) -> list[str]:
        words = ("ls-files", "--others", "--ignored", "--exclude-standard", "-z")
        listed = split_names(git(self.root, *words))
        return [name for name in listed if not CACHES & {*Path(name).parts}]

    def restore(self) -> None:
        """Restore the temporary checkout to its last commit, for example after a check; caches stay."""
        git(self.root, "restore", "--source=HEAD", "--staged", "--worktree", ":/")
        listed = git(self.root, "ls-files", "--others", "--exclude-standard", "-z")
        for name in split_names(listed):
            (self.root / name).unlink(missing_ok=True)
        self._left_by_checks = set(self._ignored_files())

    def commit(self, message: str) -> None:
        """Commit what is staged, if anything is.

        Raises:
            UnableError: Git refuses, for example since it does not know the author.
        """
        if git(self.root, "diff", "--cached", "--name-only"):
            git(self.root, "commit", "--quiet", "--message", message)

    def head(self) -> str:
        """Return the commit of the temporary checkout."""
        return git(self.root, "rev-parse", "HEAD").strip()

    def files(self) -> dict[str, str]:
        """Return each file that differs from the start: new, changed or removed, as paths in the repository."""
        words = ("diff", "--cached", "--name-status", "--no-renames", "-z", self.start)
        fields = split_names(git(self.root, *words))
        states = {}
        for letter, name in zip(fields[::2], fields[1::2], strict=True):
            states[name] = STATES.get(letter, "changed")
        return states

    def is_mergeable(self, name: str) -> bool:
        """Return whether a merge keeps every byte that a file had at the start: it was UTF-8 without NUL."""
        text = git(self.root, "cat-file", "blob", f"{self.start}:{name}")
        return "\0" not in text and SURROGATE.search(text) is None

    def clashes(self, files: Mapping[str, str]) -> list[str]:
        """Return the author's untracked or ignored files that a merge of new files would overwrite.

        Args:
            files: As `files` returns them.
        """
        names = []
        for name, state in files.items():
            if state != "new":
                continue
            for path in (Path(name), *Path(name).parents):
                mine = self.repository / path
                is_parent = path.as_posix() != name
                if not os.path.lexists(mine) or (is_parent and mine.is_dir()):
                    continue
                if mine.is_dir() and not mine.is_symlink() and not any(mine.iterdir()):
                    continue  # git replaces an empty folder
                names.append(path.as_posix())
                break
        return sorted(set(names))

    def refuse_clashes(self) -> None:
        """Refuse a change that adds a file where the author has one that no commit holds.

        Raises:
            RefusedError: Such a file exists.
        """
        names = self.clashes(self.files())
        if not names:
            return
        is_single = len(names) == 1
        state = "is here and in no commit" if is_single else "are here and in no commit"
        pronoun = "it" if is_single else "them"
        fix = f"move {pronoun}, or track {pronoun} (git add --force) and commit"
        raise RefusedError(
            f"{shorten(names)}: {state}, and the change adds {pronoun}; {fix}"
        )

    def publish(self, branch: str) -> None:
        """Create a branch of the author's repository at the commit of the temporary checkout.

        Raises:
            RefusedError: The branch exists and holds other work or is checked out, or a file is in the way.
            UnableError: Git refuses.
        """
        self.refuse_clashes()
        before = self.require_free(branch)
        head = self.head()
        if self._is_clone:
            words = ("fetch", "--quiet", "--no-tags", "--no-write-fetch-head")
            git(self.repository, *words, str(self.root), "HEAD")
        try:
            # git's word for "there is no such branch"
            expected = before or "0" * len(head)
            git(self.repository, "update-ref", f"refs/heads/{branch}", head, expected)
        except UnableError as error:
            if self.branch_commit(branch) != before:
                raise RefusedError(
                    f"the branch {branch} was made meanwhile; try again"
                ) from error
            raise

    def branch_commit(self, branch: str) -> str:
        """Return the commit of a branch; empty where there is none."""
        words = ("for-each-ref", "--format=%(objectname)", f"refs/heads/{branch}")
        return git(self.repository, *words).strip()

    def require_free(self, branch: str) -> str:
        """Refuse a branch that holds other work.

        Returns:
            The commit of the branch; empty where it does not exist.

        Raises:
            RefusedError: The branch is not merged into HEAD, is checked out, or has no valid name.
        """
        return require_free(self.repository, branch)


def project_prefix(project: Path) -> str:
    """Return the path of a project in its repository; empty for the root."""
    return git(project, "rev-parse", "--show-prefix").rstrip("\n").rstrip("/")


def is_merged(repository: Path, branch: str) -> bool:
    """Return whether a branch exists, and HEAD contains it."""
    return bool(
        git(repository, "for-each-ref", "--merged=HEAD", f"refs/heads/{branch}")
    )


def require_free(repository: Path, branch: str) -> str:
    """Refuse a branch that holds other work; see `Worktree.require_free`."""
    try:
        git(repository, "check-ref-format", "--branch", branch)
    except UnableError as error:
        raise RefusedError(f"{branch!r} is not a name for a branch") from error
    format_ = "--format=%(objectname)%00%(worktreepath)"
    row = git(repository, "for-each-ref", format_, f"refs/heads/{branch}").rstrip("\n")
    if not row:
        return ""
    commit, _, place = row.partition("\0")
    remedy = "name another with --branch"
    if not is_merged(repository, branch):
        raise RefusedError(
            f"the branch {branch} is there; merge it or delete it, or {remedy}"
        )
    if place:
        raise RefusedError(f"the branch {branch} is checked out in {place}; {remedy}")
    return commit

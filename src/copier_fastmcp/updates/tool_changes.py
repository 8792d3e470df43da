"""A change of a server's tools, made in a worktree: in the answers, by Copier, then in files and in the lock."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import chdir, contextmanager
from pathlib import Path
from typing import Any

from ..errors import print_message
from ..project import copier_process
from ..project.pinning import PIN, PINNED, pin
from ..project.repository import git
from .checkouts import put_into_tree
from .worktrees import Worktree


@contextmanager
def inside_worktree() -> Iterator[Worktree]:
    """Run a block in a worktree of the project in the current folder, at its last commit."""
    with Worktree(Path.cwd()) as worktree, chdir(worktree.project):
        yield worktree


def change_tools(
    worktree: Worktree,
    answers: Mapping[str, Any],
    tools: list[Any] | None,
    *,
    trust: bool,
    edit: Callable[[], object] = lambda: None,
) -> dict[str, str]:
    """Change the answer `tools`, edit files, and pin; the current folder is the worktree's project.

    Args:
        worktree: The worktree.
        known: The recorded answers.
        tools: The new answer; None where it stays.
        trust: Whether the template may run its code.
        edit: Edits files after Copier has written its own.

    Returns:
        Each file that is new, changed or removed, as paths in the repository.

    Raises:
        RefusedError: The template has code, and nobody trusts it.
        UnableError: Copier, git or the new server fails.
    """
    if tools is not None:
        source, version = answers["_src_path"], answers["_commit"]
        code = copier_process.require_trust(source, version, version, trust=trust)
        if code:
            print_message(code)
        # It is the same version, and the worktree has no file in the way: nothing can be lost.
        copier_process.update(
            Path(), version, {"tools": tools}, trust=bool(code), guarded=False
        )
    edit()
    worktree.stage()
    if PIN.is_file():
        pin(Path(), in_worktree=True)
        worktree.stage_files(PINNED)
    return worktree.files()


def deliver(worktree: Worktree, branch: str, message: str, *, here: bool) -> str:
    """Create a branch with the change of a worktree, or write the change into the author's clean tree.

    Returns:
        The line that tells the user where the change is.

    Raises:
        RefusedError: The branch or a file is in the way, or the tree is not clean.
    """
    if here:
        put_into_tree(worktree)
        return "in your working tree, not staged: look at it with git diff, then commit"
    worktree.commit(message)
    worktree.publish(branch)
    return f"on the branch {branch}: look at it, then git merge {branch}"


def new_files(*folders: str) -> list[str]:
    """Return the untracked files below some folders, as paths in the current folder."""
    listed = git(
        Path(), "ls-files", "--others", "--exclude-standard", "-z", "--", *folders
    )
    return [name for name in listed.split("\0") if name]

"""The branch that an update stands on, and the way back from it."""

from pathlib import Path

from ..errors import UnableError, tell
from ..project.repository import changed, git

MOVED = "The template is at "  # how the commit begins that records a new address of the template


def taken(project: Path, branch: str) -> bool:
    """Whether a branch holds work that is not merged here."""
    if not git(project, "branch", "--list", branch):
        return False
    try:
        git(project, "merge-base", "--is-ancestor", branch, "HEAD")
    except UnableError:
        return True
    return False


def make_sure_it_is_free(project: Path, branch: str) -> None:
    """Refuse a branch that could not be written without losing what it holds.

    Raises:
        UnableError: It holds work that is not merged here.
    """
    if taken(project, branch):
        raise UnableError(f"the branch {branch} is there; merge it or delete it")


def undone(project: Path, steps: list[tuple[str, ...]]) -> bool:
    """Put a checkout back; whether that went well."""
    try:
        for words in steps:
            git(project, *words)
    except UnableError:
        return False
    return True


def begun(project: Path) -> Path:
    """Where it stands that an update has begun; it is there after one that was killed."""
    return project / git(project, "rev-parse", "--git-path", "copier-fastmcp-begun").strip()


def pick_up(project: Path) -> None:
    """Put back what a killed update left; nothing is lost, for git stashes it."""
    if not (mark := begun(project)).is_file():
        return
    branch, _, start = mark.read_text(encoding="utf-8").partition(" ")
    head, parents, subject = git(project, "log", "-1", "--format=%H%n%P%n%s").splitlines()
    moved = parents == start and subject.startswith(MOVED)
    if head == start or moved:
        if changed(project):
            left = "what an update left that was killed"
            git(project, "stash", "push", "--quiet", "--include-untracked", "--message", left)
            tell(f"{project}: {left} is stashed; `git stash drop` forgets it")
        if moved:
            git(project, "reset", "--hard", "--quiet", start)
        if branch != "HEAD":
            git(project, "switch", "--quiet", branch)
    mark.unlink()


def keep(project: Path, target: str) -> None:
    """Let a conflict stand on its branch; git has it unmerged until somebody resolves it.

    Raises:
        UnableError: The branch is there, and holds other work.
    """
    make_sure_it_is_free(project, target)
    git(project, "branch", "--force", target)
    git(project, "symbolic-ref", "HEAD", f"refs/heads/{target}")


def leave(project: Path, branch: str, start: str) -> None:
    """Let the branch that was checked out stand where it did."""
    if branch != "HEAD" and git(project, "rev-parse", branch).strip() != start:
        git(project, "branch", "--force", branch, start)

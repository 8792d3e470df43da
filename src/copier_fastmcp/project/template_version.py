"""The version of a template that a project records: one that an update can find again."""

import sys
from pathlib import Path

from ..errors import RefusedError, UnableError
from .origin import Template
from .repository import git, list_changes

NAMED = ("--branches", "--tags", "--remotes")


def find_recordable_version(template: Template) -> Template:
    """A template at a commit that a branch, a tag or a remote reaches, for every verb that records one.

    Copier commits a checkout's uncommitted work to a place of its own, and records that commit, which no
    later update finds. So the nearest commit that can be found is recorded, with a warning on stderr.

    Args:
        template: An address, and a tag, branch or commit; only a folder on this machine can be checked.

    Raises:
        RefusedError: No commit of the checkout can be found again.
        UnableError: There is no such tag, branch or commit.
    """
    folder = Path(template.source)
    if ":" in template.source or not folder.is_dir():
        return template
    try:
        commit = git(
            folder, "rev-parse", "--verify", "--quiet", f"{template.ref}^{{commit}}"
        ).strip()
    except UnableError as error:
        where = f"{template.source} has no commit {template.ref}"
        raise UnableError(
            f"{where}; name a tag, a branch or a commit with --ref"
        ) from error
    reached = _nearest(folder, commit)
    if not reached:
        raise RefusedError(
            f"no branch or tag of {template.source} reaches {commit[:12]}, so an update could not find it; "
            "make a branch there first"
        )
    if reached != commit:
        _warn(
            f"no branch or tag reaches {commit[:12]}; {reached[:12]} is used and recorded"
        )
        return Template(template.source, reached)
    if template.ref == "HEAD" and list_changes(folder):
        _warn(
            f"{template.source} has uncommitted changes; {commit[:12]} is used, without them"
        )
        return Template(template.source, commit)
    return template


def _nearest(folder: Path, commit: str) -> str:
    """The commit, or the nearest before it, that a branch, a tag or a remote reaches; empty: none is."""
    lines = git(folder, "rev-list", "--boundary", commit, "--not", *NAMED).split()
    if not lines:
        return commit
    boundary = [line.removeprefix("-") for line in lines if line.startswith("-")]
    return boundary[0] if boundary else ""


def _warn(text: str) -> None:
    print(f"warning: {text}", file=sys.stderr)

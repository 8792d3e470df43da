"""A changed answer, applied to the files that its author owns: three ways, with two renders as base and as change."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..project import copier_process
from ..project.ownership import OWNERS, is_same_text, list_files
from ..project.repository import merge_contents

CRLF, LF = b"\r\n", b"\n"


@dataclass
class FileMerges:
    """What became of an author's files whose answers changed, as paths in the project.

    Attributes:
        merged: Files that have the change.
        removed: Files without edits whose tool is gone.
        conflicts: Files with markers where the author edited the same lines.
        kept: A line for each file that stays as it is, with the reason and the fix.
    """

    merged: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    conflicts: list[str] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)


def merge_changed_answers(
    project: Path, before: Mapping[str, Any], after: Mapping[str, Any]
) -> FileMerges:
    """Apply to an author's files what changed answers change in a render of them.

    Args:
        project: The project, in a worktree, where Copier has already written the files of new tools.
        before: The answers before, with the template and the version that they name.
        after: The answers now; they are rendered at the same version, so that only answers make a difference.

    Returns:
        What became of each file.

    Raises:
        RefusedError: The template refuses an answer.
        UnableError: The template cannot be reached, or git fails.
    """
    origin = {"_src_path": before["_src_path"], "_commit": before["_commit"]}
    merges = FileMerges()
    if _answers(before) == _answers(after):
        return merges
    with copier_process.render_both({**before}, {**after, **origin}) as (base, change):
        names = list_files(base) | list_files(change)
        for name in sorted(names):
            if OWNERS.fullmatch(name):
                _merge_file(project, name, base, change, merges)
    return merges


def _answers(known: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in known.items() if not name.startswith("_")}


def _merge_file(
    project: Path, name: str, base: Path, change: Path, merges: FileMerges
) -> None:
    """Merge one file of an author."""
    old, new = _read(base / name), _read(change / name)
    mine = _read(project / name)
    path = project / name
    if old == new or (mine is None and new is None):
        return
    if new is None and mine is not None:
        if old is not None and is_same_text(mine, old):
            path.unlink()
            merges.removed.append(name)
        else:
            merges.kept.append(
                f"{name}: nothing in the answers needs it any more, but it has edits of yours; delete it if it may go"
            )
        return
    if old is None:
        _add_file(path, name, mine, new or b"", merges)
        return
    if mine is None:
        merges.kept.append(
            f"{name}: is not here, so the change of its answers has no file; write it where you moved the code"
        )
        return
    if CRLF in mine:
        old, new = _with_crlf(old), _with_crlf(new or b"")
    result = merge_contents(mine, old, new or b"")
    if result.data != mine:
        path.write_bytes(result.data)
    if result.has_conflict:
        merges.conflicts.append(name)
    elif result.data != mine:
        merges.merged.append(name)


def _add_file(
    path: Path, name: str, mine: bytes | None, new: bytes, merges: FileMerges
) -> None:
    """Write a file that the answers did not need before; Copier has written those of new tools."""
    if mine is None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(new)
        merges.merged.append(name)
    elif not is_same_text(mine, new):
        merges.kept.append(
            f"{name}: was here before the answers named it, and stays as you wrote it"
        )


def _with_crlf(data: bytes) -> bytes:
    return data.replace(CRLF, LF).replace(LF, CRLF)


def _read(path: Path) -> bytes | None:
    return path.read_bytes() if path.is_file() else None

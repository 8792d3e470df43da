"""A changed answer, applied to the files that its author owns: three ways, with two renders as base and as change."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from itertools import pairwise
from pathlib import Path
from typing import Any

from ..project import copier_process
from ..project.ownership import OWNERS, is_same_text, list_files
from ..project.repository import MergedContent, merge_contents

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
    result = _merge(mine, old, new or b"")
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


def _merge(mine: bytes, base: bytes, theirs: bytes) -> MergedContent:
    """Merge two changes of a text; git marks the conflict where both changed the same lines."""
    merged = merge_lines(mine, base, theirs)
    if merged is not None:
        return MergedContent(merged, has_conflict=False)
    return merge_contents(mine, base, theirs)


@dataclass(frozen=True, order=True)
class _Edit:
    """Lines of the base, from `start` to before `end`, that one side replaces."""

    start: int
    end: int
    lines: tuple[bytes, ...]


def merge_lines(mine: bytes, base: bytes, theirs: bytes) -> bytes | None:
    """Merge two changes of a text line by line.

    Git takes changes of neighboring lines for a conflict, as of a docstring and of the request below it. Here they
    are none: only lines that both sides change are.

    Args:
        mine: The author's text.
        base: The text that both come from.
        theirs: The text with the change to apply.

    Returns:
        The merged text; None where both sides change the same lines, or insert at the same place.
    """
    lines = base.splitlines(keepends=True)
    edits = {*_edits(lines, mine.splitlines(keepends=True))}
    edits |= {*_edits(lines, theirs.splitlines(keepends=True))}
    ordered = sorted(edits)
    for edit, following in pairwise(ordered):
        if following.start < edit.end or following.start == edit.start:
            return None
    for edit in reversed(ordered):
        lines[edit.start : edit.end] = edit.lines
    return b"".join(lines)


def _edits(base: Sequence[bytes], text: Sequence[bytes]) -> list[_Edit]:
    """Return what one side changes; a replacement of as many lines is one edit for each line."""
    edits = []
    matcher = SequenceMatcher(None, base, text, autojunk=False)
    for tag, start, end, first, last in matcher.get_opcodes():
        if tag == "equal":
            continue
        if end - start == last - first:
            for offset in range(end - start):
                at = start + offset
                edits.append(_Edit(at, at + 1, (text[first + offset],)))
        else:
            edits.append(_Edit(start, end, tuple(text[first:last])))
    return edits

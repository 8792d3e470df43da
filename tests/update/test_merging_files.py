"""Changed answers applied to files of an author, three ways; Copier is not run."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from copier_fastmcp.project import copier_process
from copier_fastmcp.updates.file_merges import (
    FileMerges,
    merge_changed_answers,
    merge_lines,
)

NAME = "src/p/tools/get_note.py"
OLD = "one\ntwo\nthree\nfour\nfive\nsix\n"
NEW = OLD.replace("five", "FIVE")
BEFORE = {"_src_path": "t", "_commit": "v1", "tools": ["get_note"]}


def merge(
    monkeypatch: pytest.MonkeyPatch,
    folder: Path,
    base: str | None,
    change: str | None,
    mine: str | None,
) -> tuple[FileMerges, str | None]:
    """Merge one file; what it was before, what answers change, and what its author has."""
    path = folder / "project" / NAME
    for place, text in (("base", base), ("change", change), ("project", mine)):
        file = folder / place / NAME
        file.parent.mkdir(parents=True)
        if text is not None:
            file.write_bytes(text.encode())

    @contextmanager
    def renders(former: object, latter: object) -> Iterator[tuple[Path, Path]]:
        yield folder / "base", folder / "change"

    monkeypatch.setattr(copier_process, "render_both", renders)
    merges = merge_changed_answers(folder / "project", BEFORE, {**BEFORE, "tools": []})
    return merges, path.read_bytes().decode() if path.is_file() else None


def test_edits_of_other_lines_stay(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    merges, text = merge(monkeypatch, tmp_path, OLD, NEW, OLD.replace("one", "mine"))
    assert text == NEW.replace("one", "mine")
    assert merges == FileMerges(merged=[NAME])


def test_edits_of_the_same_line_are_a_conflict(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    merges, text = merge(monkeypatch, tmp_path, OLD, NEW, OLD.replace("five", "mine"))
    assert merges == FileMerges(conflicts=[NAME])
    assert text is not None
    assert (
        "<<<<<<< before updating\nmine\n=======\nFIVE\n>>>>>>> after updating" in text
    )


def test_line_ends_are_no_edit(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    mine = OLD.replace("\n", "\r\n")
    merges, text = merge(monkeypatch, tmp_path, OLD, NEW, mine)
    assert (merges, text) == (FileMerges(merged=[NAME]), NEW.replace("\n", "\r\n"))


@pytest.mark.parametrize(
    ("mine", "expected"),
    [(OLD, None), (OLD + "mine\n", OLD + "mine\n")],
    ids=["unedited", "edited"],
)
def test_a_file_that_no_answer_needs_goes_only_without_edits(
    mine: str, expected: str | None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    merges, text = merge(monkeypatch, tmp_path, OLD, None, mine)
    assert text == expected
    assert merges.removed == ([] if expected else [NAME])
    assert len(merges.kept) == (1 if expected else 0)


def test_a_file_that_was_there_before_stays(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    merges, text = merge(monkeypatch, tmp_path, None, NEW, "mine\n")
    assert text == "mine\n"
    assert len(merges.kept) == 1


def test_a_deleted_file_stays_deleted(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    merges, text = merge(monkeypatch, tmp_path, OLD, NEW, None)
    assert text is None
    assert len(merges.kept) == 1


@pytest.mark.parametrize(
    ("mine", "release_text", "merged"),
    [
        ("A2345", "1B345", "AB345"),
        ("A2345", "A2345", "A2345"),
        ("12345", "1234", "1234"),
        ("X12345", "123456", "X123456"),
        ("1245", "1234Y5", "124Y5"),
        ("A2345", "B2345", None),
        ("1X2345", "1Y2345", None),
        ("1245", "12Z45", None),
        ("12", "AB345", "AB"),
    ],
)
def test_only_lines_that_both_change_are_a_conflict(
    mine: str, release_text: str, merged: str | None
) -> None:
    texts = ["\n".join(text).encode() + b"\n" for text in (mine, "12345", release_text)]
    merges = merge_lines(*texts)
    assert merges == (None if merged is None else ("\n".join(merged) + "\n").encode())

"""`tools list` in terminals of several widths."""

import pytest

from copier_fastmcp_engine.commands import format_table

HEAD = ["Tool", "Toolset", "Behavior", "Read-only", "Destructive", "Gate"]
DELETE_NOTE = ["delete_note", "", "delete", "no", "yes", "asks"]
GET_NOTE = ["get_note", "notes", "read", "yes", "no", ""]
TABLE = [HEAD, DELETE_NOTE, GET_NOTE]


@pytest.mark.parametrize("width", [None, 80])
def test_a_table_that_fits_has_columns(width: int | None) -> None:
    head, row, *others = format_table(TABLE, width).splitlines()
    assert len(others) == 1
    assert head.index("Gate") == row.index("asks")


def test_an_empty_column_gives_way_first() -> None:
    table = [HEAD, DELETE_NOTE]
    lines = format_table(table, None).splitlines()
    widest = max(map(len, lines))
    head, row = format_table(table, widest - 1).splitlines()
    assert "Toolset" not in head
    assert head.index("Gate") == row.index("asks")


@pytest.mark.parametrize("width", [20, 40, 50])
def test_a_narrow_terminal_breaks_between_words(width: int) -> None:
    text = format_table(TABLE, width)
    lines = text.splitlines()
    assert max(map(len, lines)) < width
    assert lines[0] == "delete_note"
    for word in ("Destructive:", "Read-only:", "asks"):
        assert word in text.split()
    # Only the second tool has a toolset
    first, second = text.split("get_note")
    assert "Toolset:" not in first
    assert "Toolset:" in second

"""`tools list` in terminals of several widths."""

import pytest

from copier_fastmcp_engine.cli import format_table

TABLE = [
    ["Tool", "Toolset", "Behavior", "Read-only", "Destructive", "Gate"],
    ["delete_note", "", "delete", "no", "yes", "asks"],
    ["get_note", "notes", "read", "yes", "no", ""],
]


@pytest.mark.parametrize("width", [None, 80])
def test_a_table_that_fits_has_columns(width: int | None) -> None:
    lines = format_table(TABLE, width).splitlines()
    assert len(lines) == len(TABLE)
    assert lines[0].index("Gate") == lines[1].index("asks")


def test_an_empty_column_gives_way_first() -> None:
    table = [TABLE[0], TABLE[1]]
    whole = max(map(len, format_table(table, None).splitlines()))
    head, row = format_table(table, whole - 1).splitlines()
    assert "Toolset" not in head
    assert head.index("Gate") == row.index("asks")


@pytest.mark.parametrize("width", [20, 40, 50])
def test_a_narrow_terminal_breaks_between_words(width: int) -> None:
    text = format_table(TABLE, width)
    lines = text.splitlines()
    assert max(map(len, lines)) < width
    assert lines[0] == "delete_note"
    words = text.replace("\n", " ").split()
    assert {"Destructive:", "Read-only:", "asks", "get_note"} <= set(words)
    assert "Toolset:" in words[words.index("get_note") :]
    assert "Toolset:" not in words[: words.index("get_note")]

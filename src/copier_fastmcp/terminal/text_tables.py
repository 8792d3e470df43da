"""Tables for users of a terminal, and for programs that read a pipe."""

import re
import sys
from collections.abc import Iterable, Sequence
from shutil import get_terminal_size
from textwrap import wrap

from ..errors import one_line

NARROWEST_NAME = 18
SOFT_HYPHEN = "\u00ad"  # in a head, where its word breaks in columns only
SEPARATOR = 3  # columns between two cells
MARGINS = 2


def print_table(
    heads: Sequence[str], rows: Iterable[Sequence[str]], *, ruled: bool = True
) -> None:
    """Print a table as wide as the terminal; in a pipe, an uncut line for each row.

    Args:
        heads: The titles of the columns.
        rows: The cells.
        ruled: Whether lines separate the rows; rows of one line each do not need them.
    """
    if not sys.stdout.isatty():
        for row in rows:
            print("\t".join(map(one_line, row)))
        return
    # Without both, Rich assumes 80 columns if TERM is dumb.
    size = get_terminal_size()
    cells = [list(map(one_line, row)) for row in rows]
    name_width = _name_width(heads, cells, size.columns)
    longest_name = _longest_word([*heads[:1], *_column_cells(cells, 0)])
    if heads and name_width < min(NARROWEST_NAME, longest_name):
        _print_stacked(heads, cells, size.columns)
        return
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(width=size.columns, height=size.lines)
    table = Table(show_lines=True) if ruled else Table(box=box.SIMPLE, pad_edge=False)
    for column, head in enumerate(heads):
        width = _longest_word([head, *_column_cells(cells, column)])
        is_name = column == 0
        if is_name:
            width = min(width, name_width)
        table.add_column(
            head.replace(SOFT_HYPHEN, "-"),
            min_width=width,
            no_wrap=is_name,
        )
    for row in cells:
        name = "\n".join(_fold_name(row[0], name_width))
        table.add_row(Text(name), *map(Text, row[1:]))
    console.print(table)


def _longest_word(texts: Sequence[str]) -> int:
    """Return the length of the longest word in some texts."""
    longest = 0
    for text in texts:
        longest = max([longest, *map(len, text.split())])
    return longest


def _column_cells(rows: Sequence[Sequence[str]], column: int) -> list[str]:
    return [row[column] for row in rows]


def _name_width(heads: Sequence[str], rows: Sequence[Sequence[str]], width: int) -> int:
    """Return the columns that are left for the first cell, if the others wrap between words only."""
    if len(heads) <= 1:
        return width
    remaining = width - SEPARATOR * len(heads) - MARGINS
    for column, head in enumerate(heads[1:], start=1):
        remaining -= _longest_word([head, *_column_cells(rows, column)])
    return remaining


def _fold_name(name: str, width: int) -> list[str]:
    """Return a name in lines; a long name is folded after an underscore."""
    lines = [""]
    for part in re.findall("[^_]*_*", name):
        if lines[-1] and len(lines[-1]) + len(part) > width:
            lines.append("")
        lines[-1] += part
    folded = []
    for line in lines:
        folded += wrap(line, width) or [""]
    return folded


def _print_stacked(
    heads: Sequence[str],
    rows: Sequence[Sequence[str]],
    width: int,
) -> None:
    """Print each row as a paragraph, for a terminal too narrow for columns."""
    names = []
    for head in heads:
        name = head.replace(f"{SOFT_HYPHEN}\n", "").replace("-\n", "-")
        names.append(name.replace("\n", " "))
    for row in rows:
        # A name stays whole, so that it can be copied.
        title = wrap(row[0], width, break_long_words=False, break_on_hyphens=False)
        print("\n".join(title))
        cells = []
        for name, cell in zip(names[1:], row[1:], strict=True):
            cells.append(f"{name}: {cell}")
        text = ", ".join(cells)
        for line in wrap(text, width - 3, break_on_hyphens=False):
            print(f"  {line}")

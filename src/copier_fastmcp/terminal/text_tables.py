"""Tables for users of a terminal, and for programs that read a pipe."""

import sys
from collections.abc import Iterable, Sequence
from shutil import get_terminal_size
from textwrap import wrap

from ..errors import one_line


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
            print("\t".join(one_line(cell) for cell in row))
        return
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    # Without both, Rich assumes 80 columns if TERM is dumb.
    size = get_terminal_size()
    console = Console(width=size.columns, height=size.lines)
    table = Table(show_lines=True) if ruled else Table(box=box.SIMPLE, pad_edge=False)
    table.add_column(heads[0], no_wrap=True)  # names are broken last
    for head in heads[1:]:
        table.add_column(head, overflow="fold")
    name_width = max(4, console.width // 3)
    for row in rows:
        name = "\n".join(wrap(one_line(row[0]), name_width))
        cells = [Text(one_line(cell)) for cell in row[1:]]
        table.add_row(Text(name), *cells)
    console.print(table)

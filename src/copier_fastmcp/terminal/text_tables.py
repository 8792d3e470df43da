"""Tables for people in a terminal, and for programs in a pipe."""

import sys
from collections.abc import Iterable, Sequence
from shutil import get_terminal_size
from textwrap import wrap

from ..errors import one_line


def print_table(
    heads: Sequence[str], rows: Iterable[Sequence[str]], *, ruled: bool = True
) -> None:
    """Print a table: as wide as the terminal in one, a line for each row and uncut in a pipe.

    Rows of one line each need no rules between them.
    """
    clean = [[one_line(cell) for cell in row] for row in rows]
    if not sys.stdout.isatty():
        for row in clean:
            print("\t".join(row))
        return
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    width = get_terminal_size().columns  # Rich takes 80 where TERM is dumb
    console = Console(width=width)
    drawn = Table(show_lines=True) if ruled else Table(box=box.SIMPLE, pad_edge=False)
    drawn.add_column(heads[0], no_wrap=True)  # a name is broken last
    for head in heads[1:]:
        drawn.add_column(head, overflow="fold")
    for first, *rest in clean:
        drawn.add_row(
            Text("\n".join(wrap(first, max(4, console.width // 3)))), *map(Text, rest)
        )
    console.print(drawn)

"""Lines of text, wrapped between words in a terminal that is narrower."""

import sys
from shutil import get_terminal_size
from textwrap import wrap

NARROWEST = 20


def print_text(text: str, indent: int = 2) -> None:
    """Print lines; a terminal that is narrower gets them wrapped between words.

    Args:
        text: The lines.
        indent: How far the continuation of an indented line is indented.
    """
    if not sys.stdout.isatty():
        print(text)
        return
    print(wrap_lines(text, get_terminal_size().columns, indent))


def wrap_lines(text: str, width: int, indent: int = 2) -> str:
    """Wrap the lines of a text between words, each on its own."""
    wrapped = []
    for line in text.splitlines():
        margin = " " * (indent if line.startswith(" ") else 0)
        lines = wrap(
            line,
            max(width, NARROWEST + indent),
            subsequent_indent=margin,
            break_on_hyphens=False,
            break_long_words=False,
        )
        wrapped += lines or [""]
    return "\n".join(wrapped)

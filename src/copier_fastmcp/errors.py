"""How a command ends that does not end well; each is one line on stderr."""

import sys


class RefusedError(Exception):
    """It was asked for something that it does not do as things stand: exit code 1."""


class UnableError(Exception):
    """It could not find out or could not do it: exit code 2."""


class BackError(Exception):
    """Somebody in a dialog wants the question before this one."""


def one_line(text: object) -> str:
    """A text on one line, without what a terminal would obey."""
    return escape_controls(" ".join(str(text).split()))


def escape_controls(line: str) -> str:
    """A line with an escape for each character that nobody sees, or that a terminal would obey."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in line)


def format_count(count: int, noun: str) -> str:
    """So many of something, as in `1 tool` and `2 tools`."""
    return f"{count} {noun}{'s' * (count != 1)}"


def print_message(text: str) -> None:
    """Say something to a person; what a program reads is on stdout."""
    print(f"copier-fastmcp: {one_line(text)}", file=sys.stderr)

"""Errors of the command, each printed as one line on stderr, and the format of its messages."""

import sys
from collections.abc import Sequence


class RefusedError(Exception):
    """The request cannot be carried out in the present state: exit code 1."""


class AnswersError(RefusedError):
    """The template refuses answers.

    Attributes:
        lines: An error each, with its location and its remedy.
    """

    def __init__(self, lines: Sequence[str]) -> None:
        """Keep each error."""
        super().__init__("; ".join(lines))
        self.lines = list(lines)


class UnableError(Exception):
    """The command could not obtain a result or complete the change: exit code 2."""


class BackError(Exception):
    """The user of a dialog wants to return to the previous question."""


def one_line(text: object) -> str:
    """Return a text on one line, without control characters."""
    return escape_controls(" ".join(str(text).split()))


def escape_controls(line: str) -> str:
    """Return a line with an escape for each invisible or control character."""
    characters = []
    for character in line:
        if character.isprintable():
            characters.append(character)
        else:
            characters.append(ascii(character)[1:-1])
    return "".join(characters)


def format_count(count: int, noun: str) -> str:
    """Return a count with its noun, as in `1 tool` and `2 tools`."""
    plural = "" if count == 1 else "s"
    return f"{count} {noun}{plural}"


def print_message(text: str) -> None:
    """Print a message for the user on stderr; output for programs goes to stdout."""
    print(f"copier-fastmcp: {one_line(text)}", file=sys.stderr)

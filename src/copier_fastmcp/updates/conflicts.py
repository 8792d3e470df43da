"""Files that an update could not merge, and what the release changes in them."""

import re
from pathlib import Path

from ..errors import one_line
from ..project.copier_process import CONFLICT
from ..project.repository import list_changes

REJECTED = ".rej"
WIDTH = 180
HUNK = re.compile(
    r"^<<<<<<< before updating\n(?P<mine>.*?)(^\|\|\|\|\|\|\| .*?)?^=======\n(?P<release>.*?)^>>>>>>> ",
    re.DOTALL | re.MULTILINE,
)


def conflicting_files(root: Path) -> list[str]:
    """Return the changed files of a checkout that hold a conflict or a rejected edit.

    Args:
        root: The root of the checkout, just after the update.
    """
    names = []
    for name, letters in list_changes(root).items():
        path = root / name
        has_marker = path.is_file() and CONFLICT.encode() in path.read_bytes()
        if "U" in letters or path.suffix == REJECTED or has_marker:
            names.append(name)
    return names


def describe_conflicts(root: Path, names: list[str]) -> list[str]:
    """Return a line for each conflict: where it is, the release's text, and the author's."""
    lines = []
    for name in names:
        path = root / name
        text = (
            path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""
        )
        hunks = list(HUNK.finditer(text))
        if not hunks:
            lines.append(f"{name}: the edit here does not fit the release's text")
        for hunk in hunks:
            number = text.count("\n", 0, hunk.start()) + 1
            release_text = _shorten_hunk(hunk["release"])
            mine = _shorten_hunk(hunk["mine"])
            lines.append(
                _cut_line(
                    f"{name}:{number}: the release has {release_text}, here is {mine}"
                )
            )
    return lines


def _shorten_hunk(text: str) -> str:
    """Return the first line of a text, and how many follow."""
    lines = [line for line in text.splitlines() if line.strip()]
    if not lines:
        return "nothing"
    first = one_line(lines[0])
    if len(first) > 60:
        first = first[:59] + "…"
    remainder = f" and {len(lines) - 1} more" if len(lines) > 1 else ""
    return f"`{first}`{remainder}"


def _cut_line(line: str) -> str:
    return line if len(line) <= WIDTH else line[: WIDTH - 1] + "…"

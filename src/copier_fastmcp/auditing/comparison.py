"""`audit --against`: the changes from one version of a server to the next."""

import json
import os
import re
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from copier_fastmcp_engine.testing import lock

from ..errors import UnableError, format_count, one_line
from ..project.pinned_tools import build_definition
from .servers import fetch_tools
from .snapshot import pin_definitions
from .tool_lists import LARGEST, Tools, read_tool_list

LABELS = ("RELAXED", "BREAKING", "RENAMED")
DATA_SUFFIXES = (".json", ".lock")
ADDRESSES = ("http://", "https://")


@dataclass(frozen=True)
class Definitions:
    """A server's tools, and their lock, if they come from one."""

    tools: Tools
    pins: lock.Lock | None = None


@dataclass(frozen=True)
class Change:
    """A change of one tool; `label` is empty if callers do not notice it."""

    tool: str
    label: str
    change: str


def load_definitions(source: str, seconds: float) -> Definitions:
    """Load the tools of a version from an address, a file or a command.

    Args:
        source: The address of a server, a lock or a recorded list (`-` is stdin), or a command.
        seconds: How long a server may take.

    Raises:
        UnableError: The tools cannot be read.
    """
    if source.startswith(ADDRESSES):
        return Definitions(fetch_tools(None, source, {}, seconds))
    path = Path(source)
    if source == "-":
        return _load_stdin()
    if source and path.is_file() and _is_data(path):
        return load_file(path)
    if path.suffix == ".json" and len(source.split()) == 1:
        raise UnableError(
            f"{source} is not there; name a file, an address or a command"
        )
    program, _, _ = source.strip().partition(" ")
    is_quoted = re.search(r"[\"'\\]", program)  # it may go on behind the space
    # Where names ignore case, HEAD is also the program `head`
    if source == "HEAD" or (not is_quoted and shutil.which(program) is None):
        problem = f"{source or 'an empty text'} is no file, address or command"
        raise UnableError(
            f"{problem}; of a commit: git show REVISION:annotations.lock.json | copier-fastmcp audit --against -"
        )
    return Definitions(fetch_tools(source, None, {}, seconds))


def _is_data(path: Path) -> bool:
    """Whether a file contains definitions; any other executable file is a command."""
    return path.suffix in DATA_SUFFIXES or not os.access(path, os.X_OK)


def load_file(path: Path) -> Definitions:
    """Load the tools of a lock or of a recorded list.

    Raises:
        UnableError: The file cannot be read, or contains neither.
    """
    try:
        if not _is_lock(path):
            return Definitions(read_tool_list(path))
        pins = lock.load_lock(path)
        tools: Tools = []
        for name, pin in pins["tools"].items():
            tools.append(build_definition(name, pin))
        return Definitions(tools, pins)
    except OSError as error:
        raise UnableError(f"could not check {path}: {error.strerror}") from error
    except ValueError as error:
        raise UnableError(f"could not check {path}: {error}") from error


def _load_stdin() -> Definitions:
    """Load stdin through a temporary file, since a lock is loaded from a path."""
    text = sys.stdin.read(LARGEST + 1)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "stdin")
        path.write_text(text, encoding="utf-8")
        return load_file(path)


def _is_lock(path: Path) -> bool:
    if path.stat().st_size > LARGEST:
        return False
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError):
        return False
    return isinstance(content, dict) and isinstance(content.get("tools"), dict)


def compare(old: Definitions, new: Definitions) -> list[Change]:
    """Compare two versions; labeled changes come first.

    Two locks are compared in full, a lock and a list by the definitions on the wire.
    """
    old_pins, new_pins = old.pins, new.pins
    if old_pins is None or new_pins is None:
        old_pins = pin_definitions(old.tools)
        new_pins = pin_definitions(new.tools)
    lines = lock.format_differences(old_pins, new_pins)
    return sorted(map(parse_change, lines), key=_rank_label)


def _rank_label(change: Change) -> int:
    if change.label in LABELS:
        return LABELS.index(change.label)
    return len(LABELS)


def parse_change(line: str) -> Change:
    """Parse a line of the lock's comparison: `NAME: LABEL: what`, or `NAME: what`."""
    for label in LABELS:
        name, separator, text = line.partition(f": {label}: ")
        if separator:
            return Change(name, label, text)
    name, _, text = line.partition(": ")
    return Change(name, "", text)


def print_changes(changes: Sequence[Change], old: int, new: int) -> None:
    """Print changes as text, with the number of each label."""
    counts: Counter[str] = Counter()
    for change in changes:
        counts[change.label] += 1
        label = f"{change.label}: " if change.label else ""
        print(one_line(f"{change.tool}: {label}{change.change}"))
    total = format_count(len(changes), "change") if changes else "no changes"
    labels: list[str] = []
    for label in LABELS:
        if counts[label]:
            labels.append(f"{counts[label]} {label}")
    details = f" ({', '.join(labels)})" if labels else ""
    print(f"{format_count(new, 'tool')} compared with {old}, {total}{details}")


def print_comparison(old: Definitions, new: Definitions, *, json_output: bool) -> int:
    """Print the changes.

    Returns:
        1 with changes that callers or clients notice, else 0.
    """
    changes = compare(old, new)
    if json_output:
        rows = list(map(asdict, changes))
        print(json.dumps(rows, indent=2, ensure_ascii=False))
    else:
        print_changes(changes, len(old.tools), len(new.tools))
    return 1 if any(change.label for change in changes) else 0

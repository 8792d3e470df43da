"""The lock: every tool's hints and gate, pinned in annotations.lock.json and reviewed as a diff.

Managed by the template; the file is yours, and `policy lock` writes it.
"""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from .catalog import HINTS, Row
from .registry import StartError

FILE = Path("annotations.lock.json")
RELAXED = dict(zip(HINTS, (True, False, True, False), strict=True))
Lock = dict[str, dict[str, Any]]


def in_project() -> None:
    """Files are written where the project is.

    Raises:
        StartError: It is elsewhere.
    """
    if not Path("pyproject.toml").is_file():
        raise StartError(f"there is no pyproject.toml in {Path.cwd()}; run this in the project")


def lock_of(rows: Sequence[Row]) -> Lock:
    """What the lock holds of the running server."""
    return {row["name"]: {"hints": row["hints"], "gated": row["gated"]} for row in rows}


def text_of(lock: Lock) -> str:
    """The lock as its file."""
    return json.dumps(lock, indent=2, sort_keys=True) + "\n"


def read(path: Path = FILE) -> Lock:
    """The pinned lock; empty when there is no file.

    Raises:
        StartError: The file is no lock; the message names it.
    """
    if not path.exists():
        return {}
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        return {
            name: {"hints": dict(of["hints"]), "gated": bool(of["gated"])}
            for name, of in found.items()
        }
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        mend = "restore it, or delete it and run `policy lock`"
        raise StartError(f"{path}: no lock ({type(error).__name__}: {error}); {mend}") from error


def differences(pinned: Lock, running: Lock) -> Iterator[str]:
    """What changed since the lock was written; a relaxation says so.

    Relaxed is: read-only, idempotent or closed-world gained, destructive or the gate lost.
    """
    for name in sorted(pinned.keys() | running.keys()):
        old, new = pinned.get(name), running.get(name)
        if old is None or new is None:
            yield f"{name}: is {'new' if new else 'gone'}"
            continue
        for hint, relaxed in RELAXED.items():
            before, after = old["hints"].get(hint), new["hints"].get(hint)
            if before is not after:
                lost = hint == "destructiveHint" and before is True
                label = "RELAXED: " if lost or after is relaxed else ""
                yield f"{name}: {label}{hint} {_shown(before)} -> {_shown(after)}"
        if old["gated"] != new["gated"]:
            yield f"{name}: {'gate gained' if new['gated'] else 'RELAXED: gate lost'}"


def _shown(value: bool | None) -> str:
    return "absent" if value is None else str(value).lower()

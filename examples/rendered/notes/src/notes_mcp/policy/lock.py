"""The lock: every tool's hints and gate, pinned in annotations.lock.json and reviewed as a diff.

Managed by the template; the file is yours, and `policy lock` writes it.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from .catalog import Row

FILE = Path("annotations.lock.json")
RELAXED = {
    "readOnlyHint": True,
    "destructiveHint": False,
    "idempotentHint": True,
    "openWorldHint": False,
}
Lock = dict[str, dict[str, Any]]


def lock_of(rows: Sequence[Row]) -> Lock:
    """What the lock holds of the running server."""
    return {row["name"]: {"hints": row["hints"], "gated": row["gated"]} for row in rows}


def text_of(lock: Lock) -> str:
    """The lock as its file."""
    return json.dumps(lock, indent=2, sort_keys=True) + "\n"


def read(path: Path = FILE) -> Lock:
    """The pinned lock; empty when there is no file.

    Raises:
        ValueError: The file is no lock; the message names it.
    """
    if not path.exists():
        return {}
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        return {
            str(name): {"hints": dict(of["hints"]), "gated": bool(of["gated"])}
            for name, of in found.items()
        }
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise ValueError(f"{path}: no lock ({error}); write it anew with `policy lock`") from error


def differences(pinned: Lock, running: Lock) -> Iterator[str]:
    """What changed since the lock was written; a relaxation says so.

    Relaxed is: read-only, idempotent or closed-world gained, destructive or the gate lost.
    """
    for name in sorted(pinned.keys() - running.keys()):
        yield f"{name}: is gone"
    for name in sorted(running.keys() - pinned.keys()):
        yield f"{name}: is new"
    for name in sorted(pinned.keys() & running.keys()):
        old, new = pinned[name], running[name]
        yield from (f"{name}: {line}" for line in _hints(old["hints"], new["hints"]))
        if old["gated"] != new["gated"]:
            yield f"{name}: " + ("gate gained" if new["gated"] else "RELAXED: gate lost")


def _hints(old: Mapping[str, bool], new: Mapping[str, bool]) -> Iterator[str]:
    for hint, relaxed in RELAXED.items():
        before, after = old.get(hint), new.get(hint)
        if before != after:
            lost = hint == "destructiveHint" and after is None
            label = "RELAXED: " if after is relaxed or lost else ""
            yield f"{label}{hint} {_shown(before)} -> {_shown(after)}"


def _shown(value: bool | None) -> str:
    return "absent" if value is None else str(value).lower()

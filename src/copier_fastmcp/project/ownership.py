"""Who owns a file of a project, and which of the template's are not as it has them.

Each file belongs to one class as a whole.
"""

import hashlib
import json
import os
import re
from pathlib import Path

# The digests of the engine's files, in a project that contains a copy of the engine.
ENGINE_MANIFEST = "tests/policy/engine.json"

# The same files as in `_skip_if_exists` and `_exclude` of copier.yml.
OWNERS = re.compile(
    r"src/[^/]+/((tools|resources|prompts)/.+|(backend|settings|extend)\.py|metadata\.yaml)"
    r"|tests/(tools/.+|conftest\.py)|annotations\.lock\.json|docs/tools\.md|CHANGELOG\.md"
)
# Merged at an update, and meant to be edited: a difference there is not drift.
SHARED = re.compile(
    r"\.copier-answers\.yml|pyproject\.toml|README\.md|\.gitignore|LICENSE|server\.json|manifest\.json"
)


def list_files(folder: Path) -> set[str]:
    """Every file of a render, as paths in the project."""
    names = set()
    for path in folder.rglob("*"):
        if path.is_file():
            names.add(path.relative_to(folder).as_posix())
    return names


def list_policy_files(fresh: Path) -> list[str]:
    """The policy files of a render, as paths in the project."""
    names = []
    for name in sorted(list_files(fresh)):
        if not OWNERS.fullmatch(name) and not SHARED.fullmatch(name):
            names.append(name)
    return names


def load_engine_digests(folder: Path) -> dict[str, str]:
    """Read the digests of the engine's files in a project or a render.

    Args:
        folder: The project, or the render.

    Returns:
        The digest of each file by its path in the project; empty where there is no manifest, or a damaged one.
    """
    path = folder / ENGINE_MANIFEST
    if not path.is_file():
        return {}
    try:
        files = json.loads(path.read_text(encoding="utf-8"))["files"]
    except (ValueError, KeyError, TypeError):
        return {}
    return dict(files) if isinstance(files, dict) else {}


def find_edited_engine_files(project: Path, digests: dict[str, str]) -> list[str]:
    """List the engine's files that are not as their digests say; line ends do not count, nor do missing files."""
    edited = []
    for name, digest in digests.items():
        path = project / name
        if path.is_file() and hashlib.sha256(read_text(path)).hexdigest() != digest:
            edited.append(name)
    return edited


def read_text(path: Path) -> bytes:
    """What a file holds; line ends do not count."""
    return path.read_bytes().replace(b"\r\n", b"\n")


def is_same_text(mine: bytes, fresh: bytes) -> bool:
    """Whether two files hold the same; line ends do not count."""
    return mine.replace(b"\r\n", b"\n") == fresh.replace(b"\r\n", b"\n")


def compare_policy_files(fresh: Path, project: Path) -> dict[str, str]:
    """Each policy file of a fresh render that the project has otherwise.

    It is "edited", "missing", or "not executable" where its run bit is lost. Line ends do not count.
    """
    states = {}
    for name in list_policy_files(fresh):
        mine = project / name
        if not mine.is_file():
            states[name] = "missing"
        elif not is_same_text(mine.read_bytes(), (fresh / name).read_bytes()):
            states[name] = "edited"
        elif _runs(fresh / name) and not _runs(mine):
            states[name] = "not executable"
    return states


def _runs(path: Path) -> bool:
    return os.name != "nt" and bool(path.stat().st_mode & 0o100)

"""Who owns a file of a project: each belongs to one class as a whole."""

import re
from pathlib import Path

# The same files as in `_skip_if_exists` and `_exclude` of copier.yml.
OWNERS = re.compile(
    r"src/[^/]+/((tools|resources)/.+|(backend|settings|extend)\.py|metadata\.yaml)"
    r"|tests/(tools/.+|conftest\.py)|annotations\.lock\.json|docs/tools\.md"
)
# Merged at an update, and meant to be edited: a difference there is not drift.
SHARED = re.compile(
    r"\.copier-answers\.yml|pyproject\.toml|README\.md|\.gitignore|LICENSE|server\.json|manifest\.json"
)


def files_of(folder: Path) -> set[str]:
    """Every file of a render, as paths in the project."""
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def policy_files(fresh: Path) -> list[str]:
    """The policy files of a render, as paths in the project."""
    return sorted(
        name for name in files_of(fresh) if not (OWNERS.fullmatch(name) or SHARED.fullmatch(name))
    )


def same(mine: bytes, fresh: bytes) -> bool:
    """Whether two files hold the same; line ends do not count."""
    return mine.replace(b"\r\n", b"\n") == fresh.replace(b"\r\n", b"\n")

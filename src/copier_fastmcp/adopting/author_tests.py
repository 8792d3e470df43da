"""The author's tests that an adoption may change: those that name a gated tool, or search source files."""

import ast
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

from ..sources.modules import decode_source

SEARCHES = {"rglob", "glob", "iglob"}
WALKS = {"walk", "walk_packages", "iter_modules"}
# Words in a call that searches a folder which the test itself has made.
TEMPORARY = ("tmp", "temp")
SKIPPED = {"node_modules", "venv", "site-packages"}
SEEN = "searches source files, and sees those of the policy from now on"


@dataclass(frozen=True)
class AffectedTest:
    """A file of the author's tests that may fail after an adoption.

    Attributes:
        path: The file, relative to the server's folder.
        line: The line that shows why.
        reason: Why it may fail.
    """

    path: str
    line: int
    reason: str


def list_affected_tests(
    root: Path, gated: Collection[str], *, vendored: bool
) -> Iterator[AffectedTest]:
    """List the author's test files that name a gated tool or search source files.

    Args:
        root: The folder of the server.
        gated: The names of the tools that ask a person from now on.
        vendored: Whether the engine is added to the repository.
    """
    for path in sorted(root.rglob("*.py")):
        relative = path.relative_to(root)
        if not _is_test(relative) or not path.is_file():
            continue
        try:
            tree = ast.parse(decode_source(path.read_bytes()))
        except (SyntaxError, ValueError, LookupError, RecursionError):
            continue  # a sample of broken source is no test
        yield from _list_reasons(relative, tree, gated, vendored=vendored)


def _list_reasons(
    path: Path, tree: ast.Module, gated: Collection[str], *, vendored: bool
) -> Iterator[AffectedTest]:
    """The reasons for which one file of tests may fail, each once."""
    search_lines: list[int] = []
    name_lines: dict[str, int] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and _searches_source(node):
            search_lines.append(node.lineno)
        name = _find_name(node)
        if name in gated:
            name_lines.setdefault(name, getattr(node, "lineno", 1))
    if search_lines:
        remedy = "; --engine package adds fewer" if vendored else ""
        yield AffectedTest(path.as_posix(), min(search_lines), f"{SEEN}{remedy}")
    if name_lines:
        names = ", ".join(sorted(name_lines))
        reason = f"names {names}, and may call it without `confirm`"
        yield AffectedTest(path.as_posix(), min(name_lines.values()), reason)


def _find_name(node: ast.AST) -> str:
    """The text or the name that a node is; empty where it is neither."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.Name):
        return node.id
    return node.attr if isinstance(node, ast.Attribute) else ""


def _is_test(path: Path) -> bool:
    """Whether a file, relative to the server's folder, belongs to its tests."""
    folders = path.parts[:-1]
    if any(name in SKIPPED or name.startswith(".") for name in folders):
        return False
    is_named = path.stem.startswith("test_") or path.stem.endswith("_test")
    return is_named or "tests" in folders or "test" in folders


def _searches_source(call: ast.Call) -> bool:
    """Whether a call searches for source files, other than in a folder that the test has made."""
    if not isinstance(call.func, ast.Attribute):
        return False
    name, text = call.func.attr, ast.unparse(call).lower()
    if any(word in text for word in TEMPORARY):
        return False
    if name in SEARCHES:
        return ".py" in text
    return name in WALKS and not text.startswith("ast.")

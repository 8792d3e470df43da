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
# How a client or a server calls a tool.
CALLERS = {"call_tool", "call_tool_mcp"}
CALLS = "calls tools, of which the undeclared ones ask a person until they are declared"
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
    root: Path,
    gated: Collection[str],
    *,
    vendored: bool,
    undeclared: bool = False,
) -> Iterator[AffectedTest]:
    """List the author's test files that name a gated tool, call undeclared ones or search source files.

    Args:
        root: The folder of the server.
        gated: The names of the tools that ask a person from now on.
        vendored: Whether the engine is added to the repository.
        undeclared: Whether tools are registered whose names and behaviors the source does not show.
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
        line = _find_tool_call(tree) if undeclared else 0
        if line:
            yield AffectedTest(relative.as_posix(), line, CALLS)


def _find_tool_call(tree: ast.Module) -> int:
    """The first line of a file that calls a tool; 0 if there is none."""
    lines: list[int] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr in CALLERS:
            lines.append(node.lineno)
    return min(lines, default=0)


def _list_reasons(
    path: Path, tree: ast.Module, gated: Collection[str], *, vendored: bool
) -> Iterator[AffectedTest]:
    """The reasons for which one file of tests may fail, each once."""
    search_lines: list[int] = []
    name_lines: dict[str, int] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and _searches_source(node):
            search_lines.append(node.lineno)
        tool_name = _find_name(node)
        if tool_name in gated:
            name_lines.setdefault(tool_name, getattr(node, "lineno", 1))
    name = path.as_posix()
    if search_lines:
        reason = f"{SEEN}; --engine package adds fewer" if vendored else SEEN
        yield AffectedTest(name, min(search_lines), reason)
    if name_lines:
        tool_names = ", ".join(sorted(name_lines))
        reason = f"names {tool_names}, and may call it without `confirm`"
        first_line = min(name_lines.values())
        yield AffectedTest(name, first_line, reason)


def _find_name(node: ast.AST) -> str:
    """The text or the name that a node is; empty where it is neither."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        return node.attr
    return ""


def _is_test(path: Path) -> bool:
    """Whether a file, relative to the server's folder, belongs to its tests."""
    folders = path.parts[:-1]
    for name in folders:
        if name in SKIPPED or name.startswith("."):
            return False
    if "tests" in folders or "test" in folders:
        return True
    return path.stem.startswith("test_") or path.stem.endswith("_test")


def _searches_source(call: ast.Call) -> bool:
    """Whether a call searches for source files, other than in a folder that the test has made."""
    if not isinstance(call.func, ast.Attribute):
        return False
    name = call.func.attr
    text = ast.unparse(call).lower()
    if any(word in text for word in TEMPORARY):
        return False
    if name in SEARCHES:
        return ".py" in text
    return name in WALKS and not text.startswith("ast.")

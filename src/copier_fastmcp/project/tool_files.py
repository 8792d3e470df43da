"""A project's tools as its files hold them."""

import ast
from pathlib import Path

from copier_fastmcp_engine.testing.lock import FILE as LOCK

from ..errors import RefusedError, UnableError
from ..tables import load_tables
from .pinning import TABLE
from .repository import git

Function = ast.FunctionDef | ast.AsyncFunctionDef
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
FILES = "src/*/tools/**/*.py"


def unknown_tool_error(name: str) -> RefusedError:
    """The error for a name that no tool has."""
    return RefusedError(
        f"{name} is not a tool of this server; `tools list` of the server names them"
    )


def find_tool_file(name: str) -> Path | None:
    """The file below tools/ that defines a function of a tool's name; None where there is none."""
    for path in sorted(Path().glob(FILES)):
        if name in list_tool_functions(path):
            return path
    return None


def parse_behavior(function: Function) -> tuple[str, ast.Call | None]:
    """The behavior that a decorator of a function names, and its call; empty where none does."""
    for decorator in function.decorator_list:
        called = decorator.func if isinstance(decorator, ast.Call) else decorator
        name = (
            called.attr
            if isinstance(called, ast.Attribute)
            else getattr(called, "id", "")
        )
        if name in load_tables()["behaviors"]:
            return name, decorator if isinstance(decorator, ast.Call) else None
    return "", None


def list_tool_functions(path: Path) -> list[str]:
    """The decorated functions at the top of a file: its tools.

    Raises:
        RefusedError: It is not Python.
    """
    try:
        body = ast.parse(path.read_bytes()).body
    except (SyntaxError, ValueError) as error:
        raise RefusedError(f"{path.as_posix()} is not Python: {error}") from error
    return [
        node.name
        for node in body
        if isinstance(node, FUNCTIONS) and node.decorator_list
    ]


def find_mentions(name: str) -> list[str]:
    """Where else a project names a tool, as FILE:LINE."""
    try:
        output = git(
            Path(), "grep", "--word-regexp", "--line-number", "--fixed-strings", name
        )
    except UnableError:  # git grep ends with 1 where it finds nothing
        return []
    places = [":".join(line.split(":", 2)[:2]) for line in output.splitlines()]
    return [place for place in places if not place.startswith((LOCK, TABLE))]

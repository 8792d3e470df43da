"""A project's tools as its files hold them."""

import ast
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from copier_fastmcp_engine.testing.lock import FILE as LOCK

from ..errors import RefusedError, UnableError
from ..tables import load_tables
from .pinning import PIN, TABLE
from .repository import git

Function = ast.FunctionDef | ast.AsyncFunctionDef
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
FILES = "src/*/tools/**/*.py"
SHOWN = 5


def unknown_tool_error(name: str, checkout: Path) -> RefusedError:
    """The error for a name that no tool of the last commit has.

    Args:
        name: The name.
        checkout: The project as its author has it, where a file that is not committed may have the tool.
    """
    for path in sorted(checkout.glob(FILES)):
        if name in find_function_names(path):
            place = path.relative_to(checkout).as_posix()
            return RefusedError(f"{name} in {place} is not committed; commit it first")
    return RefusedError(
        f"{name} is not a tool of this server; `tools list` of the server names them"
    )


def find_function_names(path: Path) -> set[str]:
    """The names of the functions at the top of a file, by its text: it may be no Python, as during a conflict."""
    text = path.read_bytes().decode("utf-8", "replace")
    return {*re.findall(r"(?m)^(?:async )?def (\w+)\(", text)}


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
    """The functions at the top of a file that declare a behavior: its tools.

    Raises:
        RefusedError: It is not Python.
    """
    try:
        body = ast.parse(path.read_bytes()).body
    except (SyntaxError, ValueError) as error:
        raise RefusedError(f"{path.as_posix()} is not Python: {error}") from error
    names = []
    for node in body:
        if isinstance(node, FUNCTIONS) and parse_behavior(node)[0]:
            names.append(node.name)
    return names


def refuse_adopted(answers: Mapping[str, Any], name: str, verb: str) -> None:
    """Refuse to change a tool of an adopted server, whose layout is its author's.

    Args:
        answers: The recorded answers.
        name: The tool.
        verb: What the author does instead, as "rename".

    Raises:
        RefusedError: The server was adopted; the message names the places of the tool.
    """
    if not answers.get("adopted"):
        return
    places = find_mentions(name)
    if not places:
        raise unknown_tool_error(name, Path())
    remainder = f" and {len(places) - SHOWN} more" if len(places) > SHOWN else ""
    listed = ", ".join(places[:SHOWN]) + remainder
    problem = f"an adopted server has its author's layout, and {name} is in {listed}"
    raise RefusedError(f"{problem}; {verb} it there, then pin: uv run {PIN.as_posix()}")


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

"""A project's tools as its answers and files hold them, and a change of them: all or nothing."""

import ast
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ..errors import RefusedError, UnableError, tell
from ..lock import FILE as LOCK
from ..tables import tables
from . import copying, undoable
from .pinning import PIN, TABLE, pin
from .repository import git

Function = ast.FunctionDef | ast.AsyncFunctionDef
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
FILES = "src/*/tools/**/*.py"


def clean() -> None:
    """Make sure that what is undone later is not somebody's work; errors as in `undoable.clean`."""
    undoable.clean(Path(), "since Copier needs a clean tree")


def unknown(name: str) -> RefusedError:
    """The error for a name that no tool has."""
    return RefusedError(
        f"{name} is not a tool of this server; `tools list` of the server names them"
    )


def apply(
    known: Mapping[str, Any],
    tools: list[Any] | None,
    *,
    trust: bool,
    then: Callable[[], object] = lambda: None,
) -> None:
    """Let Copier write an answer `tools`, do what follows, then pin; all or nothing.

    Args:
        known: The answers as they are.
        tools: What the answer becomes; None where it stays.
        trust: Whether whoever asks says that the template may run its code.
        then: What is done to files after it.

    Raises:
        RefusedError: The tree is not clean, or the template has code and nobody trusts it.
        UnableError: Copier, git or the new server fails; everything is as it was.
    """
    clean()  # asking takes a while; what was edited meanwhile must not be undone below
    source, version = known["_src_path"], known["_commit"]
    code = copying.trusted_code(source, version, version, trust=trust) if tools is not None else ""
    if code:
        tell(code)
    try:
        if tools is not None:
            # The same version, and no file in the way was seen: nothing can be lost.
            copying.update(Path(), version, {"tools": tools}, trust=bool(code), guarded=False)
        then()
        if PIN.is_file():
            pin(Path())
    except BaseException:  # also Ctrl-C: the tree was clean, so this takes nothing of yours
        git(Path(), "restore", "--source=HEAD", "--staged", "--worktree", ".")
        git(Path(), "clean", "-fdq", ".")
        raise


def file_of(name: str) -> Path | None:
    """The file below tools/ that defines a function of a tool's name; None where there is none."""
    for path in sorted(Path().glob(FILES)):
        if name in functions(path):
            return path
    return None


def declared(function: Function) -> tuple[str, ast.Call | None]:
    """The behavior that a decorator of a function names, and its call; empty where none does."""
    for one in function.decorator_list:
        called = one.func if isinstance(one, ast.Call) else one
        name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
        if name in tables()["behaviors"]:
            return name, one if isinstance(one, ast.Call) else None
    return "", None


def functions(path: Path) -> list[str]:
    """The decorated functions at the top of a file: its tools.

    Raises:
        RefusedError: It is not Python.
    """
    try:
        body = ast.parse(path.read_bytes()).body
    except (SyntaxError, ValueError) as error:
        raise RefusedError(f"{path.as_posix()} is not Python: {error}") from error
    return [node.name for node in body if isinstance(node, FUNCTIONS) and node.decorator_list]


def mentions(name: str) -> list[str]:
    """Where else a project names a tool, as FILE:LINE."""
    try:
        found = git(Path(), "grep", "--word-regexp", "--line-number", "--fixed-strings", name)
    except UnableError:  # git grep ends with 1 where it finds nothing
        return []
    places = [":".join(line.split(":", 2)[:2]) for line in found.splitlines()]
    return [place for place in places if not place.startswith((LOCK, TABLE))]

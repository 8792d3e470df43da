"""`adopt --remove`: everything of ours taken out of a server that was adopted, and its author's bytes as they were."""

import ast
import re
import tempfile
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from copier_fastmcp_engine.testing.lock import FILE as LOCK

from ..errors import RefusedError, UnableError
from ..project import copier_process
from ..project.answers import ANSWERS
from ..project.engine_requirement import ENGINE, pin_engine
from ..project.pinning import TABLE
from ..project.repository import git
from ..sources.modules import FUNCTIONS, Module, Project
from ..tables import load_tables
from . import layout, todo
from .edits import Edited
from .skeletons import PACKAGE

UNPROBED = 'unprobed = "it was adopted, and nobody has arranged data for it yet"'
EARLIER_CONFTEST = '"""Your own `pytest` leaves this folder out:'
REVIEW = "# review: "
BLANKS = 3  # the most blank lines that an import of ours brings with it


@dataclass
class Removal:
    """What a removal writes, deletes and leaves.

    Attributes:
        written: The author's files, without what was added to them.
        deleted: Files of ours.
        by_hand: What only the user can remove, a line each.
    """

    written: dict[Path, bytes] = field(default_factory=dict)
    deleted: list[Path] = field(default_factory=list)
    by_hand: list[str] = field(default_factory=list)


def plan_removal(root: Path, answers: dict[str, Any]) -> Removal:
    """Plan the removal of an adoption.

    Args:
        root: The folder of the server.
        known: The recorded answers.

    Raises:
        RefusedError: The server was not adopted.
        UnableError: The recorded version of the template cannot be reached.
    """
    if not answers.get("adopted"):
        raise RefusedError(f"there is no adoption in {root.name}; nothing to remove")
    removal = Removal()
    package = layout.policy_package(answers["adopted"]["place"])
    for module in Project(root).modules.values():
        text = _remove_policy(module, package)
        if text != module.text:
            removal.written[module.path] = _encode_edit(module, text)
    _plan_settings(root, removal)
    with copier_process.render_project(answers) as fresh:
        names: set[str] = set()
        for path in fresh.rglob("*"):
            if path.is_file():
                names.add(path.relative_to(fresh).as_posix())
    names |= {str(ANSWERS), str(LOCK), TABLE, todo.FILE}
    removal.deleted = [root / name for name in sorted(names) if (root / name).is_file()]
    for path in sorted((root / "tests/tools").glob("*.py")):
        held = path.read_text(encoding="utf-8")
        if (
            held == PACKAGE
            or held.startswith(EARLIER_CONFTEST)
            or UNPROBED in held
            or ('"""Yours: ' in held[:12] and "raise NotImplementedError" in held)
        ):
            removal.deleted.append(path)
        elif '"""Yours: ' in held[:12]:
            removal.by_hand.append(
                f"{path.relative_to(root).as_posix()}: yours since you filled it in"
            )
    return removal


def _remove_policy(module: Module, package: str) -> str:
    """The text of a file without the decorators, the govern line and the import of the policy."""
    words = {local for local, target in module.imports.items() if target == package}
    if not words:
        return module.text
    lines = module.text.splitlines(keepends=True)
    removed: set[int] = set()
    for node in module.nodes:
        for decorator in node.decorator_list if isinstance(node, FUNCTIONS) else ():
            if isinstance(decorator, ast.Call) and _names_policy(decorator.func, words):
                removed |= set(range(decorator.lineno, (decorator.end_lineno or 0) + 1))
                if lines[decorator.lineno - 2].lstrip().startswith(REVIEW):
                    removed.add(decorator.lineno - 1)
        call = node.value if isinstance(node, ast.Expr) else None
        if isinstance(call, ast.Call) and _governs_server(call.func, words):
            removed |= set(range(call.lineno, (call.end_lineno or 0) + 1))
    remaining = [line for number, line in enumerate(lines, 1) if number not in removed]
    text = "".join(remaining)
    for word in words:
        if re.search(rf"\b{word}\.", text):
            return text  # its author uses it too, and keeps the import
    return _remove_import(module, text, package)


def _names_policy(function: ast.expr, words: set[str]) -> bool:
    above, _, name = ast.unparse(function).rpartition(".")
    return above in words and name in load_tables()["behaviors"]


def _governs_server(function: ast.expr, words: set[str]) -> bool:
    above, _, name = ast.unparse(function).rpartition(".")
    return above in words and name == "govern"


def _remove_import(module: Module, text: str, package: str) -> str:
    """A text without the import of the policy: the one that an adoption makes this text of."""
    above, _, name = package.rpartition(".")
    import_line = f"from {above} import {name}" if above else f"import {name}"
    lines = text.splitlines(keepends=True)
    for number, line in enumerate(lines):
        plain = line.rstrip("\r\n")
        if plain == import_line or plain.startswith(f"{import_line} as "):
            plainest = "".join(lines[:number] + lines[number + 1 :])
            for before in range(BLANKS):
                for after in range(BLANKS):
                    start, end = number - before, number + 1 + after
                    around = [*lines[start:number], *lines[number + 1 : end]]
                    if start < 0 or any(item.strip() for item in around):
                        continue
                    candidate = "".join(lines[:start] + lines[end:])
                    if _insert_import(module, candidate, plain) == text:
                        return candidate
            return plainest
        if above and plain.startswith(f"from {above} import ") and name in plain:
            head, _, listed = plain.partition(" import ")
            names = [item for item in listed.split(", ") if item != name]
            if len(names) < len(listed.split(", ")):
                ending = line[len(plain) :]
                joined = f"{head} import {', '.join(names)}{ending}"
                return "".join([*lines[:number], joined, *lines[number + 1 :]])
    return text


def _insert_import(module: Module, text: str, line: str) -> str:
    """A text with an import that an adoption adds."""
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return ""
    edited = Edited(replace(module, text=text, tree=tree))
    edited.imports.append(line)
    return edited.text


def _encode_edit(module: Module, text: str) -> bytes:
    edited = Edited(module)
    edited.edits.append((0, len(module.text), text))
    return edited.encoded()


def _plan_settings(root: Path, removal: Removal) -> None:
    """Restore pyproject.toml where it is as the adoption left it; else a person takes our lines out."""
    path = root / "pyproject.toml"
    if not path.is_file():
        return
    try:
        added = git(
            root, "log", "--diff-filter=A", "--format=%H", "--", str(ANSWERS)
        ).split()
        if not added:
            return
        name = f"./{path.name}"
        before = git(root, "cat-file", "blob", f"{added[-1]}^:{name}")
        after = git(root, "cat-file", "blob", f"{added[-1]}:{name}")
    except UnableError:
        removal.by_hand.append(
            "pyproject.toml: take out the dependencies that adopt added"
        )
        return
    held = path.read_bytes().decode("utf-8", "surrogateescape")
    if ENGINE in held:  # an update has moved its pin
        held, after = pin_engine(held, ""), pin_engine(after, "")
    if before == after:
        return
    merged = _merge(held, after, before)
    if merged is None:
        removal.by_hand.append(
            "pyproject.toml: it was edited since; take out what adopt added"
        )
    else:
        removal.written[path] = merged.encode("utf-8", "surrogateescape")


def _merge(held: str, after: str, before: str) -> str | None:
    """Take the adoption's change out of a text, and keep what its author changed since.

    Args:
        held: The present text.
        after: The text that the adoption wrote.
        before: The text from before it.

    Returns:
        The text, or None where both changed the same lines.
    """
    with tempfile.TemporaryDirectory() as folder:
        names = []
        for name, text in (("held", held), ("after", after), ("before", before)):
            path = Path(folder, name)
            path.write_bytes(text.encode("utf-8", "surrogateescape"))
            names.append(str(path))
        try:
            return git(Path(folder), "merge-file", "--stdout", *names)
        except UnableError:
            return None

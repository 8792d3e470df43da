"""`adopt --remove`: removal of the policy from an adopted server, which restores the author's bytes."""

import ast
import re
import tempfile
from collections.abc import Collection
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
from .edits import Edit, Edited
from .skeletons import PACKAGE

UNPROBED = 'unprobed = "it was adopted, and nobody has arranged data for it yet"'
EARLIER_CONFTEST = '"""Your own `pytest` leaves this folder out:'
AUTHORS_FILE = '"""Yours: '  # how each skeleton begins
REVIEW = "# review: "
BLANKS = 3  # the most blank lines that an import of ours brings with it


@dataclass
class Removal:
    """The changes of a removal, and the remaining work.

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
        answers: The recorded answers.

    Raises:
        RefusedError: The server was not adopted.
        UnableError: The recorded version of the template cannot be reached.
    """
    if not answers.get("adopted"):
        raise RefusedError(f"there is no adoption in {root.name}; nothing to remove")
    removal = Removal()
    package = layout.get_policy_package(answers["adopted"]["place"])
    for module in Project(root).modules.values():
        text = _remove_policy(module, package)
        if text != module.text:
            removal.written[module.path] = _encode_edit(module, text)
    _plan_settings(root, removal)
    for name in sorted(_list_own_names(answers)):
        path = root / name
        if path.is_file():
            removal.deleted.append(path)
    for path in sorted((root / "tests/tools").glob("*.py")):
        text = path.read_text(encoding="utf-8")
        name = path.relative_to(root).as_posix()
        if _is_unchanged_skeleton(text):
            removal.deleted.append(path)
        elif AUTHORS_FILE in text[:12]:
            removal.by_hand.append(f"{name}: yours since you filled it in")
    return removal


def _list_own_names(answers: dict[str, Any]) -> set[str]:
    """The names of the files that are ours in an adopted server, whatever they contain."""
    names = {str(ANSWERS), str(LOCK), TABLE, todo.FILE}
    with copier_process.render_project(answers) as fresh:
        for path in fresh.rglob("*"):
            if path.is_file():
                names.add(path.relative_to(fresh).as_posix())
    return names


def _is_unchanged_skeleton(text: str) -> bool:
    """Whether a file of tests/tools/ is as an adoption wrote it."""
    if text == PACKAGE or text.startswith(EARLIER_CONFTEST) or UNPROBED in text:
        return True
    return AUTHORS_FILE in text[:12] and "raise NotImplementedError" in text


def _remove_policy(module: Module, package: str) -> str:
    """The text of a file without the decorators, the govern line and the import of the policy."""
    words: set[str] = set()
    for name, target in module.imports.items():
        if target == package:
            words.add(name)
    if not words:
        return module.text
    lines = module.text.splitlines(keepends=True)
    text = ""
    removed = _list_policy_lines(module, words, lines)
    for number, line in enumerate(lines, 1):
        if number not in removed:
            text += line
    for word in words:
        if re.search(rf"\b{word}\.", text):
            return text  # its author uses it too, and keeps the import
    return _remove_import(module, text, package)


def _list_policy_lines(module: Module, words: set[str], lines: list[str]) -> set[int]:
    """The numbers of the lines with a decorator, a review note or a govern call."""
    numbers: set[int] = set()
    behaviors = load_tables()["behaviors"]
    for node in module.nodes:
        if isinstance(node, ast.Expr):
            if _calls_policy(node.value, words, {"govern"}):
                numbers |= _list_line_numbers(node.value)
        elif isinstance(node, FUNCTIONS):
            for decorator in node.decorator_list:
                if _calls_policy(decorator, words, behaviors):
                    numbers |= _list_line_numbers(decorator)
                    numbers |= _find_review_note(lines, decorator.lineno)
    return numbers


def _find_review_note(lines: list[str], number: int) -> set[int]:
    """The number of the line above another one, if it is a review note."""
    above = number - 1
    is_note = lines[above - 1].lstrip().startswith(REVIEW)
    return {above} if is_note else set()


def _list_line_numbers(node: ast.expr) -> set[int]:
    end = node.end_lineno or 0
    return set(range(node.lineno, end + 1))


def _calls_policy(node: ast.expr, words: set[str], names: Collection[str]) -> bool:
    """Whether an expression calls one of some functions of the policy."""
    if not isinstance(node, ast.Call):
        return False
    function = ast.unparse(node.func)
    above, _, name = function.rpartition(".")
    return above in words and name in names


def _remove_import(module: Module, text: str, package: str) -> str:
    """A text without the import of the policy: the one that an adoption makes this text of."""
    above, _, name = package.rpartition(".")
    import_line = f"from {above} import {name}" if above else f"import {name}"
    lines = text.splitlines(keepends=True)
    for number, line in enumerate(lines):
        plain = line.rstrip("\r\n")
        if plain == import_line or plain.startswith(f"{import_line} as "):
            return _remove_import_line(module, lines, number)
        head, _, joined_names = plain.partition(" import ")
        names = joined_names.split(", ")
        if above and head == f"from {above}" and name in names:
            names.remove(name)
            ending = line[len(plain) :]
            lines[number] = f"{head} import {', '.join(names)}{ending}"
            return "".join(lines)
    return text


def _remove_import_line(module: Module, lines: list[str], number: int) -> str:
    """A text without a line, and without the blank lines that came with it."""
    text = "".join(lines)
    line = lines[number].rstrip("\r\n")
    for before in range(min(BLANKS, number + 1)):
        for after in range(BLANKS):
            start = number - before
            end = number + 1 + after
            neighbors = lines[start:number] + lines[number + 1 : end]
            if "".join(neighbors).strip():
                continue
            candidate = "".join(lines[:start] + lines[end:])
            if _insert_import(module, candidate, line) == text:
                return candidate
    return "".join(lines[:number] + lines[number + 1 :])


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
    edited.edits.append(Edit(0, len(module.text), text))
    return edited.encode_edits()


def _plan_settings(root: Path, removal: Removal) -> None:
    """Restore pyproject.toml where it is as the adoption left it; else the user removes our lines."""
    path = root / "pyproject.toml"
    if not path.is_file():
        return
    additions = ("log", "--diff-filter=A", "--format=%H", "--", str(ANSWERS))
    try:
        commits = git(root, *additions).split()
        if not commits:
            return
        first = commits[-1]
        before = git(root, "cat-file", "blob", f"{first}^:./{path.name}")
        after = git(root, "cat-file", "blob", f"{first}:./{path.name}")
    except UnableError:
        reason = "take out the dependencies that adopt added"
        removal.by_hand.append(f"{path.name}: {reason}")
        return
    present = path.read_bytes().decode("utf-8", "surrogateescape")
    if ENGINE in present:  # an update has moved its pin
        present = pin_engine(present, "")
        after = pin_engine(after, "")
    if before == after:
        return
    merged = _merge(present, after, before)
    if merged is None:
        reason = "it was edited since; take out what adopt added"
        removal.by_hand.append(f"{path.name}: {reason}")
    else:
        removal.written[path] = merged.encode("utf-8", "surrogateescape")


def _merge(present: str, after: str, before: str) -> str | None:
    """Remove the adoption's change from a text, and keep what its author changed since.

    Args:
        present: The present text.
        after: The text that the adoption wrote.
        before: The text from before it.

    Returns:
        The text, or None where both changed the same lines.
    """
    texts = {"present": present, "after": after, "before": before}
    with tempfile.TemporaryDirectory() as folder:
        names: list[str] = []
        for name, text in texts.items():
            path = Path(folder, name)
            path.write_bytes(text.encode("utf-8", "surrogateescape"))
            names.append(str(path))
        try:
            return git(Path(folder), "merge-file", "--stdout", *names)
        except UnableError:
            return None

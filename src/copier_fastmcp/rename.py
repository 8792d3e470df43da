"""`rename`: a tool under another name, in all places that are its own."""

import ast
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from .answers import recorded
from .errors import RefusedError
from .repository import changed, git
from .tables import tables
from .tools import apply, clean, file_of, listed, mentions, name_of, unknown

NAME = re.compile("[a-z][a-z0-9_]{0,63}")


def renamed(text: str, old: str, new: str) -> str:
    """A file with a tool's name, and that of its classes, replaced wherever it is a whole word."""
    was, now = ("".join(part.title() for part in name.split("_")) for name in (old, new))
    text = re.sub(rf"\b{old}\b", new, text)
    return re.sub(rf"\b{was}(?=Result\b|Item\b|Request\b)", now, text)


def _behavior(path: Path, name: str) -> str:
    """The behavior that a tool's file declares; empty where no decorator says one."""
    known = tables()["behaviors"]
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name == name:
            called = (getattr(one, "func", one) for one in node.decorator_list)
            ids = (getattr(one, "id", getattr(one, "attr", "")) for one in called)
            return next((one for one in ids if one in known), "")
    return ""


def _entry(entry: Any, new: str, behavior: str) -> Any:
    """A tool of the answers under its new name; its behavior is said where the name says another."""
    says = next((one for one, verbs in tables()["verbs"].items() if new.split("_")[0] in verbs), "")
    if isinstance(entry, Mapping):
        said = {"behavior": behavior} if behavior and behavior != says else {}
        return {**entry, "name": new} | (said if "behavior" not in entry else {})
    given = str(entry).partition("=")[2].strip()
    given = given or (behavior if behavior != says else "")
    return f"{new}={given}" if given else new


def rename(
    old: str,
    new: str,
    *,
    trust: bool = False,
    json_output: Annotated[bool, Parameter("--json")] = False,
) -> int:
    """Give a tool of the server in this folder another name: answer, file, test, lock, tool table.

    All of it or nothing. What it does stays as it is, whatever the new name says. Clients that know
    the old name have to learn the new one; the lock says RENAMED. Where else the project names it
    is listed: those lines are yours.

    Args:
        old: Its name.
        new: The new one.
        trust: Let the template run its tasks and migrations, with your rights.
        json_output: Print JSON.

    Returns:
        0 when nothing has the old name any more, 1 when other files do.

    Raises:
        RefusedError: There is no such tool, the new name is taken or none, or the tree is not clean.
        UnableError: Copier, git or the server fails; everything is as it was.
    """
    known = recorded()
    clean()
    path = file_of(old)
    if path is None:
        raise unknown(old)
    if not NAME.fullmatch(new) or file_of(new):
        why = "is taken" if file_of(new) else "is not a name for a tool; write it as archive_note"
        raise RefusedError(f"{new!r} {why}")
    before, behavior = listed(known), _behavior(path, old)
    after = [_entry(one, new, behavior) if name_of(one) == old else one for one in before]
    moved = {path: path.with_name(f"{new}.py") if path.stem == old else path}
    test = Path(f"tests/tools/test_{old}.py")
    if test.is_file():
        moved[test] = test.with_name(f"test_{new}.py")

    def move() -> None:
        texts = {goal: renamed(one.read_text("utf-8"), old, new) for one, goal in moved.items()}
        for name, letters in changed(Path(), "--", "src", "tests/tools").items():
            if letters == "??" and Path(name).name in (f"{new}.py", f"test_{new}.py"):
                Path(name).unlink()  # what the template makes for a new tool
        for one, goal in moved.items():
            one.unlink()
            goal.write_text(texts[goal], encoding="utf-8", newline="\n")

    apply(known, after if after != before else None, trust=trust, then=move)
    left = mentions(old)
    if json_output:
        files = {one.as_posix(): goal.as_posix() for one, goal in moved.items()}
        told = {"tool": new, "moved": files, "changed": sorted(changed(Path())), "named": left}
        print(json.dumps(told, indent=2))
    else:
        for one, goal in moved.items():
            print(f"{one.as_posix()} -> {goal.as_posix()}")
        for place in left:
            print(f"{place}: names {old}")
        print(git(Path(), "diff", "--stat", "--no-color"), end="")
    return 1 if left else 0

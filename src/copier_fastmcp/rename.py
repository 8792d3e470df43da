"""`rename`: a tool under another name, in all places that are its own."""

import ast
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from .errors import RefusedError
from .project.answers import ANSWERS, read_recorded_answers
from .project.repository import git
from .project.tool_files import (
    FUNCTIONS,
    find_mentions,
    find_tool_file,
    parse_behavior,
    unknown_tool_error,
)
from .tools_answer import NAME, get_tool_name, infer_from_name, list_tools, parse_entry
from .updates.tool_changes import change_tools, deliver, inside_worktree, new_files

# Where a project's decorators are: in its vendored engine, in the policy of older releases
DECLARATIONS = ("src/*/engine/declarations.py", "src/*/policy/declarations.py")
FACADE, PACKAGE = (
    "src/*/policy/__init__.py",
    "copier_fastmcp_engine",
)  # or in a dependency
WIDTH = 100


def rename_identifier(text: str, old: str, new: str) -> str:
    """A file with a tool's name, and that of its classes, replaced wherever it is a whole word."""
    was, now = (
        "".join(part.title() for part in name.split("_")) for name in (old, new)
    )
    text = re.sub(rf"\b{old}\b", new, text)
    return re.sub(rf"\b{was}(?=Result\b|Item\b|Request\b)", now, text)


def _declared(text: bytes, name: str) -> tuple[str, ast.Call | None]:
    """The behavior that a tool's file declares, and the decorator; empty where none says one."""
    for node in ast.walk(ast.parse(text)):
        if (
            isinstance(node, FUNCTIONS)
            and node.name == name
            and (found := parse_behavior(node))[0]
        ):
            return found
    return "", None


def _names(value: ast.expr | None) -> list[str] | None:
    """The texts of a list that is written out; None where it is another thing."""
    try:
        found = [] if value is None else ast.literal_eval(value)
    except ValueError:
        return None
    listed = isinstance(found, (list, tuple)) and all(
        isinstance(one, str) for one in found
    )
    return [*found] if listed else None


def add_alias(text: str, new: str, old: str) -> str:
    """A tool's file whose decorator says also the name that it had; as it was where none can say it."""
    raw = text.encode()
    call = _declared(raw, new)[1]
    if call is None or not call.keywords:
        return text
    said = next((one.value for one in call.keywords if one.arg == "formerly"), None)
    names = _names(said)
    if names is None:
        return text
    value = json.dumps(
        [*(name for name in names if name not in (old, new)), old]
    ).encode()
    lines = raw.splitlines(keepends=True)

    def at(line: int, column: int) -> int:
        return sum(map(len, lines[: line - 1])) + column

    start, end = (
        at(call.lineno, call.col_offset),
        at(call.end_lineno or 0, call.end_col_offset or 0),
    )
    if said:
        first = at(said.lineno, said.col_offset)
        last = at(said.end_lineno or 0, said.end_col_offset or 0)
        return (raw[:first] + value + raw[last:]).decode()
    closing = raw.rfind(b"\n", start, end) + 1
    final = max(
        at(one.end_lineno or 0, one.end_col_offset or 0) for one in call.keywords
    )
    comma = b"," in re.sub(b"#.*", b"", raw[final:closing])
    if closing > final and comma and not raw[closing : end - 1].strip():
        margin = raw[closing : end - 1] + b"    "
        return (
            raw[:closing] + margin + b"formerly=" + value + b",\n" + raw[closing:]
        ).decode()
    flat = raw[start:final] + b", formerly=" + value + raw[final:end]
    if b"\n" not in flat and len(flat) > WIDTH:
        parts = [
            ast.get_source_segment(text, one) or ""
            for one in (*call.args, *call.keywords)
        ]
        head = raw[start:end].partition(b"(")[0]
        body = "".join(
            f"    {part},\n" for part in [*parts, f"formerly={value.decode()}"]
        ).encode()
        flat = head + b"(\n" + body + b")"
    return (raw[:start] + flat + raw[end:]).decode()


def _entry(one: Any, new: str, behavior: str, old: str) -> Any:
    """A tool of the answers under its new name; its behavior is said where the name says another.

    `old` is the name that it still answers to, empty where it does not.
    """
    says = infer_from_name(new)
    given = "" if isinstance(one, Mapping) else parse_entry(one).get("behavior", "")
    given = given or (behavior if behavior != says else "")
    if not isinstance(one, Mapping) and not old:
        return f"{new}={given}" if given else new
    known = dict(one) if isinstance(one, Mapping) else {}
    said = {"behavior": given} if given and "behavior" not in known else {}
    had = [name for name in known.get("formerly") or [] if name not in (old, new)]
    return {**known, "name": new} | said | ({"formerly": [*had, old]} if old else {})


def rename(
    old: str,
    new: str,
    *,
    forget: bool = False,
    branch: str | None = None,
    here: bool = False,
    trust: bool = False,
    json_output: Annotated[bool, Parameter("--json")] = False,
) -> int:
    """Rename a tool of the server in this folder: answer, file, test, lock and tool table, all or nothing.

    The change is made in a temporary worktree and becomes a branch; your working tree stays as it is. The
    tool's behavior stays, whatever the new name says. The old name still answers, unlisted, and the lock
    says RENAMED. Where else the project uses the old name is listed: those lines are yours to change.

    Args:
        old: Its name.
        new: The new one.
        forget: Do not let the old name answer any more.
        branch: The branch's name; by default rename-OLD-NEW.
        here: Put the change into the working tree instead, which must be clean; nothing is staged.
        trust: Let the template run its tasks and migrations, with your rights.
        json_output: Print JSON.

    Returns:
        0 when nothing has the old name any more, 1 when other files do.

    Raises:
        RefusedError: There is no such tool, the new name is taken or none, or something is in the way of the change.
        UnableError: Copier, git or the server fails; nothing has changed.
    """
    read_recorded_answers()
    with inside_worktree() as worktree:
        known = read_recorded_answers()
        path = find_tool_file(old)
        if path is None:
            raise unknown_tool_error(old)
        if find_tool_file(new):
            raise RefusedError(f"{new!r} is taken")
        if not NAME.fullmatch(new):
            raise RefusedError(
                f"{new!r} is not a name for a tool; write it as archive_note"
            )
        text = path.read_text("utf-8")
        behavior = _declared(text.encode(), old)[0]
        new_text = rename_identifier(text, old, new)
        final_text = new_text
        if not forget and _supports_aliases():
            final_text = add_alias(new_text, new, old)
        alias = old if final_text != new_text else ""
        before = list_tools(known.get("tools"))
        after = []
        for tool in before:
            after.append(
                _entry(tool, new, behavior, alias)
                if get_tool_name(tool) == old
                else tool
            )
        moved = _moved_files(path, old, new)

        def move() -> None:
            _move_files(moved, path, final_text, old, new)

        tools = after if after != before else None
        changes = change_tools(worktree, known, tools, trust=trust, edit=move)
        own = (f"{moved[path].as_posix()}:", f"{ANSWERS}:") if alias else ()
        mentioned = [place for place in find_mentions(old) if not place.startswith(own)]
        stat = git(Path(), "diff", "--cached", "--stat", "--no-color")
        branch = branch or f"rename-{old}-{new}"
        place = deliver(worktree, branch, f"Rename the tool {old} to {new}", here=here)
    if json_output:
        files = {
            source.as_posix(): target.as_posix() for source, target in moved.items()
        }
        result: dict[str, Any] = {
            "tool": new,
            "moved": files,
            "changed": sorted(changes),
            "named": mentioned,
        }
        result["formerly"] = [alias] if alias else []
        result["branch"] = None if here else branch
        print(json.dumps(result, indent=2))
        return 1 if mentioned else 0
    for source, target in moved.items():
        print(f"{source.as_posix()} -> {target.as_posix()}")
    print(f"{old} still answers" if alias else f"{old} no longer answers")
    for mention in mentioned:
        print(f"{mention}: names {old}")
    print(stat, end="")
    print(place)
    return 1 if mentioned else 0


def _supports_aliases() -> bool:
    """Return whether the project's decorators accept former names; those of older releases do not."""
    for place in DECLARATIONS:
        for path in Path().glob(place):
            if "formerly" in path.read_text("utf-8"):
                return True
    return any(PACKAGE in path.read_text("utf-8") for path in Path().glob(FACADE))


def _moved_files(path: Path, old: str, new: str) -> dict[Path, Path]:
    """Return where the tool's file and its test go; a file of another name stays."""
    moved = {path: path.with_name(f"{new}.py") if path.stem == old else path}
    test = Path(f"tests/tools/test_{old}.py")
    if test.is_file():
        moved[test] = test.with_name(f"test_{new}.py")
    return moved


def _move_files(
    moved: dict[Path, Path], path: Path, text: str, old: str, new: str
) -> None:
    """Move the tool's files, over those that the template made for a new tool of that name."""
    texts = {}
    for source, target in moved.items():
        texts[target] = rename_identifier(source.read_text("utf-8"), old, new)
    texts[moved[path]] = text
    for name in new_files("src", "tests/tools"):
        if Path(name).name in (f"{new}.py", f"test_{new}.py"):
            Path(name).unlink()
    for source, target in moved.items():
        source.unlink()
        target.write_text(texts[target], encoding="utf-8", newline="\n")

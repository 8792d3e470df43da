"""`remove`: a tool and everything that is its own, removed."""

import json
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from copier_fastmcp_engine.testing.lock import FILE as LOCK

from .errors import RefusedError
from .project.answers import read_recorded_answers
from .project.pinning import PIN, TABLE
from .project.tool_files import (
    find_mentions,
    find_tool_file,
    list_tool_functions,
    refuse_adopted,
    unknown_tool_error,
)
from .tools_answer import get_tool_name, list_tools
from .updates.tool_changes import change_tools, deliver, inside_worktree
from .updates.tool_imports import find_importing_files


def _find_files(name: str) -> list[Path]:
    """Return the files of a tool: its own and its test's.

    Raises:
        RefusedError: The tool shares its file with others, or another file imports it.
    """
    path = find_tool_file(name)
    if path:
        siblings = [tool for tool in list_tool_functions(path) if tool != name]
        if siblings:
            problem = f"{path.as_posix()} holds {name} and {', '.join(siblings)}"
            raise RefusedError(
                f"{problem}; take {name} out of it by hand, then say remove again"
            )
    test_file = Path(f"tests/tools/test_{name}.py")
    if path:
        importing = [
            file.as_posix()
            for file in find_importing_files(path, name)
            if file != test_file
        ]
        if importing:
            places = ", ".join(importing)
            raise RefusedError(
                f"{places} imports from {path.as_posix()}; take the import out by hand, then say remove again"
            )
    files = [path, test_file]
    return [file for file in files if file and file.is_file()]


def remove(
    name: str,
    *,
    branch: str | None = None,
    here: bool = False,
    trust: bool = False,
    json_output: Annotated[bool, Parameter("--json")] = False,
) -> int:
    """Remove a tool of the server in this folder: answer, file, test, lock and tool table, all or nothing.

    The change is made in a temporary worktree and becomes a branch; your working tree stays as it is. Git
    keeps what is deleted. A tool that was written by hand is removed, too. Where else the project names it
    is listed: those lines are yours to change.

    Args:
        name: Its name.
        branch: The branch's name; by default remove-NAME.
        here: Put the change into the working tree instead, which must be clean; nothing is staged.
        trust: Let the template run its tasks and migrations, with your rights.
        json_output: Print JSON.

    Returns:
        0 when nothing names it any more, 1 when other files do.

    Raises:
        RefusedError: There is no such tool, it shares its file, another file imports it, or something is in the way of the change.
        UnableError: Copier, git or the server without it fails; nothing has changed.
    """
    read_recorded_answers()
    checkout = Path.cwd()
    with inside_worktree() as worktree:
        answers = read_recorded_answers()
        refuse_adopted(answers, name, "remove")
        before = list_tools(answers.get("tools"))
        files = _find_files(name)
        after = [tool for tool in before if get_tool_name(tool) != name]
        if len(after) == len(before) and not files:
            raise unknown_tool_error(name, checkout)

        def delete() -> None:
            for path in files:
                path.unlink()

        tools = after if len(after) < len(before) else None
        changes = change_tools(worktree, answers, tools, trust=trust, edit=delete)
        mentioned = find_mentions(name)
        is_pinned = PIN.is_file()
        branch = branch or f"remove-{name}"
        place = deliver(worktree, branch, f"Remove the tool {name}", here=here)
    names = [path.as_posix() for path in files]
    if json_output:
        result: dict[str, Any] = {
            "tool": name,
            "deleted": names,
            "changed": sorted(changes),
            "named": mentioned,
        }
        result["branch"] = None if here else branch
        print(json.dumps(result, indent=2))
        return 1 if mentioned else 0
    for path in names:
        print(f"{path}: deleted")
    for mention in mentioned:
        print(f"{mention}: names {name}")
    if is_pinned:
        print(f"{LOCK} and {TABLE}: without it")
    print(place)
    return 1 if mentioned else 0

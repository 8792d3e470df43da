"""`restore`: policy files as the recorded version of the template has them."""

import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from .errors import RefusedError, UnableError, format_count, one_line
from .project.answers import read_recorded_answers
from .project.copier_process import render_project
from .project.guarded_writes import Change, Content, read_content, write_changes
from .project.ownership import (
    compare_policy_files,
    is_same_text,
    list_files,
    list_policy_files,
)
from .project.repository import git, list_changes, split_names
from .project.tool_files import find_tool_file, list_tool_functions

TOOLS = re.compile("(src/[^/]+|tests)/tools/.+")  # their authors', so only by name


def _resolve_names(paths: tuple[Path, ...], policy: list[str]) -> list[str]:
    """Return the paths of the command line as names of files that can be restored.

    Raises:
        RefusedError: The recorded version has no file of that name to restore.
    """
    root = Path.cwd().resolve()
    names = []
    for path in paths:
        full_path = Path(os.path.abspath(path))  # a link is taken by its own name
        name = str(path)
        if full_path.is_relative_to(root):
            name = full_path.relative_to(root).as_posix()
        if name not in policy:
            raise RefusedError(
                f"{name} is not a policy file of the template's recorded version; `git restore` brings back your own files"
            )
        names.append(name)
    return names


def _compare_tool_files(names: set[str], fresh: Path) -> dict[str, str]:
    """Return the state of each tool file that differs from its answers, in the words of `drift`."""
    states = {}
    for name in names:
        path = Path(name)
        if not path.is_file():
            states[name] = "missing"
        elif not is_same_text(path.read_bytes(), (fresh / name).read_bytes()):
            states[name] = "edited"
    return states


def _refuse_moved_tools(states: Mapping[str, str], fresh: Path) -> None:
    """Refuse to write a tool's file anew while another file has the tool: it would be served twice.

    Raises:
        RefusedError: The author moved the tool.
    """
    for name, state in states.items():
        if state != "missing" or not name.startswith("src/"):
            continue
        for tool in list_tool_functions(fresh / name):
            if place := find_tool_file(tool):
                problem = f"{name}: {tool} is in {place.as_posix()} now"
                raise RefusedError(f"{problem}; delete it there first, or leave it")


def _find_unsaved(names: list[str]) -> list[str]:
    """Return the files whose present contents git could not restore."""
    existing = [name for name in names if os.path.lexists(name)]
    if not existing:
        return []
    options = ("--untracked-files=all", "--ignored")
    return sorted(list_changes(Path(), *options, "--", *existing))


def _read_contents(paths: tuple[Path, ...]) -> dict[str, Content | None]:
    """Return what files hold when the verb starts: even --force loses nothing that is saved later.

    Args:
        paths: The files that the user named; without them, all files that git tracks count.
    """
    if paths:
        root = Path.cwd()
        names = []
        for path in paths:
            full_path = Path(os.path.abspath(path))
            if full_path.is_relative_to(root):
                names.append(full_path.relative_to(root).as_posix())
    else:
        try:
            names = split_names(git(Path(), "ls-files", "-z"))
        except UnableError:  # `drift` and `restore` work outside of git, too
            return {}
    contents = {}
    for name in names:
        if not Path(name).is_dir():
            contents[name] = read_content(Path(name))
    return contents


def _require_saved(names: list[str]) -> None:
    """Refuse files with uncommitted changes.

    Raises:
        RefusedError: A file has changes that git could not restore.
    """
    unsaved = _find_unsaved(names)
    if unsaved:
        verb = "have" if len(unsaved) > 1 else "has"
        problem = f"{', '.join(unsaved)} {verb} changes that are not committed"
        raise RefusedError(f"{problem}; commit them, or say --force to lose them")


def _require_inside(names: list[str]) -> None:
    """Refuse files in folders outside of the project.

    Raises:
        RefusedError: A link leads out of the project.
    """
    root = Path.cwd().resolve()
    for name in names:
        if not Path(name).parent.resolve().is_relative_to(root):
            raise RefusedError(
                f"{name}: a link leads out of the project; take the link away"
            )


def restore(
    *files: Path,
    force: bool = False,
    template: str | None = None,
    json_output: Annotated[bool, Parameter("--json")] = False,
) -> int:
    """Put policy files back as the recorded version of the template has them.

    Without a name it takes every file that `drift` lists. A file whose changes are not committed is
    left alone, and then nothing is written at all. The file of a tool, which is yours, is restored only
    when you name it: it is written anew from the answers.

    Args:
        files: Policy files of this project, or files of tools and their tests.
        force: Restore files with uncommitted changes too; those changes are lost.
        template: Where the template is, when it is no longer at the recorded address.
        json_output: Print JSON.

    Raises:
        RefusedError: A file is not a policy file, lies behind a link that leads out of the project, or
            has changes that are not committed.
        UnableError: The recorded version cannot be rendered, or git cannot be asked.
    """
    answers = read_recorded_answers(template)
    at_start = _read_contents(files)
    with render_project(answers) as fresh:
        states = compare_policy_files(fresh, Path())
        tool_files = [name for name in list_files(fresh) if TOOLS.fullmatch(name)]
        names = (
            _resolve_names(files, [*list_policy_files(fresh), *tool_files])
            if files
            else list(states)
        )
        tool_states = _compare_tool_files({*names} & {*tool_files}, fresh)
        _refuse_moved_tools(tool_states, fresh)
        states |= tool_states
        selected = {name: states[name] for name in names if name in states}
        before = {}
        for name in selected:
            before[name] = at_start.get(name, read_content(Path(name)))
        if not force:
            _require_saved(list(selected))
        _require_inside(list(selected))
        changes = {}
        for name in selected:
            changes[Path(name)] = Change(before[name], read_content(fresh / name))
        write_changes(changes)
    source, version = answers["_src_path"], answers["_commit"]
    if json_output:
        result = {"template": source, "version": version, "restored": selected}
        print(json.dumps(result, indent=2))
        return 0
    for name, state in selected.items():
        print(one_line(f"{name}: was {state}, restored"))
    for name in names:
        if name not in selected:
            print(f"{name}: is as the template has it")
    count = format_count(len(selected), "file")
    print(f"{count} restored from {source} at {version}; `git diff` shows them")
    return 0

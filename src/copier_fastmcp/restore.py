"""`restore`: policy files as the recorded version of the template has them."""

import json
import os
import re
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

TOOLS = re.compile("(src/[^/]+|tests)/tools/.+")  # their authors', so only by name


def _named(paths: tuple[Path, ...], policy: list[str]) -> list[str]:
    """Paths that a person typed, as the names of files that can be restored.

    Raises:
        RefusedError: The recorded version has none of that name to restore.
    """
    here = Path.cwd().resolve()
    names = []
    for path in paths:
        whole = Path(os.path.abspath(path))  # a link is taken by its own name
        inside = whole.is_relative_to(here)
        name = whole.relative_to(here).as_posix() if inside else str(path)
        if name not in policy:
            raise RefusedError(
                f"{name} is not a policy file of the template's recorded version"
            )
        names.append(name)
    return names


def _tools(names: set[str], fresh: Path) -> dict[str, str]:
    """Files of tools that are not as their answers have them, in the words of `drift`."""
    there = {name for name in names if Path(name).is_file()}
    states = dict.fromkeys(names - there, "missing")
    edited = (
        n
        for n in there
        if not is_same_text(Path(n).read_bytes(), (fresh / n).read_bytes())
    )
    return states | dict.fromkeys(edited, "edited")


def _at_risk(names: list[str]) -> list[str]:
    """Files whose present bytes git could not give back."""
    there = [name for name in names if os.path.lexists(name)]
    if not there:
        return []
    root = "--untracked-files=all"
    unsaved = list_changes(Path(), root, "--ignored", "--", *there)
    return sorted(unsaved)


def _contents(paths: tuple[Path, ...]) -> dict[str, Content | None]:
    """Return what files hold when the verb starts: even --force loses nothing that is saved later.

    Args:
        paths: The files that the user named; without them, all files that git tracks count.
    """
    if paths:
        here = Path.cwd()
        whole = [Path(os.path.abspath(path)) for path in paths]
        names = [
            path.relative_to(here).as_posix()
            for path in whole
            if path.is_relative_to(here)
        ]
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
    known = read_recorded_answers(template)
    at_start = _contents(files)
    with render_project(known) as fresh:
        states = compare_policy_files(fresh, Path())
        mine = [name for name in list_files(fresh) if TOOLS.fullmatch(name)]
        names = (
            _named(files, [*list_policy_files(fresh), *mine]) if files else list(states)
        )
        states |= _tools({*names} & {*mine}, fresh)
        wanted = {name: states[name] for name in names if name in states}
        before = {name: at_start.get(name, read_content(Path(name))) for name in wanted}
        if not force and (unsaved := _at_risk(list(wanted))):
            many = "have" if len(unsaved) > 1 else "has"
            why = f"{', '.join(unsaved)} {many} changes that are not committed"
            raise RefusedError(f"{why}; commit them, or say --force to lose them")
        for name in wanted:
            if not Path(name).parent.resolve().is_relative_to(Path.cwd().resolve()):
                raise RefusedError(
                    f"{name}: a link leads out of the project; take the link away"
                )
        changes = {}
        for name in wanted:
            changes[Path(name)] = Change(before[name], read_content(fresh / name))
        write_changes(changes)
    source, version = known["_src_path"], known["_commit"]
    if json_output:
        print(
            json.dumps(
                {"template": source, "version": version, "restored": wanted}, indent=2
            )
        )
        return 0
    for name, state in wanted.items():
        print(one_line(f"{name}: was {state}, restored"))
    for name in names:
        if name not in wanted:
            print(f"{name}: is as the template has it")
    print(
        f"{format_count(len(wanted), 'file')} restored from {source} at {version}; `git diff` shows them"
    )
    return 0

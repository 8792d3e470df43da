"""`drift`: policy files that are not as the template has them."""

import json
import os
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from .errors import RefusedError, UnableError, format_count, one_line
from .project.answers import read_recorded_answers
from .project.copier_process import render_project
from .project.ownership import compare_policy_files, list_files, load_engine_digests
from .updates.tool_differences import find_tool_differences


def find_unknown_files(fresh: Path, project: Path) -> list[str]:
    """Return files in the template's own folders that the template does not have.

    Args:
        fresh: The recorded version, rendered.
        project: The project.
    """
    rendered_names = list_files(fresh)
    folders: set[str] = set()
    for name in rendered_names:
        parent = Path(name).parent
        if parent.name == "policy":
            folders.add(str(parent))
    engine = []
    for name in load_engine_digests(fresh):
        if not name.startswith("tests/"):
            engine.append(name)
    if engine:
        folders.add(os.path.commonpath(engine))
    unknown = []
    for folder in folders:
        for path in (project / folder).rglob("*"):
            name = path.relative_to(project).as_posix()
            if not path.is_file() or "__pycache__" in name:
                continue
            if name not in rendered_names:
                unknown.append(name)
    return sorted(unknown)


def drift(
    *,
    template: str | None = None,
    json_output: Annotated[bool, Parameter("--json")] = False,
) -> int:
    """List the policy files of this project that differ from the template at the recorded version.

    It also lists files that the template does not have, and a lost executable bit. The version is
    rendered anew from `.copier-answers.yml`, which runs no code of the template.
    Files of yours, and those that you share with the template, are not compared; but where a tool's
    answers and its file say different things, a line says so, and does not count as a difference.

    Args:
        template: Where the template is, when it is no longer at the recorded address.
        json_output: Print JSON.

    Returns:
        0 when they are the same, 1 when any differ.

    Raises:
        UnableError: The recorded version cannot be rendered.
    """
    try:
        answers = read_recorded_answers(template)
        with render_project(answers) as fresh:
            states = compare_policy_files(fresh, Path())
            states |= dict.fromkeys(find_unknown_files(fresh, Path()), "unknown")
            engine = load_engine_digests(fresh)
    except (RefusedError, UnableError, OSError) as error:
        raise UnableError(f"could not compare with the template: {error}") from error
    source, version = answers["_src_path"], answers["_commit"]
    tools = find_tool_differences(Path(), answers)
    if json_output:
        result = {
            "template": source,
            "version": version,
            "files": states,
            "tools": tools,
        }
        print(json.dumps(result, indent=2, ensure_ascii=False))
    else:
        for line in tools:
            print(line)
        _print_states(states, engine)
        count = format_count(len(states), "policy file")
        verb = "differs" if len(states) == 1 else "differ"
        print(f"{count} {verb} from {source} at {version}")
    return 1 if states else 0


def _print_states(states: Mapping[str, str], engine: Collection[str]) -> None:
    """Print the state of each file, and how to restore them.

    Args:
        states: The state of each file that differs.
        engine: The files of the engine.
    """
    edited = 0
    unknown = 0
    for name, state in states.items():
        print(one_line(f"{name}: {state}"))
        if state == "unknown":
            unknown += 1
        elif state == "edited" and name in engine:
            edited += 1
    if edited:
        count = format_count(edited, "file")
        print(f"engine: {count} edited; no update runs until they are restored")
    if unknown < len(states):
        print("to put them back: copier-fastmcp restore, or name the files after it")
    if unknown:
        print(
            "unknown: the template has no such file; move it out of its folder, or delete it"
        )

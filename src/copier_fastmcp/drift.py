"""`drift`: policy files that are not as the template has them."""

import json
import os
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from .errors import RefusedError, UnableError, format_count, one_line
from .project.answers import read_recorded_answers
from .project.copier_process import render_project
from .project.ownership import compare_policy_files, list_files, load_engine_digests
from .updates.tool_differences import find_tool_differences


def find_unknown_files(fresh: Path, project: Path) -> list[str]:
    """Files in the template's own folders that it does not have: left over, or somebody's."""
    known = list_files(fresh)
    folders = {
        str(Path(name).parent) for name in known if Path(name).parent.name == "policy"
    }
    if engine := [
        name for name in load_engine_digests(fresh) if not name.startswith("tests/")
    ]:
        folders.add(os.path.commonpath(engine))
    found = (path for folder in folders for path in (project / folder).rglob("*"))
    names = (path.relative_to(project).as_posix() for path in found if path.is_file())
    return sorted(
        name for name in names if name not in known and "__pycache__" not in name
    )


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
        known = read_recorded_answers(template)
        with render_project(known) as fresh:
            states = compare_policy_files(fresh, Path())
            states |= dict.fromkeys(find_unknown_files(fresh, Path()), "unknown")
            engine = load_engine_digests(fresh)
    except (RefusedError, UnableError, OSError) as error:
        raise UnableError(f"could not compare with the template: {error}") from error
    source, version = known["_src_path"], known["_commit"]
    tools = find_tool_differences(Path(), known)
    if json_output:
        found = {
            "template": source,
            "version": version,
            "files": states,
            "tools": tools,
        }
        print(json.dumps(found, indent=2, ensure_ascii=False))
    else:
        for line in tools:
            print(line)
        for name, state in states.items():
            print(one_line(f"{name}: {state}"))
        if edited := [
            name
            for name, state in states.items()
            if name in engine and state == "edited"
        ]:
            print(
                f"engine: {format_count(len(edited), 'file')} edited; no update runs until they are restored"
            )
        ours = [name for name, state in states.items() if state != "unknown"]
        if ours:
            print(
                "to put them back: copier-fastmcp restore, or name the files after it"
            )
        if len(ours) < len(states):
            print(
                "unknown: the template has no such file; move it out of its folder, or delete it"
            )
        differ = f"{format_count(len(states), 'policy file')} {'differs' if len(states) == 1 else 'differ'}"
        print(f"{differ} from {source} at {version}")
    return 1 if states else 0

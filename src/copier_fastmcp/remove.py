"""`remove`: one tool less, and nothing of it left."""

import json
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from .errors import RefusedError
from .listing import listed, name_of
from .lock import FILE as LOCK
from .project.answers import recorded
from .project.pinning import PIN, TABLE
from .project.repository import changed
from .project.tools import apply, clean, file_of, functions, mentions, unknown


def _files(name: str) -> list[Path]:
    """The files of a tool: its own and its test's.

    Raises:
        RefusedError: It shares its file with others.
    """
    path, test = file_of(name), Path(f"tests/tools/test_{name}.py")
    if path and (others := [one for one in functions(path) if one != name]):
        why = f"{path.as_posix()} holds {name} and {', '.join(others)}"
        raise RefusedError(f"{why}; take {name} out of it by hand, then say remove again")
    return [one for one in (path, test) if one and one.is_file()]


def remove(
    name: str,
    *,
    trust: bool = False,
    json_output: Annotated[bool, Parameter("--json")] = False,
) -> int:
    """Remove a tool of the server in this folder: answer, file, test, lock and tool table, all or nothing.

    Git keeps what is deleted. A tool that was written by hand is removed too. Where else the project
    names it is listed: those lines are yours to change.

    Args:
        name: Its name.
        trust: Let the template run its tasks and migrations, with your rights.
        json_output: Print JSON.

    Returns:
        0 when nothing names it any more, 1 when other files do.

    Raises:
        RefusedError: There is no such tool, it shares its file, or the tree is not clean.
        UnableError: Copier, git or the server without it fails; everything is as it was.
    """
    known = recorded()
    clean()
    before, files = listed(known.get("tools")), _files(name)
    after = [entry for entry in before if name_of(entry) != name]
    if len(after) == len(before) and not files:
        raise unknown(name)
    names = [path.as_posix() for path in files]

    def delete() -> None:
        for path in files:
            path.unlink()

    apply(known, after if len(after) < len(before) else None, trust=trust, then=delete)
    left = mentions(name)
    if json_output:
        done = {"tool": name, "deleted": names, "changed": sorted(changed(Path())), "named": left}
        print(json.dumps(done, indent=2))
    else:
        for path in names:
            print(f"{path}: deleted")
        for place in left:
            print(f"{place}: names {name}")
        if PIN.is_file():
            print(f"{LOCK} and {TABLE}: without it")
    return 1 if left else 0

"""`annotate`: true hints and titles in the source of an ordinary server, and nothing else."""

import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from .adopting.annotating import edits
from .adopting.survey import answered, survey, tell_what_is_left
from .errors import counted
from .project.undoable import clean, reachable, write


def annotate(
    folder: Annotated[Path, Parameter(name="DIR")] = Path(),
    *,
    dry_run: bool = False,
    unattended: bool = False,
    json_output: Annotated[bool, Parameter("--json")] = False,
) -> int:
    """Write hints and titles into the tools of an ordinary server: FastMCP, or the SDK's own.

    It reads the source and runs nothing. Only `annotations=` of each tool is written; every other
    byte stays. What a hint should be comes from the body, the name and the words of a tool; where
    they contradict each other it asks. openWorldHint is left as it is: no body shows it.

    Args:
        folder: The server's repository; the current folder if none is named.
        dry_run: Print the diff and write nothing.
        unattended: Ask nothing; where signals clash, take the cautious behavior.
        json_output: Print JSON: the rows that `adopt --dry-run` has.
    """
    seen = survey(folder)
    root = seen.project.root
    if not dry_run:  # before anything is asked
        _committed(root, [edited.module.path for edited in edits(seen, seen.proposals)[0]])
    chosen = answered(seen, unattended=unattended or json_output or not sys.stdin.isatty())
    files, by_hand = edits(seen, chosen)
    written = {edited.module.path: edited.encoded() for edited in files}
    if not dry_run:
        _committed(root, written)
        reachable(root, written)
        write(written)
    if json_output:
        print(json.dumps(seen.rows(), indent=2, ensure_ascii=False))
        return 0
    if dry_run:
        for edited in files:
            print(edited.diff(edited.module.path.relative_to(root).as_posix()), end="")
    tell_what_is_left(seen, chosen, by_hand)
    print(
        f"{counted(len(written), 'file')} {'would change' if dry_run else 'changed'}",
        file=sys.stderr,
    )
    return 1 if by_hand else 0


def _committed(root: Path, files: Iterable[Path]) -> None:
    """Make sure that nothing in these files is lost; where there are none, there is nothing to ask git."""
    if names := [path.relative_to(root).as_posix() for path in files]:
        clean(root, "so that git can undo it", names)

"""`annotate`: true hints and titles in the source of an ordinary server, and nothing else."""

import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from .adopting.annotations import annotate_survey
from .adopting.edits import Edited
from .adopting.live_comparison import (
    Backup,
    Listing,
    announce_command,
    compare_with_source,
    find_differences,
    list_tools,
)
from .adopting.survey import answer_questions, print_remaining_work, survey_server
from .errors import UnableError, format_count
from .project.guarded_writes import require_clean, require_reachable


def annotate(
    folder: Annotated[Path, Parameter(name="DIR")] = Path(),
    *,
    dry_run: bool = False,
    unattended: bool = False,
    live: str | None = None,
    json_output: Annotated[bool, Parameter("--json")] = False,
) -> int:
    """Write hints and titles into the tools of an ordinary server: FastMCP, or the SDK's own.

    It parses the source and, without --live, runs nothing. Only `annotations=` of a tool is written, and
    only where the registration is understood; every other tool is listed with the text to paste. A hint
    that its author wrote is never relaxed unasked. openWorldHint is left as it is: no body shows it.

    Args:
        folder: The server's repository; the current folder if none is named.
        dry_run: Print the diff and write nothing.
        unattended: Ask nothing; where signals clash, take the cautious behavior and keep written hints.
        live: Start the server with this command before and after; restore every file if its listing differs.
        json_output: Print JSON: the rows that `adopt --dry-run` has.

    Returns:
        0, or 1 if tools are left to a person.

    Raises:
        UnableError: With --live, the server does not start, or differs afterwards; everything is restored.
    """
    survey = survey_server(folder, low_level=True)
    root = survey.project.root
    if not dry_run:  # before anything is asked or started
        _require_committed(root, annotate_survey(survey, survey.proposals).files)
    before: Listing = []
    if live is not None:
        announce_command(live)
        before = list_tools(live)
        survey = compare_with_source(survey, before)
    quiet = unattended or json_output or not sys.stdin.isatty()
    chosen = answer_questions(survey, unattended=quiet)
    annotations = annotate_survey(survey, chosen)
    written: dict[Path, bytes] = {}
    for edited in annotations.files:
        written[edited.module.path] = edited.encode_edits()
    if not dry_run:
        _require_committed(root, annotations.files)
        require_reachable(root, written)
        backup = Backup.write(written)
        if live is not None and written:
            _compare_live(live, before, backup, root)
    if json_output:
        print(json.dumps(survey.build_rows(), indent=2, ensure_ascii=False))
    elif dry_run:
        for edited in annotations.files:
            name = edited.module.path.relative_to(root).as_posix()
            print(edited.format_diff(name), end="")
    if not json_output:
        print_remaining_work(survey, chosen, annotations.by_hand)
        _print_result(len(written), dry_run=dry_run, live=live is not None)
    return 1 if annotations.by_hand else 0


def _compare_live(command: str, before: Listing, backup: Backup, root: Path) -> None:
    """Start the edited server and compare what it lists; restore the files on any difference.

    Raises:
        UnableError: It does not start any more, or lists something else.
    """
    try:
        after = list_tools(command)
    except UnableError as error:
        restored = backup.restore(root)
        raise UnableError(
            f"the server does not start any more ({error}); {restored}"
        ) from error
    except BaseException:
        backup.restore(root)
        raise
    if differences := find_differences(before, after):
        restored = backup.restore(root)
        sample = "; ".join(differences[:3])
        remainder = f" and {len(differences) - 3} more" if len(differences) > 3 else ""
        raise UnableError(
            f"the server lists something else than before: {sample}{remainder}; {restored}"
        )
    print(
        f"it starts and lists the same {format_count(len(after), 'tool')}",
        file=sys.stderr,
    )


def _require_committed(root: Path, files: Iterable[Edited]) -> None:
    """Make sure that git can undo the edits of these files; without files there is nothing to ask git."""
    names = [edited.module.path.relative_to(root).as_posix() for edited in files]
    if names:
        require_clean(root, "so that git can undo it", names)


def _print_result(count: int, *, dry_run: bool, live: bool) -> None:
    """Print how many files changed, and whether anything was started."""
    verb = "would change" if dry_run else "changed"
    line = f"{format_count(count, 'file')} {verb}"
    if count and not dry_run and not live:
        line += "; compiled, and the server was not started: --live COMMAND compares it before and after"
    print(line, file=sys.stderr)

"""`update`: a release of the template for the server in this folder."""

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from .errors import RefusedError, tell
from .project.answers import answers_only, from_options
from .updating.checkouts import Release, Result, rehearse
from .updating.checkouts import update as bring
from .updating.reports import as_text, writable, write


def update(
    *,
    ref: str | None = None,
    from_: Annotated[Path | None, Parameter("--from")] = None,
    data: list[str] | None = None,
    template: str | None = None,
    check: str | None = None,
    dry_run: bool = False,
    roll_back: bool = False,
    unpinned: bool = False,
    unattended: bool = False,
    trust: bool = False,
    report: Path | None = None,
    json_output: Annotated[bool, Parameter("--json")] = False,
) -> int:
    """Update the server in this folder to a release of the template, on a branch of its own.

    Where something would be lost, it names that and writes nothing. In a terminal it tries the update
    in a clone first, and asks you. A conflict stays on the branch, with markers, for you to resolve.

    Args:
        ref: The release, as v2.0.0; else the newest.
        from_: An answers file, as `import` writes it; what it says replaces what the server records.
        data: An answer that changes, as license=MIT. Repeat it for more.
        template: The template's address, when it has moved; it is recorded.
        check: A command that must pass, before and after; `own` is that of the server.
        dry_run: Try it in a clone, and change nothing.
        roll_back: At a conflict, leave everything as it was.
        unpinned: Do not renew lock and tool table.
        unattended: Ask nothing.
        trust: Let the template run its tasks and migrations, with your rights.
        report: Write a report in Markdown to this file, for a pull request.
        json_output: Print JSON.

    Returns:
        0 when it is updated or up to date, 1 when a person has to look at it.

    Raises:
        RefusedError: An answer is not given as name=value, or the answers file cannot be used.
        UnableError: There is no folder for the report.
    """
    writable(report)
    project = Path.cwd().resolve()
    given = (_from(from_) if from_ else {}) | from_options(data)
    release = Release(ref, check, trust, not unpinned, not roll_back, template, given)
    asks = sys.stdin.isatty() and not (unattended or json_output)
    result = rehearse(project, release) if dry_run or asks else bring(project, release)
    if asks and not dry_run and result.outcome in ("clean", "conflict"):
        from .terminal.describing import agreed

        print(as_text(result))
        if not agreed():
            tell("nothing was written")
            return 130
        result = bring(project, release)
    write(report, [result])
    print(
        json.dumps(asdict(result), indent=2, ensure_ascii=False) if json_output else as_text(result)
    )
    if result.branch and not json_output:
        print(_next(result))
    return 0 if result.outcome in ("clean", "up to date") else 1


def _from(file: Path) -> dict[str, Any]:
    """The answers in a file.

    Raises:
        RefusedError: It holds none.
    """
    from .openapi.merging import load_answers

    if found := load_answers(file):
        return answers_only(found)
    raise RefusedError(f"--from {file}: holds no answers; `import --out {file}` writes them")


def _next(result: Result) -> str:
    """What a person does now."""
    if result.outcome == "conflict":
        return f"on the branch {result.branch}: resolve these files, git add --all, git commit"
    return f"on the branch {result.branch}: look at it, then merge it"

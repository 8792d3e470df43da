"""`update`: a release of the template for the server in this folder."""

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from .errors import RefusedError, print_message
from .project.answers import parse_data_options, resolve_template, strip_copier_keys
from .updates.checkouts import (
    CLEAN,
    CONFLICT,
    CURRENT,
    RELAXED,
    Delivery,
    Release,
    Result,
    recorded_version,
    update_checkout,
)
from .updates.reports import format_text, require_writable, write_report

STOPPED = 130


def update(
    *,
    ref: str | None = None,
    from_: Annotated[Path | None, Parameter("--from")] = None,
    data: list[str] | None = None,
    template: str | None = None,
    check: str | None = None,
    branch: str | None = None,
    here: bool = False,
    dry_run: bool = False,
    roll_back: bool = False,
    unpinned: bool = False,
    merge: bool = False,
    unattended: bool = False,
    trust: bool = False,
    report: Path | None = None,
    json_output: Annotated[bool, Parameter("--json")] = False,
) -> int:
    """Update the server in this folder to a release of the template, on a branch of its own.

    The update runs in a temporary worktree of the last commit. Your working tree, index and stash stay as
    they are, and uncommitted work is no obstacle. What would be lost is refused by name before a branch is
    created. In a terminal it shows the change and asks first. A conflict goes to the branch, with markers.

    Args:
        ref: The release, as v2.0.0; else the newest.
        from_: An answers file, as `import` writes it; its answers replace the recorded ones.
        data: An answer that changes, as license=MIT. Repeat it for more.
        template: The template's address, when it has moved; it is recorded.
        check: A command that must pass, before and after; `own` is that of the server.
        branch: The branch's name; by default template-VERSION.
        here: Put the change into the working tree instead, which must be clean; nothing is staged.
        dry_run: Report only; create no branch.
        roll_back: At a conflict, create no branch.
        unpinned: Do not renew lock and tool table.
        merge: Apply changed answers to your own files, three ways; without --ref the version stays.
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
    require_writable(report)
    if here and branch:
        raise RefusedError("--here makes no branch; leave --branch out")
    answers = _collect_answers(from_, data, merge=merge)
    if merge and not ref:
        ref = recorded_version(Path.cwd())
    release = Release(
        ref,
        check=check,
        trust=trust,
        pin=not unpinned,
        keep_conflicts=not roll_back,
        template=resolve_template(template),
        data=answers,
        typed=tuple(parse_data_options(data)),
        branch=branch,
        merge=merge,
    )
    delivery = Delivery.BRANCH
    if here:
        delivery = Delivery.TREE
    if dry_run:
        delivery = Delivery.NONE
    is_asking = sys.stdin.isatty() and not (unattended or json_output or dry_run)
    is_declined = False

    def agree(result: Result) -> bool:
        nonlocal is_declined
        if not is_asking:
            return True
        from .terminal.tool_questions import confirm_write

        print(format_text(result))
        is_declined = not confirm_write()
        return not is_declined

    result = update_checkout(Path.cwd(), release, delivery, agree)
    if is_declined:
        print_message("nothing was written")
        return STOPPED
    write_report(report, [result])
    if json_output:
        print(json.dumps(asdict(result), indent=2, ensure_ascii=False))
    else:
        print(format_text(result))
        if step := _next_step(result, delivery):
            print(step)
    return 0 if result.outcome in (CLEAN, CURRENT) else 1


def _collect_answers(
    file: Path | None, data: list[str] | None, *, merge: bool
) -> dict[str, Any]:
    """Return the answers that change, from a file and from options.

    Raises:
        RefusedError: There are none, and only answers can be merged.
    """
    answers = _load_answers(file) if file else {}
    answers.update(parse_data_options(data))
    if merge and not answers:
        raise RefusedError(
            "--merge applies changed answers; name them with --from FILE or --data"
        )
    return answers


def _load_answers(file: Path) -> dict[str, Any]:
    """Return the answers in a file.

    Raises:
        RefusedError: It has none.
    """
    from .openapi.merging import load_answers

    if answers := load_answers(file):
        return strip_copier_keys(answers)
    raise RefusedError(
        f"--from {file}: holds no answers; `import --out {file}` writes them"
    )


def _next_step(result: Result, delivery: Delivery) -> str:
    """Return what the user does next; nothing where there is no change."""
    if result.branch and result.outcome == CONFLICT:
        return (
            f"git switch {result.branch}, resolve these files, git commit --all --amend"
        )
    if result.branch:
        return (
            f"on the branch {result.branch}: look at it, then git merge {result.branch}"
        )
    if delivery is Delivery.TREE and result.outcome in (CLEAN, RELAXED):
        return "in your working tree, not staged: look at it with git diff, then commit"
    return ""

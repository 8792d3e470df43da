"""`sync`: a later document of a server's API, brought to its answers, tool files and lock on a branch."""

import json
import re
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import yaml
from cyclopts import Parameter

from .errors import BackError, RefusedError, UnableError, one_line, print_message
from .openapi.changes import Changes, compare_tools, fit_line
from .openapi.document import Document, read
from .openapi.imports import Import, import_document
from .openapi.merging import FOLLOWED, Before, parse_record, remembered
from .openapi.phased import RECORD
from .openapi.reporting import report
from .openapi.selecting import Selection
from .openapi.tools import Options
from .project.answers import ANSWERS
from .project.repository import git
from .updates.checkouts import (
    CLEAN,
    CONFLICT,
    CURRENT,
    FAILED,
    RELAXED,
    Delivery,
    Release,
    Result,
    update_checkout,
)
from .updates.reports import format_text

STOPPED = 130


def sync(
    document: Path,
    *,
    base: Path | None = None,
    branch: str | None = None,
    here: bool = False,
    dry_run: bool = False,
    unattended: bool = False,
    trust: bool = False,
    json_output: Annotated[bool, Parameter("--json")] = False,
) -> int:
    """Bring a later document of the API to the server in this folder, on a branch of its own.

    Operations are recognized under other paths, parameters and methods, so tools keep their names. What you
    changed stays: wording, questions, behaviors, and the removal of tools. Tool files receive the change where
    you did not edit the same lines; a conflict goes to the branch, with markers. Lock and tool table are renewed.
    The report leads with the changes that callers notice.

    Args:
        document: The later document, JSON or YAML.
        base: The document that the server was made from, where the project has no record of it.
        branch: The branch's name; by default sync-DOCUMENT.
        here: Put the change into the working tree instead, which must be clean; nothing is staged.
        dry_run: Report only; create no branch.
        unattended: Ask nothing; what is not clear gets the cautious behavior, marked as asked.
        trust: Let the template run its tasks and migrations, with your rights.
        json_output: Print JSON, and ask nothing.

    Returns:
        0 when no caller has to change anything; 1 for BREAKING changes, removed tools, relaxed hints and conflicts.

    Raises:
        RefusedError: A document cannot be used, or the project has no record of its last import.
        UnableError: Copier or git fails.
    """
    if here and branch:
        raise RefusedError("--here makes no branch; leave --branch out")
    project = Path.cwd()
    later = read(document)
    recorded = _committed_answers(project)
    before = _base(project, base)
    asking = sys.stdin.isatty() and not (unattended or json_output)
    try:
        result_of_import = import_document(
            later, before, recorded, Selection(), Options(), asking=asking
        )
    except BackError as error:
        raise KeyboardInterrupt from error
    if not result_of_import.answers["tools"]:
        raise RefusedError(f"no operation of {document} can be a tool")
    changes = _changes_for_callers(result_of_import, recorded)
    release = _release(document, recorded, result_of_import, branch, trust=trust)
    delivery = Delivery.BRANCH
    if here:
        delivery = Delivery.TREE
    if dry_run:
        delivery = Delivery.NONE
    is_declined = False

    def agree(result: Result) -> bool:
        nonlocal is_declined
        if not asking or dry_run:
            return True
        from .terminal.tool_questions import confirm_write

        _print_report(changes, result_of_import, result)
        is_declined = not confirm_write()
        return not is_declined

    result = update_checkout(project, release, delivery, agree)
    if is_declined:
        print_message("nothing was written")
        return STOPPED
    if json_output:
        row = {"changes": asdict(changes), "result": asdict(result)}
        print(json.dumps(row, indent=2, ensure_ascii=False))
    else:
        _print_report(changes, result_of_import, result)
        print(_next_step(result, delivery))
    is_clean = result.outcome in (CLEAN, CURRENT)
    return 0 if is_clean and not (changes.breaking or changes.removed) else 1


def _committed_answers(project: Path) -> dict[str, Any]:
    """Return the answers in the last commit, which is what a branch begins with.

    Raises:
        RefusedError: The server was adopted, or has no tools of an API.
        UnableError: There are none.
    """
    try:
        recorded = yaml.safe_load(git(project, "cat-file", "blob", f"HEAD:./{ANSWERS}"))
    except UnableError as error:
        raise UnableError(
            f"{ANSWERS} is in no commit of {project}; run this in the project"
        ) from error
    except yaml.YAMLError as error:
        raise UnableError(f"{ANSWERS} is not YAML; restore it from git") from error
    if not isinstance(recorded, dict) or not {"_src_path", "_commit"} <= {*recorded}:
        raise UnableError(f"{ANSWERS} names no template and version; restore it")
    if recorded.get("backend") != "http":
        raise RefusedError(
            f"{ANSWERS}: backend is {recorded.get('backend')}; sync is for servers of an API (backend http)"
        )
    return recorded


def _base(project: Path, base: Path | None) -> Before:
    """Return what the last import wrote: from the project's record, or from the document itself.

    Raises:
        RefusedError: There is no record, or it is damaged.
    """
    if base:
        return _imported_anew(read(base))
    try:
        text = git(project, "cat-file", "blob", f"HEAD:./{RECORD}")
    except UnableError as error:
        raise RefusedError(
            f"{RECORD} is in no commit; commit it, or name the document that the server was made from with --base"
        ) from error
    return parse_record(text, Path(RECORD))


def _imported_anew(document: Document) -> Before:
    """Return what a first import of a document writes."""
    result = import_document(
        document, Before(), {}, Selection(), Options(), asking=False
    )
    return result.record


def _changes_for_callers(result: Import, recorded: dict[str, Any]) -> Changes:
    """Compare the tools; what was added and removed is named with its operation."""
    changes = compare_tools(recorded.get("tools"), result.answers["tools"])
    if result.merged:
        changes.added, changes.removed = result.merged.added, result.merged.removed
    return changes


def _release(
    document: Path,
    recorded: dict[str, Any],
    result: Import,
    branch: str | None,
    *,
    trust: bool,
) -> Release:
    """Describe the change: other answers at the recorded version, merged into the author's files."""
    data = {}
    for key in ("tools", *FOLLOWED):
        if key in result.answers and result.answers[key] != recorded.get(key):
            data[key] = result.answers[key]
    stem = re.sub(r"[^A-Za-z0-9_-]+", "-", document.stem).strip("-") or "document"
    return Release(
        str(recorded["_commit"]),
        trust=trust,
        pin=True,
        keep_conflicts=True,
        data=data,
        branch=branch or f"sync-{stem}",
        merge=True,
        files={RECORD: remembered(result.record)},
        subject=fit_line(f"Sync the tools with {document.name}")[:72],
    )


def _print_report(changes: Changes, imported: Import, result: Result) -> None:
    """Print the report: what callers notice, what stays as its author has it, new operations, then the files."""
    lines = changes.lines() or ["nothing changes for callers"]
    for line in imported.merged.kept if imported.merged else []:
        lines.append(f"kept: {line}")
    if imported.new_rows:
        lines += report(imported.new_rows)
    for line in lines:
        print(fit_line(one_line(line)))
    print(format_text(result))


def _next_step(result: Result, delivery: Delivery) -> str:
    """Return what the user does next."""
    if result.outcome == FAILED:
        return "nothing was written"
    if result.outcome == CURRENT:
        return "the server is up to date with the document"
    if delivery is Delivery.NONE:
        return "nothing was written: --dry-run"
    if result.branch:
        return _next_step_on_branch(result.branch, result.outcome)
    if delivery is Delivery.TREE and result.outcome in (CLEAN, RELAXED):
        return "in your working tree, not staged: look at it with git diff, then commit"
    return "nothing was written: a conflict cannot go into the working tree; leave --here out"


def _next_step_on_branch(branch: str, outcome: str) -> str:
    if outcome == CONFLICT:
        return f"git switch {branch}, resolve these files, git commit --all --amend"
    return f"on the branch {branch}: look at it, then git merge {branch}"

"""`import`: an OpenAPI document as answers, each behavior with what says so.

Nothing is fetched and no code of a document is run. Names, texts and numbers of a document are
data; what the tool language cannot say is listed, never dropped in silence.
"""

import json
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from .errors import BackError, RefusedError, UnableError, one_line, print_message
from .openapi.changes import fit_line
from .openapi.document import read
from .openapi.imports import import_document
from .openapi.merging import (
    Before,
    Merged,
    diff,
    load_answers,
    load_before,
    remembered,
    sidecar,
    written,
)
from .openapi.reporting import format_findings, report, report_changes
from .openapi.selecting import Selection
from .openapi.tools import BUDGET, Imported, Options

LEAST_BUDGET = 600


def import_(
    file: Path,
    *,
    out: Path | None = None,
    tag: list[str] | None = None,
    path: list[str] | None = None,
    method: list[str] | None = None,
    operation: list[str] | None = None,
    budget: int = BUDGET,
    scopes: bool = False,
    request_model: bool = False,
    unattended: bool = False,
    dry_run: bool = False,
    json_output: Annotated[bool, Parameter("--json")] = False,
) -> int:
    """Write answers for a server of `backend: http` from an OpenAPI document (3.0 to 3.2, Swagger 2.0).

    Each operation becomes a tool; its behavior comes from an extension, from its method, or from two
    signals that agree, and its `why` says from which. Where signals contradict each other it asks;
    unattended it takes the cautious choice and says `asked`. Again later with the same `--out` it shows what the
    document added, removed and changed, and keeps what you edited.

    Args:
        file: The document, JSON or YAML; files that it refers to are in its folder or below it.
        out: The answers file to write; without it, answers are printed.
        tag: Only operations with such a tag, as in "issues" or "repo*". Repeat it for more.
        path: Only such paths, as in "/repos/*/issues*".
        method: Only such methods, as in GET.
        operation: Only such operationIds or operations, as in "issues/*" or "POST /notes".
        budget: Bytes that a tool may take in tools/list; results are cut to it, and that is listed.
        scopes: Take over the scopes of the document's OAuth flows; callers then need them.
        request_model: One Pydantic model for the inputs of a tool that has more than four.
        unattended: Ask nothing.
        dry_run: Write nothing.
        json_output: Print a row for each operation, as JSON.

    Raises:
        RefusedError: The document or a glob cannot be used; nothing was written.
        UnableError: The answers cannot be written.
    """
    document = read(file)
    _require_folder(out)
    before = load_before(out) if out else Before()
    previous = load_answers(out) if out else {}
    selection = Selection(tag or [], path or [], method or [], operation or [])
    asking = (
        sys.stdin.isatty() and sys.stderr.isatty() and not (unattended or json_output)
    )
    options = Options(max(budget, LEAST_BUDGET), scopes, request_model)
    try:
        result = import_document(
            document, before, previous, selection, options, asking=asking
        )
    except BackError as error:
        raise KeyboardInterrupt from error
    rows, answers, merged = result.rows, result.answers, result.merged
    text = written(answers, file.name)
    old = out.read_text(encoding="utf-8") if out and previous else ""
    if out and not dry_run and answers["tools"]:
        _write(out, text, result.record)
    if json_output:
        _print_json(rows)
        return 0
    if not out and answers["tools"]:
        print(text, end="")
    if out and merged and (changes := diff(old, text, out.name)):
        print(changes)
    # What callers notice comes first, then what became of each operation.
    for line in [
        *report_changes(merged, previous.get("tools")),
        *report(rows),
        *result.notes,
    ]:
        print_message(fit_line(one_line(line)))
    if not answers["tools"]:
        raise RefusedError(
            f"no operation of {file} can be a tool; the lines above say why"
        )
    if out:
        is_same = merged is not None and text == old
        print_message(_describe_outcome(out, merged, is_same, dry_run))
    return 0


def _describe_outcome(
    out: Path, merged: Merged | None, is_same: bool, dry_run: bool
) -> str:
    """Return what was written, and the next command."""
    if is_same:
        return f"{out} stays as it is"
    next_command = f"copier-fastmcp new --from {shlex.quote(str(out))}"
    if merged:
        full_path = shlex.quote(str(out.resolve()))
        next_command = f"copier-fastmcp update --merge --from {full_path} in the server's folder, or {next_command}"
    return f"{'would write' if dry_run else 'wrote'} {out}; then: {next_command}"


def _print_json(rows: Sequence[Imported]) -> None:
    print(json.dumps([entry.row() for entry in rows], indent=1, ensure_ascii=False))
    for line in format_findings(rows):
        print_message(one_line(line))


def _write(out: Path, text: str, before: Before) -> None:
    try:
        out.write_text(text, encoding="utf-8")
        sidecar(out).write_text(remembered(before), encoding="utf-8")
    except OSError as error:
        raise UnableError(f"{out} cannot be written: {error.strerror}") from error


def _require_folder(out: Path | None) -> None:
    """Refuse a file in a folder that is not there.

    Raises:
        UnableError: There is no such folder.
    """
    if out and not out.parent.is_dir():
        raise UnableError(
            f"{out} cannot be written: make the folder {out.parent} first"
        )

"""`import`: an OpenAPI document as answers, each behavior with what says so.

Nothing is fetched and no code of a document is run. Names, texts and numbers of a document are
data; what the tool language cannot say is listed, never dropped in silence.
"""

import json
import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from .errors import BackError, RefusedError, UnableError, one_line, tell
from .listing import entries
from .openapi.choices import parts
from .openapi.document import Document, read
from .openapi.merging import (
    Before,
    diff,
    load_answers,
    load_before,
    merge,
    remembered,
    sidecar,
    written,
)
from .openapi.naming import Names
from .openapi.operations import Operation, operations
from .openapi.selecting import MANY, Selection
from .openapi.server import about
from .openapi.told import found_in, news, report
from .openapi.tools import BUDGET, Imported, Options, imported

MOST_TOOLS = 3000


def convert(
    listed: Sequence[Operation], options: Options, taken: Sequence[str] = ()
) -> list[Imported]:
    """Operations as tools, with names that are unique among them and those that are taken."""
    names = Names(taken, options.names)
    return [imported(part, names, options) for one in listed for part in parts(one)]


def chosen(document: Document, selection: Selection) -> list[Operation]:
    """The operations that were asked for.

    Raises:
        RefusedError: A glob fits nothing, or nothing is left.
    """
    everything = list(operations(document))
    if unused := selection.unused(everything):
        tags = sorted({tag for one in everything for tag in one.tags})
        hint = (
            f"its tags are {', '.join(tags[:12])}"
            if "--tag" in unused[0] and tags
            else "as in POST /a/{b}"
        )
        raise RefusedError(one_line(f"{unused[0]} fits no operation of {document.path}; {hint}"))
    found = [one for one in everything if selection.takes(one)]
    if not found:
        why = "no operation that fits all of these globs" if selection else "no operations"
        raise RefusedError(f"{document.path} has {why}; a path begins with /, as in /notes")
    if len(found) > MOST_TOOLS:
        raise RefusedError(f"{len(found)} operations are too many; choose with --tag or --path")
    return found


def gathered(
    document: Document,
    selection: Selection,
    options: Options,
    taken: Sequence[str] = (),
    *,
    asking: bool,
) -> tuple[list[Imported], Selection]:
    """The operations that were asked for as tools, and which these are.

    With somebody to ask, they choose among many, and say what an operation does whose signals clash;
    `options` keeps that.

    Raises:
        RefusedError: A glob fits nothing, or nothing is left.
        BackError: They want the question before.
        KeyboardInterrupt: They left.
    """
    listed = chosen(document, selection)
    if not asking:
        return convert(listed, options, taken), selection
    from .openapi.asking import behaviors_of, operations_of
    from .terminal.prompts import walk

    found, before = list(listed), dict(options.behaviors)
    rows: list[Imported] = []

    def which() -> None:
        found[:] = operations_of(listed)

    def what() -> None:
        options.behaviors = dict(before)
        rows[:] = convert(found, options, taken)
        if any(one.derived.asked and one.tool for one in rows):
            options.behaviors |= behaviors_of(rows)
            rows[:] = convert(found, options, taken)

    walk([which, what] if not selection and len(found) > MANY else [what])
    if len(found) < len(listed):
        selection = Selection(operation=[_literal(one.name) for one in found])
    return rows, selection


def answers_of(document: Document, rows: Sequence[Imported]) -> tuple[dict[str, Any], list[str]]:
    """A whole answers file, and what a person should know of it."""
    answers, notes = about(document)
    return {**answers, "tools": [one.tool for one in rows if one.tool]}, notes


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
    """Write answers for a server of `backend: http` from an OpenAPI document (3.0, 3.1, 3.2).

    Each operation becomes a tool; its behavior comes from an extension, from its method, or from two
    signals that agree, and its `why` says from which. Where signals contradict each other it asks;
    unattended it takes the cautious choice and says `asked`. Again later with the same `--out` it shows what the
    document added, removed and changed, and keeps what you edited.

    Args:
        file: The document, JSON or YAML; files that it refers to lie beside it or below.
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
    if out and not out.parent.is_dir():
        raise UnableError(f"{out} cannot be written: make the folder {out.parent} first")
    before = load_before(out) if out else Before()
    mine = load_answers(out) if out else {}
    selection = Selection(tag or [], path or [], method or [], operation or [])
    if not selection and before.selection:
        selection = Selection(**{key: list(value) for key, value in before.selection.items()})
    asking = sys.stdin.isatty() and sys.stderr.isatty() and not (unattended or json_output)
    options = Options(max(budget, 600), scopes, request_model, dict(before.behaviors))
    options.names = {key: tool["name"] for key, tool in before.tools.items()}
    own = [
        str(one.get("name"))
        for one in entries(mine.get("tools"))
        if one.get("name") not in options.names.values() and (options.names or not one.get("http"))
    ]
    try:
        rows, selection = gathered(document, selection, options, own, asking=asking)
    except BackError as error:
        raise KeyboardInterrupt from error
    answers, notes = answers_of(document, rows)
    now = {one.operation.key: one.tool for one in rows if one.tool}
    merged = merge(mine.get("tools") or [], before, now) if mine else None
    if merged:
        answers = {
            **mine,
            **{k: v for k, v in answers.items() if k not in mine},
            "tools": merged.tools,
        }
    text = written(answers, file.name)
    old = out.read_text(encoding="utf-8") if out and mine else ""
    if out and not dry_run and answers["tools"]:
        _write(out, text, Before(now, options.behaviors, selection.kept()))
    if json_output:
        print(json.dumps([one.row() for one in rows], indent=1, ensure_ascii=False))
        for line in found_in(rows):
            tell(one_line(line))
        return 0
    if not out and answers["tools"]:
        print(text, end="")
    elif out and merged and (shown := diff(old, text, out.name)):
        print(shown)
    for line in [*report(rows), *notes, *news(merged)]:
        tell(one_line(line))
    if not answers["tools"]:
        raise RefusedError(f"no operation of {file} can be a tool; the lines above say why")
    if out and merged and text == old:
        tell(f"{out} stays as it is")
    elif out:
        then = f"copier-fastmcp new --from {shlex.quote(str(out))}"
        if merged:
            whole = shlex.quote(str(out.resolve()))
            then = f"copier-fastmcp update --from {whole} in the server's folder, or {then}"
        tell(f"{'would write' if dry_run else 'wrote'} {out}; then: {then}")
    return 0


def from_document(
    file: Path, globs: Mapping[str, list[str] | None], *, asking: bool
) -> dict[str, Any]:
    """The answers of a document, for `new`.

    Args:
        file: The document.
        globs: Which operations, as the options of `import`.
        asking: Whether there is somebody to ask.

    Raises:
        RefusedError: The document or a glob cannot be used.
        BackError: They want the question before.
        KeyboardInterrupt: They left.
    """
    document, options = read(file), Options()
    selection = Selection(**{key: list(value or []) for key, value in globs.items()})
    rows, _ = gathered(document, selection, options, asking=asking)
    answers, notes = answers_of(document, rows)
    for line in [*report(rows), *notes]:
        if asking:
            from .terminal.prompts import say

            say(line)
        else:
            tell(one_line(line))
    if not answers["tools"]:
        raise RefusedError(f"no operation of {file} can be a tool; the lines above say why")
    return answers


def _literal(name: str) -> str:
    """A name as a glob that fits only it."""
    return "".join(f"[{c}]" if c in "*?[" else c for c in name)


def _write(out: Path, text: str, before: Before) -> None:
    try:
        out.write_text(text, encoding="utf-8")
        sidecar(out).write_text(remembered(before), encoding="utf-8")
    except OSError as error:
        raise UnableError(f"{out} cannot be written: {error.strerror}") from error

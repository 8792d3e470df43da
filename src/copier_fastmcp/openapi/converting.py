"""The operations of a document that were asked for, as tools and as answers."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..errors import RefusedError, one_line, print_message
from .changes import fit_line
from .choices import parts
from .document import Document, read
from .json_values import omit_keys
from .large import offer_search
from .matching import Endpoint, parse_endpoint
from .merging import Before, remembered
from .naming import Names
from .operations import Operation, operations
from .phased import ImportNotes
from .reporting import report, without
from .selecting import MANY, Selection
from .server import ANY_ADDRESS, about, relative_base
from .tools import Imported, Options, collect_tools, imported

MOST_TOOLS = 3000
SHOWN_VALUES = 12


def convert(
    listed: Sequence[Operation], options: Options, taken: Sequence[str] = ()
) -> list[Imported]:
    """Operations as tools, with names that are unique among them and those that are taken."""
    names = Names(taken, options.names)
    rows = []
    for operation in listed:
        for part in parts(operation):
            rows.append(imported(part, names, options))
    return rows


def list_endpoints(document: Document) -> list[Endpoint]:
    """Every operation of a document, as a later import recognizes it."""
    endpoints = []
    for operation in operations(document):
        for part in parts(operation):
            endpoints.append(parse_endpoint(part.key, part.operation_id))
    return endpoints


def build_record(
    document: Document, rows: Sequence[Imported], options: Options, selection: Selection
) -> Before:
    """What the next import has to know of this one, but for the answers."""
    tools = {row.operation.key: row.tool for row in rows if row.tool}
    operation_ids = {row.key: row.operation_id for row in list_endpoints(document)}
    return Before(tools, options.behaviors, selection.kept(), {}, operation_ids)


def restore_selection(document: Document, before: Before) -> Selection:
    """The selection of the last import; where a path in it is gone, the operations that it chose."""
    selection = _copy_selection(before.selection)
    if not selection.unused(list(operations(document))):
        return selection
    names = {operation.name for operation in operations(document)}
    globs: dict[str, None] = {}
    for key in before.tools:
        name = " ".join(key.split(" ")[:2])
        if name in names:
            globs[_literal(name)] = None
    return Selection(operation=[*globs])


def _copy_selection(globs: Mapping[str, Sequence[str] | None]) -> Selection:
    """Return a selection with globs of its own."""
    copied = {}
    for kind, values in globs.items():
        copied[kind] = list(values or [])
    return Selection(**copied)


def chosen(document: Document, selection: Selection) -> list[Operation]:
    """The operations that were asked for.

    Raises:
        RefusedError: A glob fits nothing, or nothing is left.
    """
    everything = list(operations(document))
    if unused := selection.unused(everything):
        hint = _hint_for(unused[0], everything)
        raise RefusedError(
            one_line(f"{unused[0]} fits no operation of {document.path}; {hint}")
        )
    operations_chosen = list(filter(selection.takes, everything))
    if not operations_chosen:
        reason = (
            "no operation that fits all of these globs"
            if selection
            else "no operations"
        )
        raise RefusedError(
            f"{document.path} has {reason}; a path begins with /, as in /notes"
        )
    if len(operations_chosen) > MOST_TOOLS:
        raise RefusedError(
            f"{len(operations_chosen)} operations are too many; choose with --tag or --path"
        )
    return operations_chosen


def _hint_for(unused: str, everything: Sequence[Operation]) -> str:
    """Return what a glob that fits nothing could be instead."""
    flag, _, _ = unused.partition(" ")
    values = set[str]()
    for operation in everything:
        if flag == "--tag":
            values.update(operation.tags)
        elif flag == "--method":
            values.add(operation.method)
    if values:
        return f"its {flag[2:]}s are {', '.join(sorted(values)[:SHOWN_VALUES])}"
    if flag == "--tag":
        return "its operations have no tags; choose with --path"
    return "as in /a/{b}" if flag == "--path" else "as in POST /a/{b}"


def gather_tools(
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
    from ..terminal.prompts import run_steps
    from .dialog import choose_behaviors, choose_operations

    selected, before = list(listed), dict(options.behaviors)
    rows: list[Imported] = []

    def which() -> None:
        selected[:] = choose_operations(listed)

    def what() -> None:
        options.behaviors = dict(before)
        rows[:] = convert(selected, options, taken)
        if any(row.derived.asked and row.tool for row in rows):
            options.behaviors |= choose_behaviors(rows)
            rows[:] = convert(selected, options, taken)

    run_steps([which, what] if not selection and len(selected) > MANY else [what])
    if len(selected) < len(listed):
        selection = Selection(operation=[_literal(row.name) for row in selected])
    return rows, selection


def answers_of(
    document: Document, rows: Sequence[Imported]
) -> tuple[dict[str, Any], list[str]]:
    """A whole answers file, and what a person should know of it."""
    answers, notes = about(document)
    answers = {**answers, "tools": collect_tools(rows)}
    return answers, notes


def from_document(
    file: Path,
    globs: Mapping[str, list[str] | None],
    notes: ImportNotes,
    *,
    asking: bool,
) -> dict[str, Any]:
    """The answers of a document, for `new`.

    Args:
        file: The document.
        globs: Which operations, as the options of `import`.
        notes: Receives what the import has to say, and what a later import merges with.
        asking: Whether there is somebody to ask.

    Raises:
        RefusedError: The document or a glob cannot be used.
        BackError: They want the question before.
        KeyboardInterrupt: They left.
    """
    document, options = read(file), Options()
    selection = _copy_selection(globs)
    rows, selection = gather_tools(document, selection, options, asking=asking)
    answers, lines = answers_of(document, rows)
    lines += offer_search(answers, rows, asking=asking)
    if "api" not in answers and not asking and (prefix := relative_base(document)):
        answers["api"] = f"{ANY_ADDRESS}{prefix}"
    record = build_record(document, rows, options, selection)
    record.answers = omit_keys(answers, ("tools",))
    notes.lines[:] = [*lines, *without(rows)]
    notes.record = remembered(record)
    for line in [*report(rows), *lines]:
        if asking:
            from ..terminal.prompts import print_line

            print_line(fit_line(line))
        else:
            print_message(fit_line(one_line(line)))
    if not answers["tools"]:
        raise RefusedError(
            f"no operation of {file} can be a tool; the lines above say why"
        )
    return answers


def _literal(name: str) -> str:
    """A name as a glob that fits only it."""
    return re.sub(r"[*?\[]", r"[\g<0>]", name)

"""An import of a document: its tools, merged with what an earlier import wrote and what its author made of that."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..tools_answer import parse_entries
from .converting import (
    answers_of,
    build_record,
    gather_tools,
    list_endpoints,
    restore_selection,
)
from .document import Document
from .json_values import omit_keys
from .large import group_by_tag, is_grouped, offer_search
from .matching import keep_path_parameters, match_endpoints
from .merging import Before, Merged, merge, merge_answers
from .selecting import Selection
from .tools import Imported, Options


@dataclass
class Import:
    """The outcome of an import.

    Attributes:
        rows: Each operation, and the tool that it became.
        answers: The answers, merged with those that were there.
        record: What the next import compares with.
        merged: What is new in the tools; None where no answers were there.
        notes: What else the document says.
        new_rows: The operations that the earlier document did not have; the others were decided before.
    """

    rows: list[Imported]
    answers: dict[str, Any]
    record: Before
    merged: Merged | None = None
    notes: list[str] = field(default_factory=list)
    new_rows: list[Imported] = field(default_factory=list)


def import_document(
    document: Document,
    before: Before,
    mine: Mapping[str, Any],
    selection: Selection,
    options: Options,
    *,
    asking: bool,
) -> Import:
    """Import a document, for the first time or again.

    Args:
        document: The document.
        before: What the last import wrote; empty for the first.
        mine: The answers that are there, with their author's edits; empty for none.
        selection: The operations that are wanted; empty for those of the last import.
        options: How operations become tools; the names and behaviors that were decided before are added.
        asking: Whether there is a terminal to ask in.

    Raises:
        RefusedError: A glob fits nothing, or the document has no operation.
        BackError: The user wants the question before the first.
        KeyboardInterrupt: The user left.
    """
    matches: dict[str, str] = {}
    if before.tools:
        matches = match_endpoints(before.endpoints(), list_endpoints(document))
    before = before.moved(matches)
    if not selection and before.selection:
        selection = restore_selection(document, before)
    options.behaviors.update(before.behaviors)
    options.names = {key: tool["name"] for key, tool in before.tools.items()}
    taken = _handwritten_names(mine, options)
    rows, selection = gather_tools(document, selection, options, taken, asking=asking)
    for row in rows:
        earlier = before.tools.get(row.operation.key)
        if row.tool and earlier:
            row.tool = keep_path_parameters(row.tool, earlier)
    answers, notes = answers_of(document, rows)
    if not mine:
        notes += offer_search(answers, rows, asking=asking)
    elif is_grouped(before.tools.values()):
        group_by_tag(rows)
    record = build_record(document, rows, options, selection)
    record.answers = omit_keys(answers, ("tools",))
    if not mine:
        return Import(rows, answers, record, None, notes)
    merged = merge(mine.get("tools") or [], before, record.tools)
    answers, kept_lines = merge_answers(mine, before, answers)
    merged.kept[:0] = kept_lines
    answers["tools"] = merged.tools
    keys = {*before.operation_ids, *before.tools}
    new_rows = [row for row in rows if row.operation.key not in keys]
    return Import(rows, answers, record, merged, notes, new_rows)


def _handwritten_names(mine: Mapping[str, Any], options: Options) -> list[str]:
    """Return the names of tools that no import wrote: an operation must not get one of them."""
    imported = {*options.names.values()}
    names = []
    for tool in parse_entries(mine.get("tools")):
        is_ours = tool.get("name") in imported or (
            not imported and bool(tool.get("http"))
        )
        if not is_ours:
            names.append(str(tool.get("name")))
    return names

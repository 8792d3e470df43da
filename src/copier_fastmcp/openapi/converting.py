"""The operations of a document that were asked for, as tools and as answers."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..errors import RefusedError, one_line, tell
from .choices import parts
from .document import Document, read
from .naming import Names
from .operations import Operation, operations
from .reporting import report, without
from .selecting import MANY, Selection
from .server import about
from .tools import Imported, Options, imported

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
    from ..terminal.prompts import walk
    from .asking import behaviors_of, operations_of

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


def from_document(
    file: Path, globs: Mapping[str, list[str] | None], notes: list[str], *, asking: bool
) -> dict[str, Any]:
    """The answers of a document, for `new`.

    Args:
        file: The document.
        globs: Which operations, as the options of `import`.
        notes: Becomes what the API wants to see, and what no tool does.
        asking: Whether there is somebody to ask.

    Raises:
        RefusedError: The document or a glob cannot be used.
        BackError: They want the question before.
        KeyboardInterrupt: They left.
    """
    document, options = read(file), Options()
    selection = Selection(**{key: list(value or []) for key, value in globs.items()})
    rows, _ = gathered(document, selection, options, asking=asking)
    answers, more = answers_of(document, rows)
    notes[:] = [*more, *without(rows)]
    for line in [*report(rows), *more]:
        if asking:
            from ..terminal.prompts import say

            say(line)
        else:
            tell(one_line(line))
    if not answers["tools"]:
        raise RefusedError(f"no operation of {file} can be a tool; the lines above say why")
    return answers


def _literal(name: str) -> str:
    """A name as a glob that fits only it."""
    return "".join(f"[{c}]" if c in "*?[" else c for c in name)

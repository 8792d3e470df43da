"""What is left to do after an import, in phases: the tools whose mistakes cost most come first."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..checklist import GATED, Phase, format_checklist
from ..errors import format_count, one_line
from ..tools_answer import describe_source, parse_entries

FILE = "docs/import.md"
# What a later import of the document compares with
RECORD = ".copier-answers.import.json"
COMPARE = "compare `fake` in `tests/tools/` with what the API does, so that the suite proves the decorator"
PHASES: tuple[Phase, ...] = (
    Phase(
        "Decide",
        "critical",
        5,
        "clients trust a hint that nobody decided",
        "find out what each does, and correct its decorator",
        "you know it",
    ),
    Phase(
        "Prove what asks a person",
        "high",
        10,
        "clients rely on it before data is lost",
        COMPARE,
        "each `fake` does what the API does",
    ),
    Phase(
        "Prove what else writes",
        "medium",
        10,
        "clients repeat a call that is said to be idempotent",
        COMPARE,
        "each `fake` does what the API does",
    ),
    Phase(
        "Describe reads",
        "low",
        5,
        "clients pay for every word of a result",
        "shorten texts and results to what models need",
        "you would call them",
    ),
)
SHOWN = 5
NOTES = "What the API wants to see, and what of its document no tool does:"


@dataclass
class ImportNotes:
    """What an import reports in addition to its answers.

    `lines` are what the API wants to see and what no tool does, `record` is the text of the file that a
    later import merges with; empty where the answers come from no document.
    """

    lines: list[str] = field(default_factory=list)
    record: str = ""


def groups(tools: object) -> list[list[str]]:
    """The names of imported tools by what is left to do about them, as PHASES has it."""
    names: list[list[str]] = [[], [], [], []]
    for tool in parse_entries(tools):
        source, behavior = describe_source(tool), str(tool.get("behavior"))
        if not {"http", "behavior"} <= {*tool} or source == "you":
            continue
        at = (
            0
            if source == "asked"
            else 1
            if behavior in GATED
            else 3
            if behavior == "read"
            else 2
        )
        names[at].append(str(tool.get("name")))
    return names


def page(answers: Mapping[str, Any], notes: Sequence[str] = ()) -> str:
    """The page for the project's own folder, with notes of the import; empty where nothing was imported."""
    named = []
    for group in groups(answers.get("tools")):
        named.append([f"`{name}`" for name in group])
    if not any(named):
        return ""
    lines = "".join(f"{one_line(note)}\n" for note in notes)
    section = f"\n{NOTES}\n\n```text\n{lines}```\n" if lines else ""
    return (
        format_checklist("From the API's document to a server", PHASES, named) + section
    )


def to_do(tools: Sequence[Any], left_out: int) -> list[str]:
    """The same in a line each, for a terminal, with what was left out."""
    groups_shown = groups(list(tools))
    rows = []
    for phase, names in zip(PHASES, groups_shown, strict=True):
        if names:
            listed = f"{', '.join(names[:SHOWN])}{_more(len(names) - SHOWN)}"
            rows.append((phase.title, phase.priority, listed))
    if rows and left_out:
        left_over = format_count(left_out, "operation")
        rows.insert(
            len(rows) - bool(groups_shown[-1]),
            ("Write by hand what was left out", "medium", left_over),
        )
    lines = []
    for number, (title, priority, listed) in enumerate(rows, 1):
        lines.append(f"{number}. {title} ({priority}): {listed}")
    return lines


def _more(count: int) -> str:
    return f" and {count} more" if count > 0 else ""

"""What is left to do after an adoption, in phases: the tools whose mistakes cost most come first."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # what an import takes of this needs no reading of sources
    from .proposing import Proposal
    from .survey import Survey

FILE = "docs/adoption.md"
TITLE = "Adoption"
HEAD = """
What is left to do, in the order in which a mistake costs most. Yours: tick off, and delete it when nothing is left.

| phase | priority | tools | what is to do | ready when |
| --- | --- | --- | --- | --- |
"""
ASK = "read the comment `# review:` and correct the decorator"
ARRANGE = "write `arrange` in `tests/tools/`, so that the suite proves what the decorator says"
PHASES = (
    ("Decide", "critical", ASK, "no comment is left"),
    ("Declare", "critical", "say what each does, as its reason tells", "it is in the lock"),
    ("Prove what asks a person", "high", ARRANGE, "none is `unprobed`"),
    ("Prove what else writes", "medium", ARRANGE, "none is `unprobed`"),
    ("Prove and describe reads", "low", f"{ARRANGE}; describe parameters", "nothing is skipped"),
)
GATED = ("delete", "action")
Phase = tuple[str, str, str, str]  # what it is called, its priority, what is to do, when it is done


def phases(seen: Survey, chosen: Iterable[Proposal]) -> str:
    """A table in Markdown: a row for each phase that has tools."""
    asked = [each for each in chosen if each.asked]
    sure = [each for each in chosen if not each.asked]
    groups = [
        [_name(each) for each in asked],
        [f"`{name}` ({reason})" for name, reason in seen.reasons()],
        [_name(each) for each in sure if each.behavior in GATED],
        [_name(each) for each in sure if each.behavior not in (*GATED, "read")],
        [_name(each) for each in sure if each.behavior == "read"],
    ]
    return table(TITLE, PHASES, groups)


def table(title: str, known: Sequence[Phase], groups: Sequence[Sequence[str]]) -> str:
    """A page in Markdown with a row for each phase that has anything in its group."""
    some = [(*phase, group) for phase, group in zip(known, groups, strict=True) if group]
    rows = [(number, *row) for number, row in enumerate(some, start=1)]
    lines = [
        f"| {number}. {what} | {priority} | {len(tools)}: {', '.join(tools)} | {todo} | {ready} |"
        for number, what, priority, todo, ready, tools in rows
    ]
    return f"# {title}\n{HEAD}" + "\n".join(lines).replace("\r", " ") + "\n"


def _name(proposal: Proposal) -> str:
    return f"`{proposal.found.name}`"

"""What `adopt` and `annotate` begin with: a server's tools, a behavior for each, and what to ask."""

import sys
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from ..errors import BackError, RefusedError, UnableError, format_count
from ..sources.discovery import ToolDiscovery
from ..sources.modules import Project
from ..sources.registrations import SourceTool, list_frameworks
from ..terminal.text_tables import print_table
from ..tools_answer import list_meanings
from .hints import behavior_hints, relaxed_hints
from .proposals import Proposal, propose_behaviors

UNREAD = (
    "only the running server shows it; say what it does with declare(name, behavior)"
)
NONE = "no tool was found: no @mcp.tool, mcp.tool(...), add_tool or Tool.from_function"


@dataclass(frozen=True)
class Survey:
    """A server as its source shows it; `unread` are tools that only the running server lists."""

    project: Project
    frameworks: set[str]
    proposals: list[Proposal]
    left: list[SourceTool]
    mounted: set[str]
    unread: tuple[str, ...] = ()

    def place(self, found: SourceTool) -> str:
        """The file of a tool's function, seen from the folder of the server."""
        path = (found.home or found.module).path
        return path.relative_to(self.project.root).as_posix()

    def rows(self) -> list[dict[str, Any]]:
        """A row for each tool, in the order of the files."""

        def row(
            name: str, found: SourceTool | None, reason: str | None
        ) -> dict[str, Any]:
            return {
                "tool": name,
                "file": self.place(found) if found else None,
                "line": found.line if found else None,
                "behavior": None,
                "evidence": [],
                "asked": False,
                "not_adoptable": reason,
            }

        made = [
            row(each.tool.name, each.tool, None)
            | {
                "behavior": each.behavior,
                "evidence": list(each.evidence),
                "asked": bool(each.asked),
            }
            for each in self.proposals
        ]
        left = [row(one.name, one, one.reason) for one in self.left]
        return [*made, *left, *(row(name, None, UNREAD) for name in self.unread)]

    def show(self) -> None:
        """Print the table for people."""
        cells = [
            [
                each.tool.name,
                each.behavior + ("?" if each.asked else ""),
                f"{self.place(each.tool)}:{each.tool.line}",
                each.asked or "; ".join(each.evidence[:3]),
            ]
            for each in self.proposals
        ]
        cells += [
            [
                one.name,
                "-",
                f"{self.place(one)}:{one.line}",
                f"not adoptable: {one.reason}",
            ]
            for one in self.left
        ]
        cells += [[name, "-", "-", f"not adoptable: {UNREAD}"] for name in self.unread]
        print_table(["Tool", "Behavior", "Where", "Evidence"], cells)
        asked = sum(bool(each.asked) for each in self.proposals)
        counts = f"{format_count(len(self.proposals), 'tool')}, {format_count(asked, 'question')}"
        left = self.reasons()
        print(f"{counts}, {len(left)} not adoptable" if left else counts)

    def reasons(self) -> list[tuple[str, str]]:
        """The tools that cannot be adopted, each with its reason."""
        left = [(one.name, one.reason) for one in self.left]
        return [*left, *((name, UNREAD) for name in self.unread)]


def survey_server(folder: Path, *, low_level: bool = False) -> Survey:
    """Read a server's source; nothing of it is imported or run.

    Args:
        folder: The server's repository.
        low_level: Whether tools that a low-level server lists get a proposal; else they are left.

    Raises:
        RefusedError: A file is not Python, or no tool was found.
        UnableError: There is no such folder.
    """
    if not folder.is_dir():
        raise UnableError(
            f"{folder} is not a folder; name the one of the server's repository"
        )
    project = Project(folder.resolve())
    finder = ToolDiscovery(project)
    found = finder.tools()
    if not found:
        raise RefusedError(f"{folder}: {NONE}")
    able = [
        one
        for one in found
        if not one.reason or (low_level and one.low_level and one.exact)
    ]
    left = [one for one in found if one not in able]
    return Survey(
        project,
        list_frameworks(project),
        propose_behaviors(project, able),
        left,
        finder.mounted,
    )


def answer_questions(seen: Survey, *, unattended: bool) -> list[Proposal]:
    """The proposals, with what a person answered where the signals clash.

    Raises:
        KeyboardInterrupt: They left.
    """
    asked = [each for each in seen.proposals if each.asked]
    if unattended or not asked:
        return seen.proposals
    from ..terminal.prompts import run_steps

    chosen: dict[int, str] = {}

    def ask(each: Proposal) -> None:
        chosen[id(each)] = _ask(seen, each)

    try:
        run_steps([partial(ask, each) for each in asked])
    except BackError as error:
        raise KeyboardInterrupt from error

    def settled(each: Proposal) -> Proposal:
        said = chosen.get(id(each))
        if said is None:
            return each
        kept = each.exceptions if said == each.behavior else ()
        return replace(each, behavior=said, asked="", exceptions=kept, kept={})

    return [settled(each) for each in seen.proposals]


def _ask(seen: Survey, proposal: Proposal) -> str:
    from ..terminal import prompts

    known = {row[0]: row for row in list_meanings()}
    order = dict.fromkeys((*proposal.others, *known))
    where = f"{seen.place(proposal.tool)}:{proposal.tool.line}"
    name = proposal.tool.name
    prompts.print_line(f"{name} ({where}): {proposal.asked}", "")
    return str(
        prompts.ask_choice(f"What does {name} do?", [known[one] for one in order])
    )


def print_remaining_work(
    seen: Survey, chosen: list[Proposal], by_hand: Iterable[tuple[str, str]]
) -> None:
    """Say what needs a person: on stderr, a line for each tool."""
    for each in chosen:
        if each.asked:
            where = f"{seen.place(each.tool)}:{each.tool.line}"
            line = f"review {each.tool.name} ({where}), taken for {each.behavior}: {each.asked}"
            print(line, file=sys.stderr)
    kept = [
        f"{each.tool.name} ({', '.join(relaxed)})"
        for each in chosen
        if not each.asked and (relaxed := _relaxed_but_kept(each))
    ]
    if kept:
        print(f"kept as their authors wrote them: {'; '.join(kept)}", file=sys.stderr)
    for name, why in by_hand:
        print(f"by hand {name}: {why}", file=sys.stderr)


def _relaxed_but_kept(proposal: Proposal) -> list[str]:
    """The hints that the behavior alone would relax, and that stay as their author wrote them."""
    name, behavior = proposal.tool.name, proposal.behavior
    proposed = behavior_hints(name, behavior, proposal.exceptions)
    return [
        f"{hint}={value}"
        for hint, value in relaxed_hints(proposal.kept, proposed).items()
    ]

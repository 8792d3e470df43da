"""Survey a server for `adopt` and `annotate`: its tools, a behavior for each, and the questions."""

import sys
from collections.abc import Iterable, Mapping
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
    """The tools of a server as its source shows them; only the running server lists `unread` tools."""

    project: Project
    frameworks: set[str]
    proposals: list[Proposal]
    left: list[SourceTool]
    mounted: set[str]
    unread: tuple[str, ...] = ()

    def locate_tool(self, tool: SourceTool) -> str:
        """The file of a tool's function, relative to the folder of the server."""
        path = (tool.home or tool.module).path
        return path.relative_to(self.project.root).as_posix()

    def rows(self) -> list[dict[str, Any]]:
        """A row for each tool, in the order of the files."""
        rows: list[dict[str, Any]] = []
        for proposal in self.proposals:
            row = self._build_row(proposal.tool.name, proposal.tool, None)
            row["behavior"] = proposal.behavior
            row["evidence"] = list(proposal.evidence)
            row["asked"] = bool(proposal.asked)
            rows.append(row)
        for tool in self.left:
            rows.append(self._build_row(tool.name, tool, tool.reason))
        for name in self.unread:
            rows.append(self._build_row(name, None, UNREAD))
        return rows

    def _build_row(
        self, name: str, tool: SourceTool | None, reason: str | None
    ) -> dict[str, Any]:
        return {
            "tool": name,
            "file": self.locate_tool(tool) if tool else None,
            "line": tool.line if tool else None,
            "behavior": None,
            "evidence": [],
            "asked": False,
            "not_adoptable": reason,
        }

    def print_survey(self) -> None:
        """Print the table for people."""
        cells: list[list[str]] = []
        for proposal in self.proposals:
            place = f"{self.locate_tool(proposal.tool)}:{proposal.tool.line}"
            behavior = proposal.behavior + ("?" if proposal.asked else "")
            reason = proposal.asked or "; ".join(proposal.evidence[:3])
            cells.append([proposal.tool.name, behavior, place, reason])
        for tool in self.left:
            place = f"{self.locate_tool(tool)}:{tool.line}"
            cells.append([tool.name, "-", place, f"not adoptable: {tool.reason}"])
        for name in self.unread:
            cells.append([name, "-", "-", f"not adoptable: {UNREAD}"])
        print_table(["Tool", "Behavior", "Where", "Evidence"], cells)
        questions = sum(bool(proposal.asked) for proposal in self.proposals)
        counts = f"{format_count(len(self.proposals), 'tool')}, {format_count(questions, 'question')}"
        reasons = self.list_reasons()
        print(f"{counts}, {len(reasons)} not adoptable" if reasons else counts)

    def list_reasons(self) -> list[tuple[str, str]]:
        """List the tools that cannot be adopted, each with its reason."""
        reasons = [(tool.name, tool.reason) for tool in self.left]
        for name in self.unread:
            reasons.append((name, UNREAD))
        return reasons


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
    tools = finder.find_tools()
    if not tools:
        raise RefusedError(f"{folder}: {NONE}")
    adoptable: list[SourceTool] = []
    unadoptable: list[SourceTool] = []
    for tool in tools:
        is_proposed = low_level and tool.low_level and tool.exact
        if not tool.reason or is_proposed:
            adoptable.append(tool)
        else:
            unadoptable.append(tool)
    return Survey(
        project,
        list_frameworks(project),
        propose_behaviors(project, adoptable),
        unadoptable,
        finder.mounted,
    )


def answer_questions(survey: Survey, *, unattended: bool) -> list[Proposal]:
    """Ask the user about contradicting signals, and return the decided proposals.

    Raises:
        KeyboardInterrupt: The user left.
    """
    questions = [proposal for proposal in survey.proposals if proposal.asked]
    if unattended or not questions:
        return survey.proposals
    from ..terminal.prompts import run_steps

    decisions: dict[int, str] = {}

    def ask(question: Proposal) -> None:
        decisions[id(question)] = _ask_behavior(survey, question)

    try:
        run_steps([partial(ask, question) for question in questions])
    except BackError as error:
        raise KeyboardInterrupt from error
    return [_apply_decision(proposal, decisions) for proposal in survey.proposals]


def _apply_decision(proposal: Proposal, decisions: Mapping[int, str]) -> Proposal:
    """Return a proposal with the behavior that the user chose for it, if any."""
    behavior = decisions.get(id(proposal))
    if behavior is None:
        return proposal
    exceptions = proposal.exceptions if behavior == proposal.behavior else ()
    return replace(
        proposal, behavior=behavior, asked="", exceptions=exceptions, kept_hints={}
    )


def _ask_behavior(survey: Survey, proposal: Proposal) -> str:
    from ..terminal import prompts

    meanings = {row[0]: row for row in list_meanings()}
    order = dict.fromkeys((*proposal.choices, *meanings))
    place = f"{survey.locate_tool(proposal.tool)}:{proposal.tool.line}"
    name = proposal.tool.name
    prompts.print_line(f"{name} ({place}): {proposal.asked}", "")
    return str(
        prompts.ask_choice(
            f"What does {name} do?", [meanings[behavior] for behavior in order]
        )
    )


def print_remaining_work(
    survey: Survey, chosen: list[Proposal], by_hand: Iterable[tuple[str, str]]
) -> None:
    """Print what is left to the user: on stderr, a line for each tool."""
    for proposal in chosen:
        if proposal.asked:
            place = f"{survey.locate_tool(proposal.tool)}:{proposal.tool.line}"
            line = f"review {proposal.tool.name} ({place}), taken for {proposal.behavior}: {proposal.asked}"
            print(line, file=sys.stderr)
    kept_tools: list[str] = []
    for proposal in chosen:
        kept_hints = _list_kept_hints(proposal)
        if kept_hints and not proposal.asked:
            kept_tools.append(f"{proposal.tool.name} ({', '.join(kept_hints)})")
    if kept_tools:
        print(
            f"kept as their authors wrote them: {'; '.join(kept_tools)}",
            file=sys.stderr,
        )
    for name, reason in by_hand:
        print(f"by hand {name}: {reason}", file=sys.stderr)


def _list_kept_hints(proposal: Proposal) -> list[str]:
    """The hints that the behavior alone would relax, and that stay as their author wrote them."""
    name, behavior = proposal.tool.name, proposal.behavior
    proposed = behavior_hints(name, behavior, proposal.exceptions)
    relaxed = relaxed_hints(proposal.kept_hints, proposed)
    return [f"{hint}={value}" for hint, value in relaxed.items()]

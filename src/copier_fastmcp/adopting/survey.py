"""Survey a server for `adopt` and `annotate`: its tools, a behavior for each, and the questions."""

import sys
from collections.abc import Callable, Iterable, Mapping
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
from .hints import derive_hints, find_relaxed_hints, format_hints
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

    def list_tools(self) -> list[SourceTool]:
        """All tools that the source shows, adoptable or not."""
        return [proposal.tool for proposal in self.proposals] + self.left

    def locate_line(self, tool: SourceTool) -> str:
        """The file and the line of a tool's function."""
        return f"{self.locate_tool(tool)}:{tool.line}"

    def list_questions(self) -> list[Proposal]:
        """The proposals that the user has to decide."""
        return [proposal for proposal in self.proposals if proposal.asked]

    def build_rows(self) -> list[dict[str, Any]]:
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
            place = self.locate_line(proposal.tool)
            behavior = proposal.behavior
            reason = "; ".join(proposal.evidence[:3])
            if proposal.asked:
                behavior = f"{behavior}?"
                reason = proposal.asked
            cells.append([proposal.tool.name, behavior, place, reason])
        for tool in self.left:
            reason = f"not adoptable: {tool.reason}"
            cells.append([tool.name, "-", self.locate_line(tool), reason])
        for name in self.unread:
            cells.append([name, "-", "-", f"not adoptable: {UNREAD}"])
        print_table(["Tool", "Behavior", "Where", "Evidence"], cells)
        tool_count = format_count(len(self.proposals), "tool")
        question_count = format_count(len(self.list_questions()), "question")
        counts = [tool_count, question_count]
        reasons = self.list_reasons()
        if reasons:
            counts.append(f"{len(reasons)} not adoptable")
        print(", ".join(counts))

    def list_reasons(self) -> list[tuple[str, str]]:
        """List the tools that cannot be adopted, each with its reason."""
        reasons: list[tuple[str, str]] = []
        for tool in self.left:
            reasons.append((tool.name, tool.reason))
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
    questions = survey.list_questions()
    if unattended or not questions:
        return survey.proposals
    from ..terminal.prompts import run_steps

    decisions: dict[int, str] = {}

    def ask(question: Proposal) -> None:
        decisions[id(question)] = _ask_behavior(survey, question)

    steps: list[Callable[[], None]] = []
    for question in questions:
        steps.append(partial(ask, question))
    try:
        run_steps(steps)
    except BackError as error:
        raise KeyboardInterrupt from error
    decided: list[Proposal] = []
    for proposal in survey.proposals:
        decided.append(_apply_decision(proposal, decisions))
    return decided


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
    options = [meanings[behavior] for behavior in order]
    name = proposal.tool.name
    place = survey.locate_line(proposal.tool)
    prompts.print_line(f"{name} ({place}): {proposal.asked}", "")
    return str(prompts.ask_choice(f"What does {name} do?", options))


def print_remaining_work(
    survey: Survey, chosen: list[Proposal], by_hand: Iterable[tuple[str, str]]
) -> None:
    """Print what is left to the user: on stderr, a line for each tool."""
    kept_tools: list[str] = []
    for proposal in chosen:
        name = proposal.tool.name
        kept_hints = _list_kept_hints(proposal)
        if proposal.asked:
            place = survey.locate_line(proposal.tool)
            assumed = f"taken for {proposal.behavior}"
            line = f"review {name} ({place}), {assumed}: {proposal.asked}"
            print(line, file=sys.stderr)
        elif kept_hints:
            kept_tools.append(f"{name} ({', '.join(kept_hints)})")
    if kept_tools:
        line = f"kept as their authors wrote them: {'; '.join(kept_tools)}"
        print(line, file=sys.stderr)
    for name, reason in by_hand:
        print(f"by hand {name}: {reason}", file=sys.stderr)


def _list_kept_hints(proposal: Proposal) -> list[str]:
    """The hints that the behavior alone would relax, and that stay as their author wrote them."""
    name, behavior = proposal.tool.name, proposal.behavior
    proposed = derive_hints(name, behavior, proposal.exceptions)
    relaxed = find_relaxed_hints(proposal.kept_hints, proposed)
    return format_hints(relaxed)

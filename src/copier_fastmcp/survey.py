"""What `adopt` and `annotate` begin with: a server's tools, a behavior for each, and what to ask."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from .errors import RefusedError, UnableError, one_line
from .finding import Finder
from .printing import table
from .proposing import Proposal, proposals
from .saying import Found, frameworks
from .sources import Project
from .tables import tables

NONE = "no tool was found: no @mcp.tool, mcp.tool(...), add_tool or Tool.from_function"


@dataclass(frozen=True)
class Survey:
    """A server as its source shows it."""

    project: Project
    frameworks: set[str]
    proposals: list[Proposal]
    left: list[Found]
    mounted: set[str]

    def place(self, found: Found) -> str:
        """The file of a tool's function, seen from the folder of the server."""
        path = (found.home or found.module).path
        return path.relative_to(self.project.root).as_posix()

    def rows(self) -> list[dict[str, Any]]:
        """A row for each tool, in the order of the files."""
        made = [
            {
                "tool": each.found.name,
                "file": self.place(each.found),
                "line": each.found.line,
                "behavior": each.behavior,
                "evidence": list(each.evidence),
                "asked": bool(each.asked),
                "not_adoptable": None,
            }
            for each in self.proposals
        ]
        left: list[dict[str, Any]] = [
            {
                "tool": one.name,
                "file": self.place(one),
                "line": one.line,
                "behavior": None,
                "evidence": [],
                "asked": False,
                "not_adoptable": one.reason,
            }
            for one in self.left
        ]
        return [*made, *left]

    def show(self) -> None:
        """Print the table for people."""
        cells = [
            [
                each.found.name,
                each.behavior + ("?" if each.asked else ""),
                f"{self.place(each.found)}:{each.found.line}",
                each.asked or "; ".join(each.evidence[:3]),
            ]
            for each in self.proposals
        ]
        cells += [
            [one.name, "-", f"{self.place(one)}:{one.line}", f"not adoptable: {one.reason}"]
            for one in self.left
        ]
        table(["Tool", "Behavior", "Where", "Evidence"], cells)
        asked = sum(bool(each.asked) for each in self.proposals)
        counts = f"{len(self.proposals)} tools, {asked} questions"
        print(f"{counts}, {len(self.left)} not adoptable" if self.left else counts)


def survey(folder: Path) -> Survey:
    """Read a server's source; nothing of it is imported or run.

    Raises:
        RefusedError: A file is not Python, or no tool was found.
        UnableError: There is no such folder.
    """
    if not folder.is_dir():
        raise UnableError(f"{folder} is not a folder; name the one of the server's repository")
    project = Project(folder.resolve())
    finder = Finder(project)
    found = finder.tools()
    if not found:
        raise RefusedError(f"{folder}: {NONE}")
    able = [one for one in found if not one.reason]
    left = [one for one in found if one.reason]
    return Survey(project, frameworks(project), proposals(project, able), left, finder.mounted)


def answered(seen: Survey, *, unattended: bool) -> list[Proposal]:
    """The proposals, with what a person answered where the signals clash.

    Raises:
        KeyboardInterrupt: They left.
    """
    asked = [each for each in seen.proposals if each.asked]
    if unattended or not asked:
        return seen.proposals
    chosen = {id(each): _ask(seen, each) for each in asked}
    return [
        replace(each, behavior=chosen[id(each)], asked="") if id(each) in chosen else each
        for each in seen.proposals
    ]


def _ask(seen: Survey, proposal: Proposal) -> str:
    import questionary

    known = tables()["behaviors"]
    order: Sequence[str] = (*proposal.others, *(b for b in known if b not in proposal.others))
    choices = [questionary.Choice(f"{b:7} {known[b]['meaning']}", b) for b in order]
    where = f"{seen.place(proposal.found)}:{proposal.found.line}"
    question = f"{proposal.found.name} ({where}): {proposal.asked}. What does it do?"
    return str(questionary.select(one_line(question), choices).unsafe_ask())

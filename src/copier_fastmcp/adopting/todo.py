"""The work after an adoption, in phases: the tools whose errors cost most come first."""

from collections.abc import Iterable

from ..checklist import GATED, Phase, format_checklist
from .proposals import Proposal
from .survey import Survey

FILE = "docs/adoption.md"
TITLE = "Adoption"
ASK = "read the comment `# review:` and correct the decorator"
ARRANGE = "write `arrange` in `tests/tools/`, so that the suite proves what the decorator says"
PHASES: tuple[Phase, ...] = (
    Phase(
        "Decide",
        "critical",
        5,
        "clients trust a hint that nobody decided",
        ASK,
        "no comment is left",
    ),
    Phase(
        "Declare",
        "critical",
        5,
        "clients get no hint of ours, and an undeclared tool asks a person",
        "say what each does, as its reason tells",
        "it is in the lock",
    ),
    Phase(
        "Prove what asks a person",
        "high",
        20,
        "clients rely on it before data is lost",
        ARRANGE,
        "none is `unprobed`",
    ),
    Phase(
        "Prove what else writes",
        "medium",
        15,
        "clients repeat a call that is said to be idempotent",
        ARRANGE,
        "none is `unprobed`",
    ),
    Phase(
        "Prove and describe reads",
        "low",
        10,
        "clients run a read without a question",
        f"{ARRANGE}; describe parameters",
        "nothing is skipped",
    ),
)


def list_phases(survey: Survey, chosen: Iterable[Proposal]) -> str:
    """A table in Markdown: a row for each phase that has tools."""
    questions: list[str] = []
    undeclared: list[str] = []
    gated: list[str] = []
    ungated: list[str] = []
    read_only: list[str] = []
    for proposal in chosen:
        group = ungated
        if proposal.asked:
            group = questions
        elif proposal.behavior in GATED:
            group = gated
        elif proposal.behavior == "read":
            group = read_only
        group.append(f"`{proposal.tool.name}`")
    for name, reason in survey.list_reasons():
        undeclared.append(f"`{name}` ({reason})")
    groups = [questions, undeclared, gated, ungated, read_only]
    return format_checklist(TITLE, PHASES, groups)

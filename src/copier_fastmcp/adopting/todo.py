"""What is left to do after an adoption, in phases: the tools whose mistakes cost most come first."""

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
    questions = [proposal for proposal in chosen if proposal.asked]
    sure = [proposal for proposal in chosen if not proposal.asked]
    groups = [
        [_format_name(proposal) for proposal in questions],
        [f"`{name}` ({reason})" for name, reason in survey.list_reasons()],
        [_format_name(proposal) for proposal in sure if proposal.behavior in GATED],
        [
            _format_name(proposal)
            for proposal in sure
            if proposal.behavior not in (*GATED, "read")
        ],
        [_format_name(proposal) for proposal in sure if proposal.behavior == "read"],
    ]
    return format_checklist(TITLE, PHASES, groups)


def _format_name(proposal: Proposal) -> str:
    return f"`{proposal.tool.name}`"

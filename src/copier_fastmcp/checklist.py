"""The remaining work on a server, in phases: tools whose errors cost most come first."""

from collections.abc import Sequence
from dataclasses import dataclass

HEAD = """
The remaining work, ordered by the cost of an error. This page is yours: tick off rows, and delete it at the end.
About {total} in all. The effort is an estimate: so many minutes for each tool, for someone who knows the server.

| phase | priority | effort | tools | reason | what is to do | ready when |
| --- | --- | --- | --- | --- | --- | --- |
"""
GATED = ("delete", "action")
MINUTES_PER_HOUR = 60


@dataclass(frozen=True)
class Phase:
    """A step of the remaining work.

    Attributes:
        title: Its title.
        priority: Its priority.
        minutes: The estimated effort for one tool.
        reason: The cost of leaving it undone.
        task: The work on each tool.
        end: The condition under which it is done.
    """

    title: str
    priority: str
    minutes: int
    reason: str
    task: str
    end: str


def format_checklist(
    title: str, phases: Sequence[Phase], groups: Sequence[Sequence[str]]
) -> str:
    """Return a page in Markdown with a row for each phase that has tools.

    Args:
        title: The title of the page.
        phases: The phases, in order.
        groups: The tools of each phase.
    """
    lines: list[str] = []
    total = 0
    for phase, tools in zip(phases, groups, strict=True):
        if not tools:
            continue
        minutes = phase.minutes * len(tools)
        total += minutes
        cells = [
            f"{len(lines) + 1}. {phase.title}",
            phase.priority,
            format_minutes(minutes),
            f"{len(tools)}: {', '.join(tools)}",
            phase.reason,
            phase.task,
            phase.end,
        ]
        lines.append(f"| {' | '.join(cells)} |".replace("\r", " "))
    rows = "\n".join(lines)
    head = HEAD.format(total=format_minutes(total))
    return f"# {title}\n{head}{rows}\n"


def format_minutes(minutes: int) -> str:
    """Format an effort: minutes below an hour, else half hours rounded up."""
    if minutes < MINUTES_PER_HOUR:
        return f"{minutes} min"
    half_hours = -(-minutes // (MINUTES_PER_HOUR // 2))
    return f"{half_hours / 2:g} h"

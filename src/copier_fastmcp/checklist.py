"""The remaining work on a server, in phases: tools whose errors cost most come first."""

from collections.abc import Sequence

HEAD = """
What is left to do, in the order in which a mistake costs most. Yours: tick off, and delete it when nothing is left.

| phase | priority | tools | what is to do | ready when |
| --- | --- | --- | --- | --- |
"""
GATED = ("delete", "action")
Phase = tuple[str, str, str, str]  # its title, its priority, its task, its end


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
    for (phase, priority, task, end), tools in zip(phases, groups, strict=True):
        if not tools:
            continue
        number = len(lines) + 1
        names = f"{len(tools)}: {', '.join(tools)}"
        line = f"| {number}. {phase} | {priority} | {names} | {task} | {end} |"
        lines.append(line.replace("\r", " "))
    rows = "\n".join(lines)
    return f"# {title}\n{HEAD}{rows}\n"

"""What is left to do on a server, in phases: the tools whose mistakes cost most come first."""

from collections.abc import Sequence

HEAD = """
What is left to do, in the order in which a mistake costs most. Yours: tick off, and delete it when nothing is left.

| phase | priority | tools | what is to do | ready when |
| --- | --- | --- | --- | --- |
"""
GATED = ("delete", "action")
Phase = tuple[
    str, str, str, str
]  # what it is called, its priority, what is to do, when it is done


def format_checklist(
    title: str, known: Sequence[Phase], groups: Sequence[Sequence[str]]
) -> str:
    """A page in Markdown with a row for each phase that has anything in its group."""
    some = [
        (*phase, group) for phase, group in zip(known, groups, strict=True) if group
    ]
    rows = [(number, *row) for number, row in enumerate(some, start=1)]
    lines = [
        f"| {number}. {what} | {priority} | {len(tools)}: {', '.join(tools)} | {todo} | {ready} |"
        for number, what, priority, todo, ready, tools in rows
    ]
    return f"# {title}\n{HEAD}" + "\n".join(lines).replace("\r", " ") + "\n"

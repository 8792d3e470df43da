"""The report of an import."""

from collections import Counter, defaultdict
from collections.abc import Sequence

from ..errors import one_line
from .changes import compare_tools, fit_line
from .derived import shorten_reason
from .merging import Merged
from .phased import to_do
from .selecting import cost
from .tools import Imported, collect_tools, count_bytes, group_by_family

FEW = 5  # of what is alike is named
LONGEST = 160


def format_findings(rows: Sequence[Imported]) -> list[str]:
    """What a person should look at, whatever else is printed."""
    lines = []
    for row in rows:
        if row.tool:
            for text in row.findings:
                lines.append(f"! {key_of(row)}: {text}")
    return lines


def key_of(row: Imported) -> str:
    """What people call an operation, which may be of any length."""
    key = one_line(row.operation.key)
    return key if len(key) <= LONGEST else f"{key[: LONGEST - 1]}…"


def _left_out(rows: Sequence[Imported]) -> list[str]:
    """What became no tool: a line for each, or for each reason where it has many."""
    alike = defaultdict(list)
    for row in rows:
        if not row.tool:
            alike[row.left_out[0]].append(key_of(row))
    lines = []
    for reason, keys in alike.items():
        if len(keys) > FEW:
            lines.append(
                f"- {len(keys)} operations: left out, {reason} (as {keys[0]}); --json lists them"
            )
        else:
            for key in keys:
                lines.append(f"- {key}: left out, {reason}")
    return lines


def without(rows: Sequence[Imported]) -> list[str]:
    """What no tool does, in lines for people: operations, then inputs and results of those that are tools."""
    lost = []
    for row in rows:
        if row.tool:
            for text in row.left_out:
                lost.append(f"- {key_of(row)}: left out of its tool: {text}")
    if len(lost) > FEW:
        lost = [
            f"{len(lost)} inputs and results were left out of tools; --json lists them"
        ]
    return _left_out(rows) + lost


def _asked_line(group: Sequence[Imported]) -> str:
    """What was asked about an operation, or about a family of them."""
    first = group[0]
    reason = shorten_reason(first.derived.reason)[0]
    if len(group) == 1:
        return f"? {key_of(first)}: {first.derived.behavior}, since {reason}; change it in the answers"
    return (
        f"? {len(group)} operations, {first.derived.family} (as {key_of(first)}): "
        f"{first.derived.behavior}; if they only read, change them in the answers"
    )


def report(rows: Sequence[Imported]) -> list[str]:
    """What operations became what, what was asked, what was left out, in lines for people."""
    counts = Counter[str]()
    doubtful = []
    for row in rows:
        if row.tool:
            counts[row.derived.behavior] += 1
            if row.derived.asked:
                doubtful.append(row)
    names = ", ".join(f"{count} {behavior}" for behavior, count in counts.most_common())
    tools = collect_tools(rows)
    left_out = len(rows) - len(tools)
    several = len({row.operation.name for row in rows})
    lines = [
        f"{several} operations: {len(tools)} tools ({names or 'none'}), {left_out} left out"
    ]
    for group in group_by_family(doubtful):
        lines.append(_asked_line(group))
    lines += without(rows)
    lines += format_findings(rows)
    if warning := cost(len(tools), count_bytes(rows)):
        lines.append(warning)
    return lines + to_do(tools, left_out)


def report_changes(merged: Merged | None, before: object) -> list[str]:
    """What a later document changed, what callers notice first.

    Args:
        merged: The tools as they are now; None where nothing was there.
        before: The tools that were there.
    """
    if not merged:
        return []
    changes = compare_tools(before, merged.tools)
    changes.added, changes.removed = merged.added, merged.removed
    lines = changes.lines() + [fit_line(f"kept: {line}") for line in merged.kept]
    return lines or ["nothing has changed in the document since the last import"]

"""What a person is told of an import."""

from collections import Counter, defaultdict
from collections.abc import Sequence

from ..errors import one_line
from .changes import compare_tools, fit_line
from .derived import shortly
from .merging import Merged
from .phased import to_do
from .selecting import cost
from .tools import Imported, group_by_family

FEW = 5  # of what is alike is named
LONGEST = 160


def to_look_at(rows: Sequence[Imported]) -> list[str]:
    """What a person should look at, whatever else is printed."""
    return [
        f"! {key_of(one)}: {text}" for one in rows if one.tool for text in one.findings
    ]


def key_of(one: Imported) -> str:
    """What people call an operation, which may be of any length."""
    key = one_line(one.operation.key)
    return key if len(key) <= LONGEST else f"{key[: LONGEST - 1]}…"


def _left_out(rows: Sequence[Imported]) -> list[str]:
    """What became no tool: a line for each, or for each reason where it has many."""
    alike = defaultdict(list)
    for one in rows:
        if not one.tool:
            alike[one.left_out[0]].append(key_of(one))
    lines = []
    for reason, keys in alike.items():
        if len(keys) > FEW:
            lines.append(
                f"- {len(keys)} operations: left out, {reason} (as {keys[0]}); --json lists them"
            )
        else:
            lines += [f"- {key}: left out, {reason}" for key in keys]
    return lines


def without(rows: Sequence[Imported]) -> list[str]:
    """What no tool does, in lines for people: operations, then inputs and results of those that are tools."""
    made = [one for one in rows if one.tool]
    lost = [
        f"- {key_of(one)}: left out of its tool: {text}"
        for one in made
        for text in one.left_out
    ]
    if len(lost) > FEW:
        lost = [
            f"{len(lost)} inputs and results were left out of tools; --json lists them"
        ]
    return _left_out(rows) + lost


def _asked_line(group: Sequence[Imported]) -> str:
    """What was asked about an operation, or about a family of them."""
    first = group[0]
    reason = shortly(first.derived.reason)[0]
    if len(group) == 1:
        return f"? {key_of(first)}: {first.derived.behavior}, since {reason}; change it in the answers"
    return (
        f"? {len(group)} operations, {first.derived.family} (as {key_of(first)}): "
        f"{first.derived.behavior}; if they only read, change them in the answers"
    )


def report(rows: Sequence[Imported]) -> list[str]:
    """What operations became what, what was asked, what was left out, in lines for people."""
    made = [one for one in rows if one.tool]
    counts = Counter(one.derived.behavior for one in made)
    shown = ", ".join(f"{count} {behavior}" for behavior, count in counts.most_common())
    several = len({one.operation.name for one in rows})
    lines = [
        f"{several} operations: {len(made)} tools ({shown or 'none'}), {len(rows) - len(made)} left out"
    ]
    for group in group_by_family(one for one in made if one.derived.asked):
        lines.append(_asked_line(group))
    lines += without(rows)
    lines += to_look_at(rows)
    if warning := cost(len(made), sum(one.bytes for one in made)):
        lines.append(warning)
    return [
        *lines,
        *to_do([one.tool for one in rows if one.tool], len(rows) - len(made)),
    ]


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

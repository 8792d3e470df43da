"""What a person is told of an import."""

from collections import Counter
from collections.abc import Sequence

from .derived import shortly
from .merging import Merged
from .selecting import cost
from .tools import Imported

FEW = 5  # of what is left out of tools is named


def found_in(rows: Sequence[Imported]) -> list[str]:
    """What a person should look at, whatever else is printed."""
    return [f"! {one.operation.key}: {text}" for one in rows if one.tool for text in one.findings]


def report(rows: Sequence[Imported]) -> list[str]:
    """What operations became what, what was asked, what was left out, in lines for people."""
    made = [one for one in rows if one.tool]
    counts = Counter(one.derived.behavior for one in made)
    shown = ", ".join(f"{count} {behavior}" for behavior, count in counts.most_common())
    several = len({one.operation.name for one in rows})
    lines = [
        f"{several} operations: {len(made)} tools ({shown or 'none'}), {len(rows) - len(made)} left out"
    ]
    for one in made:
        if one.derived.asked:
            lines.append(
                f"? {one.operation.key}: {one.derived.behavior}, since {shortly(one.derived.reason)[0]}; change it in the answers"
            )
    lines += [f"- {one.operation.key}: left out, {one.left_out[0]}" for one in rows if not one.tool]
    lost = [
        f"{one.operation.key}: left out of its tool: {text}"
        for one in made
        for text in one.left_out
    ]
    if len(lost) > FEW:
        lines.append(f"{len(lost)} inputs and results were left out of tools; --json lists them")
    elif lost:
        lines += [f"- {one}" for one in lost]
    lines += found_in(rows)
    if warning := cost(len(made), sum(one.bytes for one in made)):
        lines.append(warning)
    return lines


def news(merged: Merged | None) -> list[str]:
    """What a later document changed."""
    if not merged:
        return []
    rows = (
        ("added", merged.added),
        ("removed", merged.removed),
        ("changed", merged.changed),
        ("kept", merged.kept),
    )
    lines = [f"{word}: {one}" for word, listed in rows for one in listed]
    return lines or ["nothing has changed in the document since the last import"]

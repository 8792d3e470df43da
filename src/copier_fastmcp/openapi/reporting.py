"""What a person is told of an import."""

from collections import Counter, defaultdict
from collections.abc import Sequence

from ..errors import one_line
from .derived import shortly
from .merging import Merged
from .phased import to_do
from .selecting import cost
from .tools import Imported

FEW = 5  # of what is alike is named
LONGEST = 160


def to_look_at(rows: Sequence[Imported]) -> list[str]:
    """What a person should look at, whatever else is printed."""
    return [f"! {key_of(one)}: {text}" for one in rows if one.tool for text in one.findings]


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
        f"- {key_of(one)}: left out of its tool: {text}" for one in made for text in one.left_out
    ]
    if len(lost) > FEW:
        lost = [f"{len(lost)} inputs and results were left out of tools; --json lists them"]
    return _left_out(rows) + lost


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
                f"? {key_of(one)}: {one.derived.behavior}, since {shortly(one.derived.reason)[0]}; change it in the answers"
            )
    lines += without(rows)
    lines += to_look_at(rows)
    if warning := cost(len(made), sum(one.bytes for one in made)):
        lines.append(warning)
    return [*lines, *to_do([one.tool for one in rows if one.tool], len(rows) - len(made))]


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

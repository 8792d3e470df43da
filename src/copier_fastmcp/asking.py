"""What an import asks in a terminal: which operations, and what those do that say too little."""

from collections import Counter
from collections.abc import Sequence

import questionary as q

from .errors import RefusedError, one_line
from .openapi.operations import Operation
from .openapi.tools import Imported
from .tables import tables

ALL = "(all of them)"


def operations_of(listed: Sequence[Operation]) -> list[Operation]:
    """The operations that somebody wants, chosen by tag and then one by one.

    Raises:
        KeyboardInterrupt: They left.
        RefusedError: They chose none.
    """
    counts = Counter(tag for one in listed for tag in one.tags or ["(no tag)"])
    print(f"{len(listed)} operations are too many for a model to choose from well.")
    tags = q.checkbox(
        "Which tags? (space chooses, Enter goes on)",
        [q.Choice(f"{one_line(tag)} ({count})", tag) for tag, count in sorted(counts.items())],
    ).unsafe_ask()
    found = [one for one in listed if set(one.tags or ["(no tag)"]) & set(tags)]
    if len(found) > 1:
        names = q.checkbox(
            "Which operations?",
            [
                q.Choice(
                    one_line(f"{one.name}  {one.text('summary')}")[:110],
                    one.name,
                    checked=len(found) <= 40,
                )
                for one in found
            ],
        ).unsafe_ask()
        found = [one for one in found if one.name in names]
    if not found:
        raise RefusedError("no operation was chosen")
    return found


def behaviors_of(rows: Sequence[Imported]) -> dict[str, str]:
    """What somebody says of operations whose signals clash, by operation.

    Raises:
        KeyboardInterrupt: They left.
    """
    meanings = {name: row["meaning"] for name, row in tables()["behaviors"].items()}
    said: dict[str, str] = {}
    for one in rows:
        if not one.derived.asked or one.tool is None:
            continue
        allowed = [
            name
            for name in meanings
            if name != "read" or one.operation.method not in ("PUT", "PATCH", "DELETE")
        ]
        question = f"{one.operation.key}: {one.operation.text('summary')[:60]} ({one.derived.reason}) It is:"
        said[one.operation.key] = q.select(
            one_line(question),
            [q.Choice(f"{name:7} {meanings[name]}", name) for name in allowed],
            default=one.derived.behavior,
        ).unsafe_ask()
    return said

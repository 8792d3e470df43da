"""What an import asks in a terminal: which operations, and what those do that say too little."""

from collections import Counter
from collections.abc import Sequence
from functools import partial

from ..errors import one_line
from ..listing import meanings
from ..terminal import prompts
from .operations import Operation
from .tools import Imported

FEW = 40  # so many are chosen at first, and the others taken out


def operations_of(listed: Sequence[Operation]) -> list[Operation]:
    """The operations that somebody wants, chosen by tag and then one by one.

    Raises:
        BackError: They want the question before.
        KeyboardInterrupt: They left.
    """
    counts = Counter(tag for one in listed for tag in one.tags or ["(no tag)"])
    tags: list[str] = []
    found: list[Operation] = []

    def tagged() -> None:
        prompts.say(f"{len(listed)} operations are too many for a model to choose from well.")
        rows = [(one_line(tag), f"({count})", tag) for tag, count in sorted(counts.items())]
        tags[:] = prompts.several("Which tags?", rows)

    def named() -> None:
        found[:] = [one for one in listed if set(one.tags or ["(no tag)"]) & set(tags)]
        if len(found) > 1:
            rows = [(one.name, one.text("summary"), one) for one in found]
            found[:] = prompts.several("Which operations?", rows, len(found) <= FEW)

    prompts.walk([tagged, named])
    return found


def behaviors_of(rows: Sequence[Imported]) -> dict[str, str]:
    """What somebody says of operations whose signals clash, by operation.

    Raises:
        BackError: They want the question before.
        KeyboardInterrupt: They left.
    """
    said: dict[str, str] = {}
    asked = [one for one in rows if one.derived.asked and one.tool is not None]

    def ask(at: int, one: Imported) -> None:
        operation = one.operation
        prompts.say(f"{operation.key}: {operation.text('summary')[:200]}", f"{at}/{len(asked)} ")
        prompts.say(f"({one.derived.reason})")
        allowed = [
            row
            for row in meanings()
            if row[0] != "read" or operation.method not in ("PUT", "PATCH", "DELETE")
        ]
        guess = said.get(operation.key, one.derived.behavior)
        said[operation.key] = prompts.choose("What does it do?", allowed, guess)

    prompts.walk([partial(ask, at, one) for at, one in enumerate(asked, 1)])
    return said

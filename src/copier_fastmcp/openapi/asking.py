"""What an import asks in a terminal: which operations, and what those do that say too little."""

from collections import Counter
from collections.abc import Sequence
from functools import partial

from ..errors import one_line
from ..terminal import prompts
from ..tools_answer import list_meanings
from .operations import Operation
from .tools import Imported, group_by_family

SHOWN = 4
EACH = "each"
FEW = 40  # so many are chosen at first, and the others taken out


def operations_of(listed: Sequence[Operation]) -> list[Operation]:
    """The operations that somebody wants, chosen by tag and then one by one.

    Raises:
        BackError: They want the question before.
        KeyboardInterrupt: They left.
    """
    counts = Counter(
        tag for operation in listed for tag in operation.tags or ["(no tag)"]
    )
    tags: list[str] = []
    chosen: list[Operation] = []

    def tagged() -> None:
        prompts.print_line(
            f"{len(listed)} operations are too many for a model to choose from well."
        )
        rows = [
            (one_line(tag), f"({count})", tag) for tag, count in sorted(counts.items())
        ]
        tags[:] = prompts.ask_choices("Which tags?", rows)

    def named() -> None:
        chosen[:] = [
            operation
            for operation in listed
            if set(operation.tags or ["(no tag)"]) & set(tags)
        ]
        if len(chosen) > 1:
            rows = [
                (operation.name, operation.text("summary"), operation)
                for operation in chosen
            ]
            chosen[:] = prompts.ask_choices(
                "Which operations?", rows, len(chosen) <= FEW
            )

    prompts.run_steps([tagged, named])
    return chosen


def behaviors_of(rows: Sequence[Imported]) -> dict[str, str]:
    """What somebody says of operations whose signals clash, by operation.

    Operations of one family (`POST .../filter`, a `refresh` parameter throughout) are one question.

    Raises:
        BackError: They want the question before.
        KeyboardInterrupt: They left.
    """
    behaviors: dict[str, str] = {}
    questions = group_by_family(
        [
            imported
            for imported in rows
            if imported.derived.asked and imported.tool is not None
        ]
    )

    def ask(place: str, imported: Imported) -> None:
        operation = imported.operation
        prompts.print_line(f"{operation.key}: {operation.text('summary')[:200]}", place)
        prompts.print_line(f"({imported.derived.reason})")
        allowed = [
            row
            for row in list_meanings()
            if row[0] != "read" or operation.method not in ("PUT", "PATCH", "DELETE")
        ]
        guess = behaviors.get(operation.key, imported.derived.behavior)
        behaviors[operation.key] = prompts.ask_choice(
            "What does it do?", allowed, guess
        )

    def ask_family(place: str, members: list[Imported]) -> None:
        keys = [imported.operation.key for imported in members]
        prompts.print_line(
            f"{len(keys)} operations, {members[0].derived.family}: {shorten(keys)}",
            place,
        )
        rows = [
            ("read", "all of them only read", "read"),
            ("action", "all of them may change something", "action"),
            (EACH, "ask about one after the other", EACH),
        ]
        answer = prompts.ask_choice(
            "What do they do?", rows, behaviors.get(keys[0], "action")
        )
        if answer == EACH:
            prompts.run_steps([partial(ask, place, imported) for imported in members])
        else:
            behaviors.update(dict.fromkeys(keys, answer))

    steps = []
    for at, members in enumerate(questions, 1):
        place = f"{at}/{len(questions)} "
        if len(members) > 1:
            steps.append(partial(ask_family, place, members))
        else:
            steps.append(partial(ask, place, members[0]))
    prompts.run_steps(steps)
    return behaviors


def shorten(keys: Sequence[str]) -> str:
    """The first operations of a family, and how many there are more."""
    names = ", ".join(keys[:SHOWN])
    hidden = len(keys) - SHOWN
    return f"{names} and {hidden} more" if hidden > 0 else names

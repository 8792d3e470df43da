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
NO_TAG = "(no tag)"
FEW = 40  # so many are chosen at first, and the others taken out


def choose_operations(listed: Sequence[Operation]) -> list[Operation]:
    """The operations that somebody wants, chosen by tag and then one by one.

    Raises:
        BackError: They want the question before.
        KeyboardInterrupt: They left.
    """
    counts = Counter[str]()
    for operation in listed:
        counts.update(_tags_of(operation))
    tags: list[str] = []
    chosen: list[Operation] = []

    def tagged() -> None:
        prompts.print_line(
            f"{len(listed)} operations are too many for a model to choose from well."
        )
        rows = []
        for tag, count in sorted(counts.items()):
            rows.append((one_line(tag), f"({count})", tag))
        tags[:] = prompts.ask_choices("Which tags?", rows)

    def named() -> None:
        chosen.clear()
        for operation in listed:
            if set(_tags_of(operation)) & set(tags):
                chosen.append(operation)
        if len(chosen) > 1:
            rows = []
            for operation in chosen:
                rows.append((operation.name, operation.text("summary"), operation))
            chosen[:] = prompts.ask_choices(
                "Which operations?", rows, len(chosen) <= FEW
            )

    prompts.run_steps([tagged, named])
    return chosen


def _tags_of(operation: Operation) -> list[str]:
    return operation.tags or [NO_TAG]


def choose_behaviors(rows: Sequence[Imported]) -> dict[str, str]:
    """What somebody says of operations whose signals clash, by operation.

    Operations of one family (`POST .../filter`, a `refresh` parameter throughout) are one question.

    Raises:
        BackError: They want the question before.
        KeyboardInterrupt: They left.
    """
    behaviors: dict[str, str] = {}
    doubtful = []
    for row in rows:
        if row.derived.asked and row.tool is not None:
            doubtful.append(row)
    questions = group_by_family(doubtful)

    def ask(place: str, imported: Imported) -> None:
        operation = imported.operation
        prompts.print_line(f"{operation.key}: {operation.text('summary')[:200]}", place)
        prompts.print_line(f"({imported.derived.reason})")
        allowed = list_meanings()
        if operation.method in ("PUT", "PATCH", "DELETE"):
            allowed = [row for row in allowed if row[0] != "read"]
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

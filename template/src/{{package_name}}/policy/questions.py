"""The words of a question, from what an author wrote and what a client sent. Managed by the template."""

import json
import re
from collections.abc import Mapping
from typing import Any

from pydantic_core import to_jsonable_python

from .behaviors import Declaration
from .text import HIDDEN

NAMED = re.compile(r"\{([A-Za-z_][A-Za-z0-9_.-]*)\}")
LONGEST_VALUE, LONGEST_QUESTION, MOST_DETAILS = 80, 1000, 20


def plain(text: str, longest: int) -> str:
    """A text that is not too long to read, with nothing hidden in it that can steer a terminal."""
    text = text if len(text) <= longest else text[: longest - 1] + "…"
    return HIDDEN.sub("\N{REPLACEMENT CHARACTER}", text)


def shortened(value: object) -> str:
    """A value as one short line."""
    text = value if isinstance(value, str) else json.dumps(to_jsonable_python(value, fallback=str))
    return plain(text, LONGEST_VALUE).replace("\n", "\N{REPLACEMENT CHARACTER}")


def question_of(declaration: Declaration, arguments: Mapping[str, Any]) -> str:
    """The author's question with the arguments filled in, or one made from title and arguments."""
    if isinstance(declaration.confirm, str):
        return NAMED.sub(
            lambda found: shortened(arguments[found[1]]) if found[1] in arguments else found[0],
            declaration.confirm,
        )
    listed = ", ".join(f"{name}: {shortened(value)}" for name, value in arguments.items())
    return f"{declaration.title}?" + (f" ({listed})" if listed else "")


def message_of(server: str, question: str, details: object) -> str:
    """What a person reads: who asks, the question, and below it what would happen."""
    lines = [f"{server} asks: " + plain(question, LONGEST_QUESTION)]
    if isinstance(details, Mapping):
        shown = list(details.items())[:MOST_DETAILS]
        lines += [f"{shortened(name)}: {shortened(value)}" for name, value in shown]
        lines += ["…"] * (len(details) > MOST_DETAILS)
    return "\n".join(lines)

"""What no text may hold, and the words of a question. Managed by the template."""

import json
import re
from collections.abc import Mapping

from pydantic_core import to_jsonable_python

from .declarations import Declaration

# Control characters (a newline aside), bidi, zero-width, tag and joining characters, lone surrogates.
HIDDEN = re.compile(
    r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb\ufffe\uffff\ud800-\udfff\U000e0000-\U000e0fff]"
)
NAMED = re.compile(r"\{([A-Za-z_][A-Za-z0-9_.-]*)\}")
LONGEST_VALUE, LONGEST_QUESTION, MOST_DETAILS = 80, 1000, 20


def hidden(text: str, *, lines: bool = False) -> str | None:
    """The first control or invisible character as `U+202E`, or None; a newline passes with `lines`."""
    match = HIDDEN.search(text) or (None if lines else re.search("\n", text))
    return f"U+{ord(match[0]):04X}" if match else None


def plain(text: str, longest: int) -> str:
    """A text that is not too long to read, with nothing hidden in it that can steer a terminal."""
    text = text if len(text) <= longest else text[: longest - 1] + "…"
    return HIDDEN.sub("\N{REPLACEMENT CHARACTER}", text)


def shortened(value: object) -> str:
    """A value as one short line."""
    text = value if isinstance(value, str) else json.dumps(to_jsonable_python(value, fallback=str))
    return plain(text, LONGEST_VALUE).replace("\n", "\N{REPLACEMENT CHARACTER}")


def question_of(declaration: Declaration, arguments: Mapping[str, object]) -> str:
    """The author's question with the arguments filled in, or one made from title and arguments."""
    if isinstance(declaration.confirm, str):
        return NAMED.sub(
            lambda name: shortened(arguments[name[1]]) if name[1] in arguments else name[0],
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

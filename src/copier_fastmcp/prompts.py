"""Questions in a terminal that go forward and back, and name a mistake whole.

Esc goes back a question, Ctrl-C leaves. A mistake stands on a line of its own, in full at any width:
the line below a prompt would cut it.
"""

from collections.abc import Callable, Sequence
from typing import Any

import questionary as q
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent, merge_key_bindings

BACK = object()
HELP = "(Esc: back, Ctrl-C: leave)"


class BackError(Exception):
    """They want the question before this one."""


def _asked(question: q.Question) -> Any:
    """The answer to a question.

    Raises:
        BackError: They pressed Esc.
        KeyboardInterrupt: They left.
    """
    keys = KeyBindings()

    @keys.add("escape", eager=True)
    def _(event: KeyPressEvent) -> None:
        event.app.exit(result=BACK)

    app = question.application
    app.key_bindings = merge_key_bindings([app.key_bindings or KeyBindings(), keys])
    app.ttimeoutlen = 0.1
    found = question.unsafe_ask()
    if found is BACK:
        raise BackError
    return found


def text(question: str, default: str = "", check: Callable[[str], str] = lambda _: "") -> str:
    """A line of text that `check` finds nothing wrong with; what it answers is shown, and asked again."""
    while True:
        found = str(_asked(q.text(question, default=default))).strip()
        wrong = check(found)
        if not wrong:
            return found
        print(f"  ! {wrong}")
        default = found


def choose(question: str, choices: Sequence[tuple[str, Any]], default: Any = None) -> Any:
    """One of several, each with its words and its value."""
    made = [q.Choice(words, value) for words, value in choices]
    known = [value for _, value in choices]
    return _asked(
        q.select(question, made, default=default if default in known else None, instruction=HELP)
    )


def yes(question: str, default: bool = True) -> bool:
    """Yes or no."""
    return bool(_asked(q.confirm(question, default=default)))


def walk(steps: Sequence[Callable[[], None]]) -> None:
    """Ask one question after another; Esc goes back to the one before.

    Raises:
        BackError: They went back from the first one.
    """
    at = 0
    while at < len(steps):
        try:
            steps[at]()
            at += 1
        except BackError:
            if at == 0:
                raise
            at -= 1

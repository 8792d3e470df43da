"""Questions in a terminal that go forward and back, and name a mistake whole.

Esc goes back a question, Ctrl-C leaves. A mistake stands on lines of its own, broken between words at any
width: the line below a prompt would cut it. An answered question becomes one short line.
"""

from collections.abc import Callable, Sequence
from shutil import get_terminal_size
from textwrap import wrap
from typing import Any

import questionary as q
from prompt_toolkit import print_formatted_text
from prompt_toolkit.formatted_text import FormattedText
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent, merge_key_bindings
from questionary.constants import DEFAULT_STYLE

from ..errors import BackError, one_line

BACK = object()
HELP = "(Esc: back, Ctrl-C: leave)"
MANY = "(space chooses, letters filter, Enter goes on)"
Option = tuple[str, str, Any]  # what it is called, what it is about, its value


def _lines(text: str, width: int) -> list[str]:
    return wrap(text, max(20, width), break_on_hyphens=False) or [""]


def print_line(text: str, mark: str = "  ") -> None:
    """A sentence, broken between words."""
    width = get_terminal_size().columns
    for at, line in enumerate(_lines(one_line(text), width - len(mark) - 1)):
        print(f"{mark if at == 0 else ' ' * len(mark)}{line}")


def print_mistake(text: object) -> None:
    """What is wrong, and how to mend it."""
    print_line(one_line(text), "  ! ")


def _asked(question: q.Question, words: str, shown: Callable[[Any], str]) -> Any:
    """The answer to a question, of which one short line stays.

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
    app.erase_when_done = True
    found = question.unsafe_ask()
    if found is BACK:
        raise BackError
    width = get_terminal_size().columns
    answer = one_line(shown(found))
    short = len(words) + len(answer) + 4 < width
    lines = (
        [answer]
        if short
        else ["", *(f"    {one}" for one in _lines(answer, width - 5))]
    )
    parts = [("class:qmark", "?"), ("class:question", f" {words} ")]
    print_formatted_text(
        FormattedText([*parts, ("class:answer", "\n".join(lines))]), style=DEFAULT_STYLE
    )
    return found


def ask_text(
    question: str,
    default: str = "",
    check: Callable[[str], str] = lambda _: "",
    *,
    usual: str = "",
) -> str:
    """A line of text that `check` finds nothing wrong with; what it answers is shown, and asked again.

    `default` stands there to be edited; `usual` is shown in gray, and is what nothing typed means.
    """
    while True:
        gray = FormattedText([("fg:ansibrightblack", usual)])
        made = q.text(question, default=default, placeholder=gray)
        found = str(
            _asked(made, question, lambda said: str(said).strip() or usual)
        ).strip()
        found = found or usual
        wrong = check(found)
        if not wrong:
            return found
        print_mistake(wrong)
        default = found


def build_choices(listed: Sequence[Option]) -> list[q.Choice]:
    """Choices in two columns, the second broken between words."""
    label = max(len(name) for name, _, _ in listed) + 2
    width = get_terminal_size().columns - label - 6
    joint = "\n" + " " * (label + 3)
    return [
        q.Choice(f"{name:{label}}{joint.join(_lines(about, width))}".rstrip(), value)
        for name, about, value in listed
    ]


def ask_choice(question: str, listed: Sequence[Option], default: Any = None) -> Any:
    """One of several, each with its name, what it is about, and its value."""
    names = {id(value): name for name, _, value in listed}
    known = [value for _, _, value in listed]
    made = q.select(
        question,
        build_choices(listed),
        default=default if default in known else None,
        instruction=HELP,
    )
    return _asked(made, question, lambda value: names.get(id(value), str(value)))


def ask_choices(
    question: str, listed: Sequence[Option], chosen: bool = False
) -> list[Any]:
    """At least one of several."""
    width = get_terminal_size().columns - 8
    choices = [
        q.Choice(
            line if len(line) <= width else f"{line[: width - 3]}...",
            value,
            checked=chosen,
        )
        for name, about, value in listed
        for line in [one_line(f"{name}  {about}".rstrip())]
    ]
    while True:
        made = q.checkbox(
            question,
            choices,
            instruction=MANY,
            use_search_filter=True,
            use_jk_keys=False,
        )
        found = list(
            _asked(made, question, lambda values: f"{len(values)} of {len(listed)}")
        )
        if found:
            return found
        print_mistake("none is chosen; choose with the space bar")


def ask_yes_no(question: str, default: bool = True) -> bool:
    """Yes or no."""
    made = q.confirm(question, default=default)
    return bool(_asked(made, question, lambda so: "yes" if so else "no"))


def run_steps(steps: Sequence[Callable[[], object]]) -> None:
    """Ask one question after another; Esc goes back to the one before.

    A step that answers False had nothing to ask, and is passed in either direction.

    Raises:
        BackError: They went back from the first one.
    """
    at, way = 0, 1
    while at < len(steps):
        try:
            way = 1 if steps[at]() is not False else way
        except BackError:
            way = -1
        at += way
        if at < 0:
            raise BackError

"""Questions in a terminal, with a way back to the previous question.

Esc returns to the previous question, Ctrl-C leaves. An error is printed on separate lines, wrapped at any width, since the
line below a prompt would cut it. An answered question is reduced to one short line.
"""

from collections.abc import Callable, Sequence
from shutil import get_terminal_size
from textwrap import wrap
from typing import Any

import questionary as q
from prompt_toolkit import print_formatted_text
from prompt_toolkit.formatted_text import FormattedText
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent, merge_key_bindings
from prompt_toolkit.styles import Style

from ..errors import BackError, one_line

BACK = object()
# Weights in place of colors, which are hard to read on a light background or on a dark one. The gray of a placeholder is
# readable on both.
STYLE = Style(
    [
        ("qmark", "bold"),
        ("question", "bold"),
        ("answer", "noinherit"),
        ("pointer", "bold"),
        ("highlighted", "bold"),
        ("selected", "noinherit"),
        ("search_success", "noinherit bold"),
        ("search_none", "noinherit bold"),
        ("instruction", "noinherit"),
    ]
)
GRAY = "fg:ansibrightblack"
HELP = "(Esc: back, Ctrl-C: leave)"
SHORT_HELP = "(Esc: back)"
MANY = "(space selects, letters filter, Enter continues)"
NARROWEST = 20
Option = tuple[str, str, Any]  # its name, its description, its value


def _wrap(text: str, width: int) -> list[str]:
    return wrap(text, max(NARROWEST, width), break_on_hyphens=False) or [""]


def print_line(text: str, mark: str = "  ") -> None:
    """Print a sentence, wrapped between words."""
    width = get_terminal_size().columns - len(mark) - 1
    prefix = mark
    for line in _wrap(one_line(text), width):
        print(f"{prefix}{line}")
        prefix = " " * len(mark)


def print_mistake(text: object) -> None:
    """Print an error in an answer, and how to fix it."""
    print_line(one_line(text), "  ! ")


def _ask(question: q.Question, words: str, format_answer: Callable[[Any], str]) -> Any:
    """Ask a question and leave one short line of it on the screen.

    Args:
        question: The question.
        words: Its text.
        format_answer: Formats the answer.

    Raises:
        BackError: The user pressed Esc.
        KeyboardInterrupt: The user left.
    """
    keys = KeyBindings()

    @keys.add("escape", eager=True)
    def _(event: KeyPressEvent) -> None:
        event.app.exit(result=BACK)

    app = question.application
    app.key_bindings = merge_key_bindings([app.key_bindings or KeyBindings(), keys])
    app.ttimeoutlen = 0.1
    app.erase_when_done = True
    answer = question.unsafe_ask()
    if answer is BACK:
        raise BackError
    width = get_terminal_size().columns
    text = one_line(format_answer(answer))
    if len(words) + len(text) + 4 >= width:
        indented = [f"    {line}" for line in _wrap(text, width - 5)]
        text = "\n".join(["", *indented])
    parts = [
        ("class:qmark", "?"),
        ("class:question", f" {words} "),
        ("class:answer", text),
    ]
    print_formatted_text(FormattedText(parts), style=STYLE)
    return answer


def _is_appended(text: str, suggestion: str) -> bool:
    """Return whether a text was typed after a suggestion instead of in its place, as in `notesorders`."""
    if not suggestion or not text.startswith(suggestion):
        return False
    return text[len(suggestion) :][:1].isalnum()


def ask_text(
    question: str,
    default: str = "",
    check: Callable[[str], str] = lambda _: "",
    *,
    usual: str = "",
    correct: Callable[[str], str] = str,
) -> str:
    """Ask for a line of text until it is valid.

    Args:
        question: The question.
        default: The text to edit.
        check: Returns the error in a text, which is shown; empty for a valid text.
        usual: A value shown in gray, which an empty answer stands for.
        correct: Corrects an invalid text as far as its error says how; the user then edits or accepts it.
    """
    suggestion = default
    while True:
        gray = FormattedText([(GRAY, usual)])
        prompt = q.text(question, default=default, placeholder=gray, style=STYLE)
        answer = _ask(prompt, question, lambda text: str(text).strip() or usual)
        text = str(answer).strip() or usual
        if _is_appended(text, suggestion):
            keep = f"Keep {text!r}? It is the suggestion with text appended."
            if not ask_yes_no(keep, default=False):
                default = text
                continue
        suggestion = ""
        mistake = check(text)
        if not mistake:
            return text
        print_mistake(mistake)
        default = correct(text)


def build_choices(options: Sequence[Option]) -> list[q.Choice]:
    """Return choices in two columns, the second one wrapped between words."""
    label_width = max(len(name) for name, _, _ in options) + 2
    width = get_terminal_size().columns - label_width - 6
    joint = "\n" + " " * (label_width + 3)
    choices = []
    for name, description, value in options:
        title = f"{name:{label_width}}{joint.join(_wrap(description, width))}"
        choices.append(q.Choice(title.rstrip(), value))
    return choices


def choose_help(question: str, width: int) -> str:
    """Return the keys of a question that fit behind it on its line."""
    for text in (HELP, SHORT_HELP):
        if len(f"? {question} {text}") < width:
            return text
    return ""


def ask_choice(question: str, options: Sequence[Option], default: Any = None) -> Any:
    """Ask for one of several options and return its value."""
    names = {id(value): name for name, _, value in options}
    values = [value for _, _, value in options]
    prompt = q.select(
        question,
        build_choices(options),
        default=default if default in values else None,
        instruction=choose_help(question, get_terminal_size().columns),
        style=STYLE,
    )
    return _ask(prompt, question, lambda value: names.get(id(value), str(value)))


def ask_choices(
    question: str, options: Sequence[Option], chosen: bool = False
) -> list[Any]:
    """Ask for at least one of several options and return their values.

    Args:
        question: The question.
        options: The options.
        chosen: Whether all options are chosen at first.
    """
    width = get_terminal_size().columns - 8
    choices = []
    for name, description, value in options:
        line = one_line(f"{name}  {description}".rstrip())
        if len(line) > width:
            line = f"{line[: width - 3]}..."
        choices.append(q.Choice(line, value, checked=chosen))
    while True:
        prompt = q.checkbox(
            question,
            choices,
            instruction=MANY,
            use_search_filter=True,
            use_jk_keys=False,
            style=STYLE,
        )
        answer = _ask(
            prompt, question, lambda values: f"{len(values)} of {len(options)}"
        )
        if answer:
            return list(answer)
        print_mistake("none is selected; press the space bar")


def ask_yes_no(question: str, default: bool = True) -> bool:
    """Ask a question to be answered with yes or no."""
    prompt = q.confirm(question, default=default, style=STYLE)
    answer = _ask(prompt, question, lambda agreed: "yes" if agreed else "no")
    return bool(answer)


def run_steps(steps: Sequence[Callable[[], object]]) -> None:
    """Ask one question after another; Esc returns to the previous one.

    A step that returns False had nothing to ask, and is skipped in either direction.

    Raises:
        BackError: The user went back from the first step.
    """
    position = 0
    direction = 1
    while position < len(steps):
        try:
            if steps[position]() is not False:
                direction = 1
        except BackError:
            direction = -1
        position += direction
        if position < 0:
            raise BackError

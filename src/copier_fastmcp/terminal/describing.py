"""A tool as a person in a terminal describes it."""

import re
from typing import Any

import questionary as q

from ..listing import NAME, verb_says
from ..tables import tables

LISTS = ["list[str]", "list[int]"]
WIRE_NAME = re.compile("([A-Za-z][A-Za-z0-9_.-]{0,63})?")
GATES = ["as the policy says", "ask, with a question made from the title", "ask in my words"]


def _text(question: str, default: str = "", **more: Any) -> str:
    return str(q.text(question, default=default, **more).unsafe_ask()).strip()


def _parameters() -> list[dict[str, Any]]:
    parameters = []
    while name := _text(
        "A parameter's name (empty: no more; none at all: those of its behavior):",
        validate=lambda text: bool(WIRE_NAME.fullmatch(text.strip())) or "as in note_id",
    ):
        kind = q.select("Its type:", [*tables("language")["types"], *LISTS]).unsafe_ask()
        about = _text("What it is:", validate=lambda text: bool(text.strip()) or "one sentence")
        optional = {} if q.confirm("Is it required?").unsafe_ask() else {"required": False}
        parameters.append({"name": name, "type": kind, "description": about} | optional)
    return parameters


def ask() -> dict[str, Any]:
    """The tool, in the form of the answer `tools`.

    Raises:
        KeyboardInterrupt: They left.
    """
    name = _text(
        "Name, its verb first:",
        validate=lambda text: bool(NAME.fullmatch(text.strip())) or "as in archive_note",
    )
    guess = verb_says(name) or None
    behaviors = tables()["behaviors"].items()
    meanings = [q.Choice(f"{one:7} {row['meaning']}", one) for one, row in behaviors]
    behavior = q.select("What it does:", meanings, default=guess).unsafe_ask()
    tool: dict[str, Any] = {"name": name} | ({"behavior": behavior} if behavior != guess else {})
    tool["title"] = _text("Title:", name.replace("_", " ").title())
    tool["description"] = _text("Description, for the model (empty: a sentence from the title):")
    tool["params"] = _parameters()
    gate = q.select("Before it runs:", GATES).unsafe_ask()
    if gate != GATES[0]:
        tool["confirm"] = gate == GATES[1] or _text("The question, as in Archive note {note_id}?")
    if behavior != "read":
        tool["why"] = _text("Why its hints are right, in a sentence (empty: one by its behavior):")
    return {key: value for key, value in tool.items() if value not in ("", [])}


def agreed() -> bool:
    """Whether they want what they were shown.

    Raises:
        KeyboardInterrupt: They left.
    """
    return bool(q.confirm("Write it?").unsafe_ask())

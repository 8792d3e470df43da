"""A tool as a person in a terminal describes it; Esc goes back a question."""

import re
from collections.abc import Collection
from typing import Any

from ..errors import BackError
from ..tables import load_tables
from ..tools_answer import NAME, infer_from_name
from . import prompts

LISTS = ["list[str]", "list[int]"]
WIRE_NAME = re.compile("([A-Za-z][A-Za-z0-9_.-]{0,63})?")
GATES = [
    ("as the policy says", "", None),
    ("ask, with a question made from the title", "", True),
    ("ask in my words", "", "own"),
]


def _parameter(named: Collection[str]) -> dict[str, Any]:
    """One parameter; nothing when there are no more.

    Raises:
        BackError: They want the one before.
    """
    made: dict[str, Any] = {}
    ask = "A parameter's name (empty: no more; without any it gets those of its behavior):"

    def wrong(text: str) -> str:
        if text in named:
            return f"{text!r} is a parameter already; write another name"
        return (
            ""
            if WIRE_NAME.fullmatch(text)
            else f"{text!r} is not a name; write it as note_id"
        )

    def name() -> None:
        made["name"] = prompts.ask_text(ask, made.get("name", ""), wrong)

    def kind() -> bool:
        known = [(one, "", one) for one in (*load_tables("language")["types"], *LISTS)]
        if made["name"]:
            made["type"] = prompts.ask_choice("Its type:", known, made.get("type"))
        return bool(made["name"])

    def about() -> bool:
        if made["name"]:
            made["description"] = prompts.ask_text(
                "What it is:", made.get("description", ""), some
            )
        return bool(made["name"])

    def needed() -> bool:
        if made["name"] and not prompts.ask_yes_no("Is it required?"):
            made["required"] = False
        return bool(made["name"])

    def some(text: str) -> str:
        return "" if text else "models read it; write one sentence"

    prompts.run_steps([name, kind, about, needed])
    return made if made["name"] else {}


def _parameters() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    while True:
        try:
            one = _parameter([each["name"] for each in found])
        except BackError:
            if not found:
                raise
            found.pop()
            continue
        if not one:
            return found
        found.append(one)


def ask_tool(taken: Collection[str] = ()) -> dict[str, Any]:
    """The tool, in the form of the answer `tools`; `taken` are the names of others.

    Raises:
        BackError: They want the question before the first.
        KeyboardInterrupt: They left.
    """
    tool: dict[str, Any] = {}

    def wrong(text: str) -> str:
        if text in taken:
            return f"{text!r} is another tool; write a name that none has"
        fits = NAME.fullmatch(text)
        return (
            ""
            if fits
            else f"{text!r} is not a name for a tool; write it as archive_note"
        )

    def name() -> None:
        tool["name"] = prompts.ask_text(
            "Name, its verb first:", tool.get("name", ""), wrong
        )

    def behavior() -> None:
        guess = infer_from_name(tool["name"]) or None
        listed = [
            (one, row["meaning"], one)
            for one, row in load_tables()["behaviors"].items()
        ]
        found = prompts.ask_choice("What it does:", listed, tool.get("behavior", guess))
        tool["behavior"], tool["title"] = found, tool["name"].replace("_", " ").title()

    def title() -> None:
        tool["title"] = prompts.ask_text("Title:", tool["title"])

    def description() -> None:
        words = "Description, for the model (empty: a sentence from the title):"
        tool["description"] = prompts.ask_text(words, tool.get("description", ""))

    def parameters() -> None:
        tool["params"] = _parameters()

    def gate() -> None:
        found = prompts.ask_choice("Before it runs:", GATES)
        if found == "own":
            found = prompts.ask_text("The question, as in Archive note {note_id}?")
        tool["confirm"] = found

    def why() -> bool:
        if tool["behavior"] != "read":
            words = (
                "Why its hints are right, in a sentence (empty: one by its behavior):"
            )
            tool["why"] = prompts.ask_text(words, tool.get("why", ""))
        return bool(tool["behavior"] != "read")

    prompts.run_steps([name, behavior, title, description, parameters, gate, why])
    if tool["behavior"] == infer_from_name(tool["name"]):
        del tool["behavior"]
    return {key: value for key, value in tool.items() if value not in ("", [], None)}


def confirm_write() -> bool:
    """Whether they want what they were shown.

    Raises:
        KeyboardInterrupt: They left.
    """
    return prompts.ask_yes_no("Write it?")

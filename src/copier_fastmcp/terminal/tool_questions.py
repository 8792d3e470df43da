"""Questions about a new tool in a terminal; Esc returns to the previous question."""

import re
from collections.abc import Collection
from typing import Any

from ..errors import BackError
from ..tables import load_tables
from ..tools_answer import (
    NAME,
    infer_from_name,
    list_meanings,
    propose_behavior,
)
from . import prompts

LISTS = ["list[str]", "list[int]"]
WIRE_NAME = re.compile("([A-Za-z][A-Za-z0-9_.-]{0,63})?")
OWN_WORDS = "own"
GATES = [
    ("by the policy", "", None),
    ("ask, with a question from the title", "", True),
    ("ask in my words", "", OWN_WORDS),
]


def find_tool_name_mistake(name: str, names: Collection[str]) -> str:
    """Return the error in the name of a tool and its fix; empty for a valid name.

    Args:
        name: The name.
        names: The names of other tools.
    """
    if name in names:
        return f"{name!r} is another tool; write another name"
    if not NAME.fullmatch(name):
        return f"{name!r} is not a valid name; e.g. archive_note"
    return ""


class _ParameterQuestions:
    """The questions about one parameter; an empty name ends the list of parameters."""

    def __init__(self, names: Collection[str]) -> None:
        self.names = names
        self.parameter: dict[str, Any] = {}

    def _find_name_mistake(self, name: str) -> str:
        if name in self.names:
            return f"{name!r} is a parameter already; write another name"
        if not WIRE_NAME.fullmatch(name):
            return f"{name!r} is not a valid name; e.g. note_id"
        return ""

    def ask_name(self) -> None:
        question = "Name of a parameter (Enter: no more):"
        name = self.parameter.get("name", "")
        self.parameter["name"] = prompts.ask_text(
            question, name, self._find_name_mistake
        )

    def ask_type(self) -> bool:
        if not self.parameter["name"]:
            return False
        options = []
        for name in (*load_tables("language")["types"], *LISTS):
            options.append((name, "", name))
        self.parameter["type"] = prompts.ask_choice(
            "Its type:", options, self.parameter.get("type")
        )
        return True

    def ask_description(self) -> bool:
        if not self.parameter["name"]:
            return False
        description = self.parameter.get("description", "")
        self.parameter["description"] = prompts.ask_text(
            "Its description:", description, self._find_description_mistake
        )
        return True

    def ask_required(self) -> bool:
        if not self.parameter["name"]:
            return False
        if not prompts.ask_yes_no("Is it required?"):
            self.parameter["required"] = False
        return True

    def _find_description_mistake(self, text: str) -> str:
        return "" if text else "empty; write one sentence, for models"

    def ask(self) -> dict[str, Any]:
        """Return the parameter; empty if there are no more parameters.

        Raises:
            BackError: The user wants to return to the previous parameter.
        """
        prompts.run_steps(
            [self.ask_name, self.ask_type, self.ask_description, self.ask_required]
        )
        return self.parameter if self.parameter["name"] else {}


def _ask_parameters() -> list[dict[str, Any]]:
    parameters: list[dict[str, Any]] = []
    while True:
        names = [parameter["name"] for parameter in parameters]
        try:
            parameter = _ParameterQuestions(names).ask()
        except BackError:
            if not parameters:
                raise
            parameters.pop()
            continue
        if not parameter:
            return parameters
        parameters.append(parameter)


class _ToolQuestions:
    """The questions about one tool."""

    def __init__(self, names: Collection[str]) -> None:
        self.names = names
        self.tool: dict[str, Any] = {}

    def ask_name(self) -> None:
        self.tool["name"] = prompts.ask_text(
            "Name, with a verb first:",
            self.tool.get("name", ""),
            lambda name: find_tool_name_mistake(name, self.names),
        )

    def ask_behavior(self) -> None:
        name = self.tool["name"]
        proposal = infer_from_name(name) or propose_behavior(name)
        default = self.tool.get("behavior", proposal)
        behavior = prompts.ask_choice("What it does:", list_meanings(), default)
        self.tool["behavior"] = behavior
        self.tool["title"] = name.replace("_", " ").title()

    def ask_title(self) -> None:
        self.tool["title"] = prompts.ask_text("Title:", self.tool["title"])

    def ask_description(self) -> None:
        question = "Description, for models (Enter: from the title):"
        description = self.tool.get("description", "")
        self.tool["description"] = prompts.ask_text(question, description)

    def ask_parameters(self) -> None:
        self.tool["params"] = _ask_parameters()

    def ask_gate(self) -> None:
        confirm = prompts.ask_choice("Before it runs:", GATES)
        if confirm == OWN_WORDS:
            confirm = prompts.ask_text("The question, e.g. Archive note {note_id}?")
        self.tool["confirm"] = confirm

    def ask_reason(self) -> bool:
        if self.tool["behavior"] == "read":
            return False
        question = "Why its hints are right, in a sentence (Enter: by its behavior):"
        self.tool["why"] = prompts.ask_text(question, self.tool.get("why", ""))
        return True


def ask_tool(taken: Collection[str] = ()) -> dict[str, Any]:
    """Ask for a tool and return it as an entry of the answer `tools`.

    Args:
        taken: The names of other tools.

    Raises:
        BackError: The user went back from the first question.
        KeyboardInterrupt: The user left.
    """
    questions = _ToolQuestions(taken)
    prompts.run_steps(
        [
            questions.ask_name,
            questions.ask_behavior,
            questions.ask_title,
            questions.ask_description,
            questions.ask_parameters,
            questions.ask_gate,
            questions.ask_reason,
        ]
    )
    tool = questions.tool
    if tool["behavior"] == infer_from_name(tool["name"]):
        del tool["behavior"]
    return {key: value for key, value in tool.items() if value not in ("", [], None)}


def confirm_write() -> bool:
    """Ask whether to write what was shown.

    Raises:
        KeyboardInterrupt: The user left.
    """
    return prompts.ask_yes_no("Write it?")

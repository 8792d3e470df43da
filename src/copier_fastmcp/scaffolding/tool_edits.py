"""Edits of the table that `new` shows: a changed tool, or an added one."""

from collections.abc import Mapping
from typing import Any

from ..behaviors import build_declaration, build_policy
from ..terminal import prompts
from ..terminal.tool_questions import find_tool_name_mistake
from ..tools_answer import infer_behavior, list_meanings, parse_entries
from .tool_preview import find_name_mistake

Tool = dict[str, Any]

PROPERTIES = [
    ("its name", "", "name"),
    ("its behavior", "", "behavior"),
    ("its hints", "for an action", "hints"),
    ("its title", "", "title"),
    ("its description", "for models", "description"),
    ("its confirmation", "whether it asks a person before it runs", "confirm"),
    ("remove it", "", "out"),
]
GATES = [
    ("by the profile", "", "policy"),
    ("ask a person", "", "asked"),
    ("ask in your words", "", "own"),
    ("ask nobody", "with a reason", "nobody"),
]


def _find_empty(text: str) -> str:
    return "" if text else "empty; write some text, or press Esc"


def change_tool(tools: list[Tool], answers: Mapping[str, Any]) -> None:
    """Ask for a change of a tool in the list, and make it.

    Raises:
        BackError: The user wants no change.
    """
    options = [(str(tool["name"]), "", n) for n, tool in enumerate(tools)]
    index = prompts.ask_choice("Which tool?", options)
    tool = tools[index]
    properties = list(PROPERTIES)
    if infer_behavior(tool) != "action":
        properties = [option for option in PROPERTIES if option[2] != "hints"]
    choice = prompts.ask_choice(f"What should change in {tool['name']}?", properties)
    if choice == "out":
        if len(tools) == 1:
            prompts.print_mistake(
                "a server needs a tool; add another before you remove this one"
            )
            return
        del tools[index]
    elif choice == "name":
        names = {sibling["name"] for sibling in tools} - {tool["name"]}
        _rename(tool, names)
    elif choice == "behavior":
        _change_behavior(tool)
    elif choice == "hints":
        _change_hints(tool)
    elif choice == "confirm":
        _change_gate(tool, answers)
    else:
        text = str(tool.get(choice, ""))
        tool[choice] = prompts.ask_text(f"Its {choice}:", text, _find_empty)


def add_tool(tools: list[Tool], answers: Mapping[str, Any]) -> None:
    """Ask for a tool and add it to the list.

    Raises:
        BackError: The user wants no tool.
    """
    # Existing tools are checked before, so only the new names can be wrong.
    existing = ", ".join(f"{tool['name']}=put" for tool in tools)

    def find_mistake(text: str) -> str:
        return find_name_mistake(f"{existing}, {text}") if text else _find_empty(text)

    names = prompts.ask_text("Its name, e.g. shelve_note=put:", check=find_mistake)
    tools += parse_entries(names)


def _rename(tool: Tool, names: set[str]) -> None:
    """Ask for another name; the behavior of the tool stays."""
    behavior = infer_behavior(tool)
    tool["name"] = prompts.ask_text(
        "Its name:",
        str(tool["name"]),
        lambda name: find_tool_name_mistake(name, names),
    )
    if infer_behavior(tool) != behavior:
        tool["behavior"] = behavior


def _change_behavior(tool: Tool) -> None:
    behavior = infer_behavior(tool)
    choice = prompts.ask_choice("What does it do?", list_meanings(), behavior)
    if choice == behavior:
        return
    tool["behavior"] = choice
    for hint in ("destructive", "idempotent"):
        tool.pop(hint, None)
    if tool.get("http"):
        request = tool["http"].partition("?")[0]
        tool["why"] = f"{request}: said in the dialog (your choice)."


def _change_hints(tool: Tool) -> None:
    destructive = prompts.ask_yes_no(
        "Can it remove or overwrite data?", tool.get("destructive", True)
    )
    idempotent = prompts.ask_yes_no(
        "Does repeating the call change nothing further?", tool.get("idempotent", False)
    )
    tool["destructive"] = destructive
    tool["idempotent"] = idempotent


def _is_gated(tool: Tool, answers: Mapping[str, Any]) -> bool:
    return build_policy(answers).is_gated(build_declaration(tool))


def _change_gate(tool: Tool, answers: Mapping[str, Any]) -> None:
    gate = prompts.ask_choice("Before it runs:", GATES)
    exceptions = []
    for exception in tool.get("exceptions") or []:
        if exception.get("hint") != "confirm":
            exceptions.append(exception)
    changed = dict(tool)
    changed.pop("confirm", None)
    changed.pop("exceptions", None)
    if exceptions:
        changed["exceptions"] = exceptions
    if gate == "asked":
        changed["confirm"] = True
    elif gate == "own":
        question = "The question, e.g. Archive note {note_id}?"
        changed["confirm"] = prompts.ask_text(question, check=_find_empty)
    elif gate == "nobody" and _is_gated(changed, answers):
        question = "Why no confirmation is needed, in a sentence:"
        reason = prompts.ask_text(question, check=_find_empty)
        exception = {"hint": "confirm", "value": False, "why": reason}
        changed["confirm"] = False
        changed["exceptions"] = [*exceptions, exception]
    tool.clear()
    tool.update(changed)

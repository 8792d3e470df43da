"""A row of the table that `new` shows, changed; and a row more."""

from collections.abc import Mapping
from typing import Any

from ..behaviors import build_declaration, build_policy
from ..terminal import prompts
from ..tools_answer import NAME, infer_behavior, list_meanings, parse_entries
from .tool_preview import find_name_mistake

WHAT = [
    ("its name", "", "name"),
    ("its behavior", "", "behavior"),
    ("its hints", "where the behavior leaves them to the tool", "hints"),
    ("its title", "", "title"),
    ("its description", "what models read", "description"),
    ("who is asked", "whether a person is asked before it runs", "confirm"),
    ("leave it out", "", "out"),
]
GATES = [
    ("as the profile says", "", "policy"),
    ("a person is asked", "", "asked"),
    ("in your words", "a person is asked what you write", "own"),
    ("nobody is asked", "with the reason", "nobody"),
]


def _some(text: str) -> str:
    return "" if text else "it is empty; write something, or press Esc"


def change_tool(tools: list[dict[str, Any]], answers: Mapping[str, Any]) -> None:
    """Change a tool in the list.

    Raises:
        BackError: They want nothing changed.
    """
    at = prompts.ask_choice(
        "Which tool?", [(str(tool["name"]), "", n) for n, tool in enumerate(tools)]
    )
    tool = tools[at]
    listed = [
        one for one in WHAT if one[2] != "hints" or infer_behavior(tool) == "action"
    ]
    what = prompts.ask_choice(f"What should change in {tool['name']}?", listed)
    if what == "out":
        if len(tools) == 1:
            prompts.print_mistake("it is the only tool; a server needs one")
            return
        del tools[at]
    elif what == "name":
        others = {one["name"] for one in tools} - {tool["name"]}
        _rename(tool, others)
    elif what == "behavior":
        _behavior(tool)
    elif what == "hints":
        loses = prompts.ask_yes_no(
            "May it remove or overwrite something?", tool.get("destructive", True)
        )
        same = prompts.ask_yes_no(
            "Does the same call again change nothing more?",
            tool.get("idempotent", False),
        )
        tool |= {"destructive": loses, "idempotent": same}
    elif what == "confirm":
        _confirm(tool, answers)
    else:
        tool[what] = prompts.ask_text(f"Its {what}:", str(tool.get(what, "")), _some)


def add_tool(tools: list[dict[str, Any]], answers: Mapping[str, Any]) -> None:
    """Add a tool to the list.

    Raises:
        BackError: They want none.
    """
    known = ", ".join(f"{one['name']}=put" for one in tools)
    found = prompts.ask_text(
        "Its name, as in shelve_note=put:",
        check=lambda said: (
            find_name_mistake(f"{known}, {said}") if said else _some(said)
        ),
    )
    tools += parse_entries(found)


def _rename(tool: dict[str, Any], others: set[str]) -> None:
    """Another name; what the tool does stays."""

    def wrong(name: str) -> str:
        if name in others:
            return f"{name!r} is another tool; write a name that none has"
        fits = NAME.fullmatch(name)
        return (
            ""
            if fits
            else f"{name!r} is not a name for a tool; write it as archive_note"
        )

    behavior = infer_behavior(tool)
    tool["name"] = prompts.ask_text("Its name:", str(tool["name"]), wrong)
    if infer_behavior(tool) != behavior:
        tool["behavior"] = behavior


def _behavior(tool: dict[str, Any]) -> None:
    known = infer_behavior(tool)
    found = prompts.ask_choice("What does it do?", list_meanings(), known)
    if found == known:
        return
    tool["behavior"] = found
    for key in ("destructive", "idempotent"):
        tool.pop(key, None)
    if tool.get("http"):
        tool["why"] = (
            f"{tool['http'].partition('?')[0]}: said in the dialog (your choice)."
        )


def _confirm(tool: dict[str, Any], answers: Mapping[str, Any]) -> None:
    gate = prompts.ask_choice("Before it runs:", GATES)
    kept = [one for one in tool.get("exceptions") or [] if one.get("hint") != "confirm"]
    plain = {
        key: value
        for key, value in tool.items()
        if key not in ("confirm", "exceptions")
    }
    plain |= {"exceptions": kept} if kept else {}
    if gate == "asked":
        plain["confirm"] = True
    elif gate == "own":
        example = "The question, as in Archive note {note_id}?"
        plain["confirm"] = prompts.ask_text(example, check=_some)
    elif gate == "nobody" and build_policy(answers).is_gated(build_declaration(plain)):
        why = prompts.ask_text(
            "Why nobody has to be asked, in a sentence:", check=_some
        )
        plain["confirm"] = False
        plain["exceptions"] = [*kept, {"hint": "confirm", "value": False, "why": why}]
    tool.clear()
    tool |= plain

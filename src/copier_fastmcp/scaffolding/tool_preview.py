"""What answers come to, before anything is written: each tool with its hints, its gate and what says so."""

import re
from collections.abc import Mapping
from typing import Any

from copier_fastmcp_engine.policy import Policy

from ..behaviors import declaration_of, policy_of
from ..tables import tables
from ..terminal.text_tables import table
from ..tools_answer import NAME, behavior_of, entries, source_of

HEADS = ("Tool", "Behavior", "Hints", "Asks a person", "From")
NARROW = (
    "Tool",
    "Behavior",
    "read-\nonly",
    "destruc-\ntive",
    "idem-\npotent",
    "Asks a\nperson",
    "From",
)
HINTS = {
    "readOnly": "It changes nothing; clients may run it without asking.",
    "destructive": "It may overwrite or remove what was there; clients may ask first.",
    "idempotent": "The same call again changes nothing more.",
    "Asks": "The server itself asks a person, and does nothing without a yes.",
}


def hints_of(tool: Mapping[str, Any], policy: Policy) -> dict[str, bool]:
    """The hints that clients will see, but for openWorldHint, which its author alone says."""
    hints = policy.hints(declaration_of(tool))
    hints.pop(tables()["hints"]["open_world"], None)
    return hints


def asks(tool: Mapping[str, Any], policy: Policy) -> str:
    """Whether a person is asked before it runs, and whether the tool itself says so."""
    gated = policy.is_gated(declaration_of(tool))
    said = (
        " (said)"
        if tool.get("confirm") or (tool.get("confirm") is False and not gated)
        else ""
    )
    return f"{'yes' if gated else 'no'}{said}"


def rows(answers: Mapping[str, Any]) -> list[list[str]]:
    """The whole table."""
    policy, made = policy_of(answers), []
    for tool in entries(answers.get("tools")):
        name, behavior = str(tool.get("name")), behavior_of(tool)
        if behavior not in tables()["behaviors"]:
            made.append([name, behavior or "?", "?", "?", "?"])
            continue
        hints = hints_of(tool, policy).items()
        shown = " ".join(
            f"{of.removesuffix('Hint')}={'yes' if so else 'no'}" for of, so in hints
        )
        made.append(
            [name, behavior, shown or "none", asks(tool, policy), source_of(tool)]
        )
    return made


def show(answers: Mapping[str, Any]) -> None:
    """Print the whole table in a terminal: a line for each tool where there is room."""
    policy, lines = policy_of(answers), []
    tools = entries(answers.get("tools"))
    for tool, (name, behavior, _, gate, source) in zip(
        tools, rows(answers), strict=True
    ):
        known = hints_of(tool, policy) if behavior in tables()["behaviors"] else {}
        wire = [
            tables()["hints"][hint]
            for hint in ("read_only", "destructive", "idempotent")
        ]
        cells = [
            {True: "yes", False: "no", None: "-"}[known.get(hint)] for hint in wire
        ]
        short = re.sub("first word '.*'", "its name", source)
        lines.append([name, behavior, *cells, gate, short])
    table(NARROW, lines, ruled=False)


def wrong_names(text: str) -> str:
    """The first mistake in names typed with commas between, with its mend; empty without one.

    Names that leave their behavior unsaid are one mistake.
    """
    found = entries(text)
    if not found:
        return "name at least one tool, as in search_notes, get_note"
    seen, unsaid = set[str](), []
    for one in found:
        name, behavior = one["name"], one.get("behavior")
        if not NAME.fullmatch(name):
            joined = re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")
            hint = joined if NAME.fullmatch(joined) else "get_note"
            return f"{name!r} is not a good name; write it as {hint}, with commas between names"
        if name in seen:
            return f"{name!r} is named twice; take one out"
        if behavior is not None and behavior not in tables()["behaviors"]:
            return f"{behavior!r} is not a behavior; use one of {', '.join(tables()['behaviors'])}"
        if not behavior_of(one):
            unsaid.append(name)
        seen.add(name)
    if not unsaid:
        return ""
    first, whole = unsaid[0], " and ".join(unsaid)
    verbs = " and ".join(repr(name.split("_")[0]) for name in unsaid)
    say, do = ("say", "do") if len(unsaid) > 1 else ("says", "does")
    return f"{verbs} {say} nothing of what {whole} {do}; add it, as in {first}=put or {first}=action"

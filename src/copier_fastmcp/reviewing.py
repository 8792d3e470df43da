"""What answers come to, before anything is written: each tool with its hints, its gate and what says so."""

import re
from collections.abc import Mapping
from typing import Any

from .tables import tables

NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")
HEADS = ("Tool", "Behavior", "Hints", "Asks a person", "From")


def entries(tools: object) -> list[dict[str, Any]]:
    """The answer `tools` as mappings, whichever of its forms it has."""
    if isinstance(tools, str):
        tools = [part.strip() for part in re.split(r"[,\n]", tools) if part.strip()]
    listed = [tools] if isinstance(tools, Mapping) else tools if isinstance(tools, list) else []
    made: list[dict[str, Any]] = []
    for one in listed:
        if isinstance(one, Mapping):
            made.append(dict(one))
        else:
            name, _, behavior = str(one).partition("=")
            made.append(
                {"name": name.strip()} | ({"behavior": behavior.strip()} if behavior else {})
            )
    return made


def plain(tools: list[dict[str, Any]]) -> list[Any]:
    """Mappings as short as they can be said."""
    return [one["name"] if one.keys() == {"name"} else one for one in tools]


def behavior_of(tool: Mapping[str, Any]) -> tuple[str, str]:
    """A tool's behavior and what says so; empty where nothing does."""
    if said := tool.get("behavior"):
        why = str(tool.get("why") or "")
        found = re.search(
            r"\(((?:method|signal|two signals|asked|extension|your choice)[^()]*)\)\.$", why
        )
        return str(said), found[1] if found and tool.get("http") else "you"
    verb = str(tool.get("name", "")).split("_")[0]
    found_behavior = next((b for b, verbs in tables()["verbs"].items() if verb in verbs), "")
    names = [one.get("name") for one in tool.get("params") or [] if isinstance(one, Mapping)]
    if (
        found_behavior == "update"
        and "params" in tool
        and not set(tables()["versions"]) & set(names)
    ):
        return "put", f"first word {verb!r}, no version"
    return found_behavior, f"first word {verb!r}" if found_behavior else ""


def policy_of(answers: Mapping[str, Any]) -> dict[str, Any]:
    """The four answers that a profile stands for."""
    known: dict[str, Any] = dict(tables()["profiles"].get(answers.get("profile", "explicit"), {}))
    own = {
        key: answers[key]
        for key in ("hints", "destructive", "confirm", "confirm_fallback")
        if key in answers
    }
    default = tables()["profiles"]["explicit"]
    return known or {**default, **own}


def hints_of(tool: Mapping[str, Any], policy: Mapping[str, Any]) -> dict[str, bool]:
    """The hints that clients will see."""
    behavior, _ = behavior_of(tool)
    truth = tables()["behaviors"].get(behavior, {})
    wire = tables()["on_the_wire"].get(policy.get("hints"), {}).get(behavior, {})
    found = {}
    for hint in ("read_only", "destructive", "idempotent"):
        value = truth.get(hint)
        if value == "policy":
            value = policy.get("destructive") == "deletes_and_overwrites"
        elif value == "said":
            value = tool.get(hint, hint == "destructive")
        for exception in tool.get("exceptions") or []:
            if isinstance(exception, Mapping) and exception.get("hint") == hint:
                value = exception.get("value")
        when = wire.get(hint)
        if when == "always" or (when in ("true", "false") and value is (when == "true")):
            found[tables()["hints"][hint]] = bool(value)
    return found


def asks(tool: Mapping[str, Any], policy: Mapping[str, Any]) -> str:
    """Who is asked before it runs: what the policy says, or the tool itself."""
    said = tool.get("confirm")
    if said is False:
        return "nobody (said)"
    if said:
        return "yes (said)"
    behavior, _ = behavior_of(tool)
    gated = behavior in tables()["confirm"].get(policy.get("confirm"), [])
    harmless = (
        behavior == "action"
        and tool.get("destructive") is False
        and policy.get("confirm") != "writes"
    )
    return "yes" if gated and not harmless else "nobody"


def rows(answers: Mapping[str, Any]) -> list[list[str]]:
    """The whole table."""
    policy = policy_of(answers)
    made = []
    for tool in entries(answers.get("tools")):
        behavior, source = behavior_of(tool)
        shown = " ".join(
            f"{name.removesuffix('Hint')}={'yes' if value else 'no'}"
            for name, value in hints_of(tool, policy).items()
        )
        made.append(
            [
                str(tool.get("name")),
                behavior or "?",
                shown or "none",
                asks(tool, policy),
                source or "?",
            ]
        )
    return made


def wrong_names(text: str) -> str:
    """The first mistake in names typed with commas between, with its mend; empty without one."""
    found = entries(text)
    if not found:
        return "name at least one tool, as in search_notes, get_note"
    seen: set[str] = set()
    for one in found:
        name, behavior = one["name"], one.get("behavior")
        if not NAME.fullmatch(name):
            joined = re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")
            hint = joined if NAME.fullmatch(joined) else "get_note"
            return f"{name!r} is not a good name; write it as {hint}, with commas between names"
        if name in seen:
            return f"{name!r} is named twice; take one out"
        if behavior is not None and behavior not in tables()["behaviors"]:
            return f"{behavior!r} is no behavior; use one of {', '.join(tables()['behaviors'])}"
        if not behavior_of(one)[0]:
            verb = name.split("_")[0]
            return f"{verb!r} says nothing of what {name} does; add it, as in {name}=put or {name}=action"
        seen.add(name)
    return ""

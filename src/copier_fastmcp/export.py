"""`export`: what a directory asks for, from the pinned definitions of a project's tools."""

import json
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from cyclopts import Parameter

from .answers import ANSWERS, read
from .errors import UnableError
from .lock import FILE
from .locked import locked
from .tables import tables

HINTS = ("read_only", "open_world", "destructive")
Pinned = Mapping[str, Any]


def _policy() -> dict[str, Any]:
    """Which hints this project's profile puts on the wire, and what it calls destructive."""
    answers = read() if ANSWERS.exists() else {}
    profiles = tables()["profiles"]
    return {**profiles["explicit"], **answers, **profiles.get(answers.get("profile"), {})}


def _truth(pinned: Pinned, policy: Mapping[str, Any]) -> dict[str, bool]:
    """What a tool does, also where the profile leaves its hint out."""
    behavior = pinned["behavior"]
    meaning = {"open_world": True, **tables()["behaviors"][behavior]}
    written = tables()["on_the_wire"][policy["hints"]][behavior]
    exempt = {one["hint"]: one["value"] for one in pinned["exceptions"] if "value" in one}
    truth = {}
    for hint in HINTS:
        served = pinned["hints"].get(tables()["hints"][hint], exempt.get(hint))
        if served is not None:
            truth[hint] = served is True
        elif written[hint] in ("true", "false"):  # it is written only when it has this value
            truth[hint] = written[hint] == "false"
        elif meaning[hint] == "policy":
            truth[hint] = policy["destructive"] == "deletes_and_overwrites"
        else:
            truth[hint] = meaning[hint] is not False
    return truth


def _justification(pinned: Pinned, hint: str, truth: Mapping[str, bool]) -> str:
    """One sentence, true for the value that a hint has."""
    for exception in pinned["exceptions"]:
        if exception["hint"] == hint:
            return str(exception["why"])
    if hint == "open_world":
        own_data = "It works on this server's own data only."
        return "It may reach systems outside this server." if truth[hint] else own_data
    if truth["read_only"]:
        return "It changes nothing that its user can observe."
    loses = "may overwrite or remove what is there" if truth["destructive"] else "removes nothing"
    why = (pinned["why"] or "").strip() or f"its behavior is {pinned['behavior']}"
    why = why[0].lower() + why[1:] if why[1:2].islower() else why
    return f"It {'writes' if hint == 'read_only' else loses}: {why.removesuffix('.')}."


def _entry(pinned: Pinned, policy: Mapping[str, Any]) -> dict[str, Any]:
    truth = _truth(pinned, policy)
    annotations = {tables()["hints"][hint]: truth[hint] for hint in HINTS}
    reasons = {f"{hint}_justification": _justification(pinned, hint, truth) for hint in HINTS}
    return {"annotations": annotations, **reasons}


def export(
    directory: Literal["openai"],
    *,
    json_output: Annotated[bool, Parameter("--json")] = False,
) -> None:
    """Print a directory's annotations and their justification for each tool, as JSON.

    They come from annotations.lock.json, so pin first what you changed.

    Args:
        directory: The directory whose form to print.
        json_output: It is JSON with and without this option.

    Raises:
        UnableError: There is no lock here, or it does not hold what is needed.
    """
    try:
        policy, pinned = _policy(), locked()
        tools = {name: _entry(one, policy) for name, one in pinned.items() if one.get("behavior")}
    except (LookupError, TypeError, AttributeError) as error:
        raise UnableError(f"{FILE}: {error} is not as pinning writes it; pin anew") from error
    print(json.dumps({"tools": tools}, indent=2, ensure_ascii=False))

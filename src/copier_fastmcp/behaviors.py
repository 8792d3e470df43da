"""The policy that answers stand for, and what it makes of a tool in the answer `tools`.

The meaning itself is computed by the engine's `Policy`, as in a running server.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from copier_fastmcp_engine.policy import WIRE_NAMES, Behavior, Meaning, Policy

from .tables import load_tables
from .tools_answer import infer_behavior


@dataclass(frozen=True)
class AnsweredTool:
    """What an answer declares of a tool, as a `Declaration` has it; an action's hints have the protocol's defaults."""

    name: str
    behavior: Behavior
    exceptions: Sequence[Mapping[str, Any]] = ()
    confirm: bool | str | None = None
    open_world: bool = True
    destructive: bool = True
    idempotent: bool = False


def build_declaration(tool: Mapping[str, Any], behavior: str = "") -> Any:
    """Return what an entry of the answer `tools` declares.

    Args:
        tool: The entry.
        behavior: What the tool does; found as the template finds it when left out.
    """
    exceptions = []
    for row in tool.get("exceptions") or ():
        if isinstance(row, Mapping) and "hint" in row:
            exceptions.append({**row, "value": row.get("value") is True})
    hints = ("open_world", "destructive", "idempotent")
    declared_hints = {hint: tool[hint] is True for hint in hints if hint in tool}
    return AnsweredTool(
        name=str(tool.get("name")),
        behavior=cast("Behavior", behavior or infer_behavior(tool)),
        exceptions=exceptions,
        confirm=tool.get("confirm"),
        **declared_hints,
    )


def resolve_profile(
    answers: Mapping[str, Any], release: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Return the row that the answer `profile` names; where it names none, what is answered in its place.

    Args:
        answers: The answers of a project.
        release: The tables of another version of the template.
    """
    profiles: dict[str, dict[str, Any]] = (release or load_tables())["profiles"]
    default = profiles["explicit"]
    custom = {key: value for key, value in answers.items() if key in default}
    return {**default, **profiles.get(str(answers.get("profile", "explicit")), custom)}


def build_policy(
    answers: Mapping[str, Any], release: Mapping[str, Any] | None = None
) -> Policy:
    """Return the policy of a server with these answers.

    Args:
        answers: The answers of a project.
        release: The tables of another version of the template.
    """
    rules = release or load_tables()
    profile = resolve_profile(answers, rules)
    overwriting_destroys = profile["destructive"] == "deletes_and_overwrites"
    behaviors: dict[Behavior, Meaning] = {}
    for name, row in rules["behaviors"].items():
        truth = {}
        for hint in WIRE_NAMES:
            value = row.get(hint, "said")
            value = overwriting_destroys if value == "policy" else value
            truth[hint] = str(value).lower()
        on_the_wire = rules["on_the_wire"][profile["hints"]][name]
        behaviors[cast("Behavior", name)] = Meaning(
            truth=truth, on_the_wire=on_the_wire
        )
    finer: dict[str, list[dict[str, Any]]] = {}
    for row in rules["finer"]:
        exception = {"hint": row["hint"], "value": row["value"], "why": row["why"]}
        for tool in row["tools"]:
            finer.setdefault(f"{row['behavior']} {tool}", []).append(exception)
    return Policy(
        server_name=str(answers.get("server_name", "")),
        package=str(answers.get("package_name", "")),
        env_prefix="",
        behaviors=behaviors,
        finer=finer,
        destructive=profile["destructive"],
        confirm=profile["confirm"],
        confirm_fallback=profile["confirm_fallback"],
        preview_first=profile["preview_first"],
    )

"""The policy that answers stand for, and what it makes of a tool in the answer `tools`.

The meaning itself is computed by the engine's `Policy`, as in a running server.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from copier_fastmcp_engine.policy import WIRE_NAMES, Behavior, Hint, Meaning, Policy

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
        behavior: The behavior; inferred as the template infers it when left out.
    """
    exceptions: list[dict[str, Any]] = []
    for row in tool.get("exceptions") or ():
        if isinstance(row, Mapping) and "hint" in row:
            exceptions.append({**row, "value": row.get("value") is True})
    declared_hints: dict[str, bool] = {}
    for hint in ("open_world", "destructive", "idempotent"):
        if hint in tool:
            declared_hints[hint] = tool[hint] is True
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
    """Return the row that the answer `profile` names, or the profile that the answers spell out themselves.

    Args:
        answers: The answers of a project.
        release: The tables of another version of the template.
    """
    tables = release or load_tables()
    profiles: dict[str, dict[str, Any]] = tables["profiles"]
    profile = dict(profiles["explicit"])
    name = str(answers.get("profile", "explicit"))
    if name in profiles:
        profile.update(profiles[name])
        return profile
    for key in profile:
        if key in answers:
            profile[key] = answers[key]
    return profile


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
    wire_hints = rules["on_the_wire"][profile["hints"]]
    behaviors: dict[Behavior, Meaning] = {}
    for name, row in rules["behaviors"].items():
        truth = _build_truth(row, overwriting_destroys)
        behavior = cast("Behavior", name)
        behaviors[behavior] = Meaning(truth=truth, on_the_wire=wire_hints[name])
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


def _build_truth(
    behavior: Mapping[str, Any], overwriting_destroys: bool
) -> dict[Hint, str]:
    """Return what the tables say of each hint of a behavior."""
    truth: dict[Hint, str] = {}
    for hint in WIRE_NAMES:
        value = behavior.get(hint, "declared")
        if value == "policy":
            value = overwriting_destroys
        truth[hint] = str(value).lower()
    return truth

"""The tables of the tool language as the tests read them, and what follows from a name alone."""

import json
from typing import Any

from support import ROOT

Tool = dict[str, Any]
TABLES: dict[str, Any] = json.loads(
    (ROOT / "src/copier_fastmcp/tables.json").read_text(encoding="utf-8")
)
BEHAVIORS: list[str] = list(TABLES["behaviors"])
BEHAVIOR_OF: dict[str, str] = {
    v: b for b, verbs in TABLES["verbs"].items() for v in verbs
}
VERSIONS: set[str] = set(TABLES["versions"])
PROFILES: dict[str, dict[str, Any]] = TABLES["profiles"]
WIRE: dict[str, str] = TABLES["hints"]


def behavior(tool: Tool) -> str:
    """The behavior an author asked for, by word or by verb."""
    written = tool.get("behavior") or BEHAVIOR_OF[tool["name"].split("_")[0]]
    if written == "update" and "behavior" not in tool and "params" in tool:
        return (
            "update"
            if {param["name"] for param in tool["params"]} & VERSIONS
            else "put"
        )
    return str(written)


def policy_of(answers: dict[str, Any]) -> dict[str, Any]:
    """What a profile stands for, or what was answered in its place."""
    if answers["profile"] == "custom":
        return {key: answers[key] for key in ("hints", "destructive", "confirm")}
    return PROFILES[answers["profile"]]


def needs_a_reason(tool: Tool, confirm: str) -> bool:
    """Whether `confirm: false` on a tool has to say why, under the answer `confirm`."""
    kind = behavior(tool)
    harmless = (
        kind == "action" and tool.get("destructive") is False and confirm != "writes"
    )
    return kind in TABLES["confirm"][confirm] and not harmless

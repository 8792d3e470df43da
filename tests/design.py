"""The tables of the tool language, written out by hand: what the macros are held against."""

from typing import Any

Tool = dict[str, Any]

VERBS = {
    "read": "get list search find lookup fetch read show count check describe validate resolve ping",
    "create": "create add new insert",
    "ensure": "ensure",
    "append": "append",
    "update": "update edit modify patch rename",
    "put": "set put write replace assign unassign link unlink attach detach enable disable archive "
    "unarchive",
    "delete": "delete remove purge clear drop revoke cancel",
    "action": "send run start stop execute trigger",
}
BEHAVIOR_OF = {verb: behavior for behavior, verbs in VERBS.items() for verb in verbs.split()}
VERSIONS = {"etag", "version", "if_match", "revision"}
PROFILES = {
    "explicit": ("explicit", "deletes_and_overwrites", "deletes"),
    "end-state": ("end-state", "deletes", "none"),
    "narrow": ("narrow", "deletes_and_overwrites", "none"),
    "confirm-all": ("explicit", "deletes_and_overwrites", "writes"),
}
READ, LOSS, SAME, OPEN = "readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"
WIRE = {"read_only": READ, "destructive": LOSS, "idempotent": SAME, "open_world": OPEN}

# The sparse tables: a value, or what decides it; "true" is present only where it is true.
END_STATE: dict[str, dict[str, Any]] = {
    "read": {READ: True, OPEN: "said"},
    "create": {SAME: False, OPEN: "said"},
    "append": {SAME: False, OPEN: "said"},
    "ensure": {SAME: True, OPEN: "said"},
    "update": {SAME: False, OPEN: "said"},
    "put": {SAME: True, OPEN: "said"},
    "delete": {LOSS: True, SAME: True, OPEN: "said"},
    "action": {READ: False, LOSS: "true", SAME: "said", OPEN: "said"},
}
NARROW: dict[str, dict[str, Any]] = {
    "read": {READ: True, SAME: True},
    "create": {READ: False, SAME: False},
    "append": {READ: False, SAME: False},
    "ensure": {READ: False, SAME: True},
    "update": {READ: False, LOSS: "true", SAME: False},
    "put": {READ: False, LOSS: "true", SAME: True},
    "delete": {READ: False, LOSS: True, SAME: True},
    "action": {READ: False, LOSS: "true", SAME: "said"},
}


def behavior(tool: Tool) -> str:
    """The behavior an author asked for, by word or by verb."""
    said = tool.get("behavior") or BEHAVIOR_OF[tool["name"].split("_")[0]]
    if said == "update" and "behavior" not in tool and "params" in tool:
        return "update" if {p["name"] for p in tool["params"]} & VERSIONS else "put"
    return str(said)


def truth(tool: Tool, destructive: str) -> dict[str, bool]:
    """What is true of a tool, exceptions included, whether or not it is on the wire."""
    kind = behavior(tool)
    overwrites = destructive == "deletes_and_overwrites"
    found: dict[str, bool] = {
        READ: kind == "read",
        LOSS: {"update": overwrites, "put": overwrites, "delete": True}.get(kind, False),
        SAME: kind in {"read", "ensure", "put", "delete"},
        OPEN: tool.get("open_world", True),
    }
    if kind == "action":
        found |= {LOSS: tool.get("destructive", True), SAME: tool.get("idempotent", False)}
    for exception in tool.get("exceptions", []):
        if exception["hint"] != "confirm":
            found[WIRE[exception["hint"]]] = exception["value"]
    return found


def hints(tool: Tool, table: str, destructive: str) -> dict[str, bool]:
    """The hints on the wire; one that the table leaves out is there only by an exception."""
    true = truth(tool, destructive)
    if table == "explicit":
        return true
    row = {"end-state": END_STATE, "narrow": NARROW}[table][behavior(tool)]
    found = {h: true[h] for h, cell in row.items() if cell != "true" or true[h]}
    if table == "narrow" and not true[OPEN]:
        found[OPEN] = False
    excepted = {WIRE[e["hint"]] for e in tool.get("exceptions", []) if e["hint"] != "confirm"}
    return found | {h: true[h] for h in excepted}


def gate_wanted(tool: Tool, destructive: str, confirm: str) -> bool:
    """Whether the profile asks a person before a tool that says nothing itself."""
    kind, true = behavior(tool), truth(tool, destructive)
    if confirm == "none" or true[READ]:
        return False
    return {
        "deletes": kind == "delete" or (kind == "action" and true[LOSS]),
        "destructive": true[LOSS],
        "writes": kind != "read",
    }[confirm]


def gated(tool: Tool, destructive: str, confirm: str) -> bool:
    """Whether a person is asked before a tool."""
    said = tool.get("confirm")
    return gate_wanted(tool, destructive, confirm) if said is None else said is not False


def doubted(tool: Tool, table: str, destructive: str) -> dict[str, bool]:
    """The hints that the name of a tool belies, so that they need an exception with its reason."""
    wire, true = hints(tool, table, destructive), truth(tool, destructive)
    verb = next((word for word in tool["name"].split("_")[:3] if word in BEHAVIOR_OF), "")
    kind = BEHAVIOR_OF.get(verb, "")
    said = {param["name"] for param in tool.get("params", [])}
    versioned = bool(said & VERSIONS) or ("params" not in tool and behavior(tool) == "update")
    replaces = verb in {"set", "put", "replace"}
    writes = not true[READ]
    overwrites = replaces or kind == "update" or verb == "write"
    found = {
        "read_only": kind == "read" if writes else kind not in ("", "read"),
        "idempotent": writes
        and (kind == "update" and versioned if true[SAME] else replaces and not versioned),
        "destructive": writes
        and not true[LOSS]
        and (kind == "delete" or (overwrites and destructive == "deletes_and_overwrites")),
    }
    known = {exception["hint"] for exception in tool.get("exceptions", [])}
    return {
        hint: true[WIRE[hint]]
        for hint, wrong in found.items()
        if wrong and WIRE[hint] in wire and hint not in known
    }

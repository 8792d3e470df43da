"""The profile of this server: what each behavior means here, and which tools ask first.

Managed by the template, which renders it from its own tables; docs/adr/policy gives the reasons.
"""

from typing import Any, Literal

Behavior = Literal["read", "create", "ensure", "append", "update", "put", "delete", "action"]
Hint = Literal["read_only", "destructive", "idempotent", "open_world"]

WIRE_NAMES: dict[Hint, str] = {
    "read_only": "readOnlyHint",
    "destructive": "destructiveHint",
    "idempotent": "idempotentHint",
    "open_world": "openWorldHint",
}


# What each behavior promises; a hint that is not here is each tool's own to say.
BEHAVIORS: dict[Behavior, dict[Hint, bool]] = {
    "read": {"read_only": True, "destructive": False, "idempotent": True},
    "create": {"read_only": False, "destructive": False, "idempotent": False},
    "ensure": {"read_only": False, "destructive": False, "idempotent": True},
    "append": {"read_only": False, "destructive": False, "idempotent": False},
    "update": {"read_only": False, "destructive": True, "idempotent": False},
    "put": {"read_only": False, "destructive": True, "idempotent": True},
    "delete": {"read_only": False, "destructive": True, "idempotent": True},
    "action": {"read_only": False},
}
# Finer than a behavior: hints of tools by the first word of their name, or the whole of it.
FINER: dict[str, list[dict[str, Any]]] = {}
# When each hint is on the wire, in the order of WIRE_NAMES; "true" and "false": only with that value.
ON_THE_WIRE: dict[Behavior, str] = {
    "read": "always always always always",
    "create": "always always always always",
    "ensure": "always always always always",
    "append": "always always always always",
    "update": "always always always always",
    "put": "always always always always",
    "delete": "always always always always",
    "action": "always always always always",
}
DESTRUCTIVE = "deletes_and_overwrites"
CONFIRM: Literal["none", "deletes", "destructive", "writes"] = "deletes"
CONFIRM_FALLBACK: Literal["two_step", "page", "refuse"] = "two_step"
PREVIEW_FIRST = False

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
# What each behavior promises, and when each hint is on the wire ("true", "false": only with that value), in the
# order of WIRE_NAMES; what is "said" is each tool's own to say.
BEHAVIORS: dict[Behavior, tuple[str, str]] = {
    "read": ("true false true said", "always always always always"),
    "create": ("false false false said", "always always always always"),
    "ensure": ("false false true said", "always always always always"),
    "append": ("false false false said", "always always always always"),
    "update": ("false true false said", "always always always always"),
    "put": ("false true true said", "always always always always"),
    "delete": ("false true true said", "always always always always"),
    "action": ("false said said said", "always always always always"),
}
# Finer than a behavior: hints of tools by the first word of their name, or the whole of it.
FINER: dict[str, list[dict[str, Any]]] = {}
DESTRUCTIVE = "deletes_and_overwrites"
CONFIRM: Literal["none", "deletes", "destructive", "writes"] = "deletes"
CONFIRM_FALLBACK: Literal["two_step", "page", "refuse"] = "two_step"
PREVIEW_FIRST = False

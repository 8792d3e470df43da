"""The profile of this server: what each behavior means here, and which tools ask first.

Managed by the template, which renders it from its own tables; docs/adr/policy gives the reasons.
"""

from typing import Any

SERVER_NAME = "nextcloud-login-mcp"
ENV_PREFIX = "NEXTCLOUD_LOGIN_MCP_"
# For each behavior, in the order readOnlyHint, destructiveHint, idempotentHint, openWorldHint:
# the truth of each hint ("declared": by the tool's own declaration), and when it is on the wire ("true", "false": only with
# that value).
BEHAVIORS = {
    "read": ("true false true declared", "always always always always"),
    "create": ("false false false declared", "always always always always"),
    "ensure": ("false false true declared", "always always always always"),
    "append": ("false false false declared", "always always always always"),
    "update": ("false true false declared", "always always always always"),
    "put": ("false true true declared", "always always always always"),
    "delete": ("false true true declared", "always always always always"),
    "action": ("false declared declared declared", "always always always always"),
}
# Finer than a behavior: hints of tools by the first word of their name, or the whole of it.
FINER: dict[str, list[dict[str, Any]]] = {}
DESTRUCTIVE = "deletes_and_overwrites"
CONFIRM = "deletes"
CONFIRM_FALLBACK = "two_step"
PREVIEW_FIRST = False
DOMAIN = "nextcloud"
DOMAIN_TITLE = "Nextcloud"

"""What this server's code imports of its policy: the decorators, and the questions that a body asks itself.

Managed by the template, and the one file that names the engine. Your own code goes next to this folder, never into it.
"""

from typing import TYPE_CHECKING

from ..engine.facade import check_api, lazy_names
from ..engine.policy import Policy
from . import profile

if TYPE_CHECKING:
    from ..engine.cli import run_cli
    from ..engine.confirmation.envelope import ConfirmationResult, ConfirmationSchema
    from ..engine.confirmation.gate import require_confirmation
    from ..engine.confirmation.questions import ask
    from ..engine.consent.elicitation import Granted, granted_token, requires_consent
    from ..engine.consent.settings import ConsentSettings
    from ..engine.declarations import (
        action,
        append,
        create,
        declare,
        delete,
        ensure,
        put,
        read,
        update,
    )
    from ..engine.registry import prompt, resource
    from ..engine.server import build_server, shipped_settings
    from ..engine.settings import DatabaseSettings, PageSettings, settings_config

POLICY = Policy.from_profile(profile)
check_api(POLICY, 1)
if not TYPE_CHECKING:
    __getattr__ = lazy_names(POLICY)

__all__ = [
    "POLICY",
    "ConfirmationResult",
    "ConfirmationSchema",
    "ConsentSettings",
    "DatabaseSettings",
    "Granted",
    "PageSettings",
    "action",
    "append",
    "ask",
    "build_server",
    "create",
    "declare",
    "delete",
    "ensure",
    "granted_token",
    "prompt",
    "put",
    "read",
    "require_confirmation",
    "requires_consent",
    "resource",
    "run_cli",
    "settings_config",
    "shipped_settings",
    "update",
]

"""What a project's `policy/__init__.py` offers, imported on first use: `--help` needs the policy, and no FastMCP."""

import importlib
from collections.abc import Callable
from typing import Any

from .errors import StartError
from .policy import API, Policy
from .project import Project

# The modules of the names that a project imports from its `policy`
NAMES = {
    "AuditLog": "audit_log",
    "ConfirmationResult": "confirmation.envelope",
    "ConfirmationSchema": "confirmation.envelope",
    "ask": "confirmation.questions",
    "require_confirmation": "confirmation.gate",
    "action": "declarations",
    "append": "declarations",
    "create": "declarations",
    "declare": "declarations",
    "delete": "declarations",
    "ensure": "declarations",
    "put": "declarations",
    "read": "declarations",
    "update": "declarations",
    "prompt": "registry",
    "resource": "registry",
    "tool": "existing_server",
    "govern": "existing_server",
    "build_server": "server",
    "shipped_settings": "server",
    "run_cli": "cli",
    "ApiClient": "api.client",
    "ApiItem": "api.results",
    "ApiResponse": "api.responses",
    "ApiResult": "api.results",
    "ApiSettings": "api.settings",
    "Upload": "api.encoding",
    "given": "api.encoding",
    "quoted": "api.encoding",
    "DatabaseSettings": "settings",
    "PageSettings": "settings",
    "settings_config": "settings",
    "ConsentSettings": "consent.settings",
    "Granted": "consent.elicitation",
    "granted_token": "consent.elicitation",
    "requires_consent": "consent.elicitation",
}
# Commands that are made for one project, by the name under which its command line finds them
COMMANDS = {"metadata_app": "metadata.commands", "consent_app": "consent.commands"}


def check_api(policy: Policy, required: int) -> None:
    """Raise StartError where a project's files were written for another engine."""
    if required != API:
        problem = f"{policy.package}/policy is written for engine API {required}, this engine has {API}"
        raise StartError(
            f"{problem}; run `copier update`, and `uv sync` if the engine is a package"
        )


def lazy_names(policy: Policy) -> Callable[[str], Any]:
    """Return the module-level `__getattr__` of a project's `policy` package.

    Args:
        policy: The project's policy, which its commands get.
    """
    engine = str(__package__)

    def load(name: str) -> Any:
        if name in COMMANDS:
            return importlib.import_module(f"{engine}.{COMMANDS[name]}").make_app(
                Project(policy)
            )
        if name not in NAMES:
            raise AttributeError(
                f"module '{policy.package}.policy' has no attribute {name!r}"
            )
        return getattr(importlib.import_module(f"{engine}.{NAMES[name]}"), name)

    return load

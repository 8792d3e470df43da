"""The project whose server the suite proves: its policy, its pinned settings, its server, its backend.

Nothing of the project is imported before it is asked for: pytest loads the suite before it measures coverage.
"""

import asyncio
import importlib
import time
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from .backend import Backend

if TYPE_CHECKING:
    from ..policy import Policy

SUBJECT = "suite"  # whose consent every probed call has
# What is pinned depends on no file and no policy setting of the user who runs it: by the names of settings
PINNED_SETTINGS = {
    "api": "http://fake.invalid",
    "database": ":memory:",
    "metadata": Path("none"),
    "search": False,
    "browser": "never",
    "enable_offline_access": True,
    "consent_database": ":memory:",
    "oidc_issuer": "https://example.com",
    "oidc_client_id": SUBJECT,
}


class ProjectUnderTest:
    """A project from the template; `ExistingServer` is one that was adopted."""

    is_existing = False

    def __init__(self, root: Path, policy_package: str) -> None:
        """Take where the project is.

        Args:
            root: Its folder.
            policy_package: The dotted name of its policy, as in notes_mcp.policy.
        """
        self.root = root
        self.policy_package = policy_package
        self.package = policy_package.rpartition(".")[0]
        self.probes = root / "tests/tools"
        self.probe_package = "tests.tools"

    def load(self, module: str) -> Any:
        """Import a module of the project's package."""
        return importlib.import_module(f"{self.package}.{module}")

    def engine(self, module: str) -> Any:
        """Import a module of the engine that the project runs on."""
        engine = type(self.policy).__module__.rpartition(".")[0]
        return importlib.import_module(f"{engine}.{module}")

    @cached_property
    def policy(self) -> "Policy":
        """The project's policy."""
        policy: Policy = importlib.import_module(self.policy_package).POLICY
        return policy

    @cached_property
    def source(self) -> Path:
        """The folder of its own code."""
        path = importlib.import_module(self.policy_package).__file__
        return Path(str(path)).parents[1]

    def settings_class(self) -> Any:
        """Return the class of the server's settings."""
        return self.load("settings").Settings

    def policy_settings(self) -> Any:
        """Return the class of the settings that the policy itself reads."""
        return importlib.import_module(f"{self.policy_package}.settings").PolicySettings

    @cached_property
    def pinned_values(self) -> dict[str, Any]:
        """What the settings are pinned to, where that is not their default."""
        fields = self.policy_settings().model_fields
        return {
            name: value for name, value in PINNED_SETTINGS.items() if name in fields
        }

    @cached_property
    def settings(self) -> Any:
        """The settings of every server that the suite makes."""
        values = {}
        for name, field in self.policy_settings().model_fields.items():
            values[name] = field.get_default(call_default_factory=True)
        return self.settings_class()(**values | self.pinned_values)

    def create_server(self, settings: Any = None) -> Any:
        """Return the server; StartError: it does not start."""
        return self.load("server").create_server(settings or self.settings)

    def create_empty_server(self) -> Any:
        """Return a server to which a test adds tools."""
        return self.create_server()

    def grant_access(self, server: Any) -> None:
        """Let every tool be called that needs consent, where the policy has it."""
        if not self.policy.has_consent:
            return
        flow, store = self.engine("consent.flow"), self.engine("consent.store")
        now = time.time()
        grant = store.Grant(
            subject=SUBJECT, access_token="-", expires_at=now + 86_400, granted_at=now
        )
        asyncio.run(flow.consent_of(server).keep(flow.LOCAL, grant))

    def connect(self) -> Backend:
        """Return a fresh backend, which the server's tools use from now on."""
        if "api" in self.pinned_values:
            from .fake import connect

            return connect(self)
        return Backend(self.load("backend").connect(self.settings))

    def load_backend(self) -> ModuleType | None:
        """Return the author's module that holds the data, None where there is none."""
        module: ModuleType = self.load("backend")
        return module

    def is_own(self, tool: Any) -> bool:
        """Tell whether a served tool is declared by the project, and not by the engine."""
        return tool is not None and isinstance(tool, self.engine("tools").PolicyTool)

    def needs_proof(self, tool: Any) -> bool:
        """Tell whether a served tool is declared here: by a tool file, or by name for a mounted server or an API.

        A tool that another server of the template declares is proven there.
        """
        if self.is_own(tool):
            return True
        source = getattr(tool, "guarded_source", None)
        is_declared = getattr(tool, "declaration", None) is not None
        return is_declared and getattr(source, "declaration", None) is None


def is_start_error(error: BaseException) -> bool:
    """Tell whether an error is the engine's StartError, whichever copy of the engine raised it."""
    return any(kind.__name__ == "StartError" for kind in type(error).__mro__)

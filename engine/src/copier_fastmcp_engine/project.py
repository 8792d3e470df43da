"""The parts of a project that its commands import when they need them, so that `--help` loads none."""

import importlib
import importlib.util
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .policy import Policy


def package_folder(package: str) -> Path:
    """Return the folder of a package, without running its code."""
    spec = importlib.util.find_spec(package)
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError(f"No module named {package!r}", name=package)
    return Path(spec.origin).parent


@dataclass(frozen=True)
class Project:
    """A project by its policy: the modules of its package have fixed names."""

    policy: Policy

    def load(self, module: str) -> Any:
        """Import a module of the project's package."""
        return importlib.import_module(f"{self.policy.package}.{module}")

    def settings(self, **values: Any) -> Any:
        """Return the project's settings, from the environment and these values."""
        return self.load("settings").Settings(**values)

    def create_server(self, settings: Any = None) -> Any:
        """Return the project's server."""
        return self.load("server").create_server(settings)

    def shipped_server(self) -> Any:
        """Return the project's server without its user's own texts."""
        return self.load("server").shipped_server()

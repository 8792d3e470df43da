"""A server that was there before its policy, as its author's code makes it."""

import importlib
import importlib.util
from pathlib import Path
from types import ModuleType
from typing import Any

from .backend import Backend
from .project import ProjectUnderTest

# Findings about texts and schemas that an adoption does not change; a hint or a gate that is wrong fails
FOUND_BEFORE = {
    "description-present",
    "input-closed",
    "name-valid",
    "one-action",
    "output-described",
    "parameters-described",
    "parameters-typed",
    "text-clean",
    "title-not-name",
    "verb-reads",
    "words-match-behavior",
}


class ExistingServer(ProjectUnderTest):
    """An adopted server; `tests/tools/backend.py` may make it, and holds its data."""

    is_existing = True

    def __init__(self, root: Path, policy_package: str, location: str) -> None:
        """Take where the project is.

        Args:
            root: Its folder.
            policy_package: The dotted name of its policy.
            location: `module:name` of the server or of what makes it; may be empty.
        """
        super().__init__(root, policy_package)
        self.location = location
        self.author_file = self.probes / "backend.py"

    def settings_class(self) -> Any:
        return self.policy_settings()

    def create_server(self, settings: Any = None) -> Any:
        """Return the author's server, governed; what `server()` in tests/tools/backend.py returns, if that is there.

        Raises:
            StartError: Nothing says how it is made, or it has no tools.
        """
        start_error = self.engine("errors").StartError
        name = self.author_file.name
        remedy = f"write `def server()` in {name} of tests/tools, which registers them and returns it"
        server = self.engine("existing_server").govern(
            self._make(start_error, remedy), settings or self.settings
        )
        self.engine("guard").guard_of(server).check()
        tools = self.engine("tools").run_now(
            server.list_tools(run_middleware=False), server
        )
        if not tools:
            raise start_error(
                f"no tool is registered when {self.location} is made; {remedy}"
            )
        return server

    def _make(self, start_error: type[Exception], remedy: str) -> Any:
        from fastmcp import FastMCP

        server: Any = getattr(self._load_author_module(), "server", None)
        module, _, name = self.location.partition(":")
        if server is None and not module:
            raise start_error(f"the server's factory is unknown; {remedy}")
        if server is None:
            server = importlib.import_module(module)
            for part in name.split("."):
                server = getattr(server, part)
        while not isinstance(server, FastMCP):
            server = getattr(server, "mcp", None) or server()
        return server

    def create_empty_server(self) -> Any:
        from fastmcp import FastMCP

        return self.engine("existing_server").govern(FastMCP("empty"), self.settings)

    def connect(self) -> Backend:
        return Backend(self._load_author_module().connect(self.settings))

    def load_backend(self) -> ModuleType | None:
        module: ModuleType = self._load_author_module()
        return module

    def is_own(self, tool: Any) -> bool:
        return bool(getattr(tool, "declaration", None))

    def _load_author_module(self) -> Any:
        """Import tests/tools/backend.py anew; an empty module where it is not there."""
        spec = importlib.util.spec_from_file_location("backend", self.author_file)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        if self.author_file.exists():
            spec.loader.exec_module(module)
        return module

"""The server, put together from settings, tools, middleware and your `extend.py`.

Managed by the template: add to it through extend.py, settings.py, tools/ and resources/.
"""

import json
import logging
import secrets
import time
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from fastmcp import FastMCP
from fastmcp.server.middleware import CallNext, Middleware, MiddlewareContext
from fastmcp.tools import ToolResult
from fastmcp.tools.base import InputRequiredToolResult
from mcp.server.request_state import RequestStateSecurity
from mcp_types import CallToolRequestParams

from . import extend as seam
from . import tools
from .backend import connect
from .policy import metadata, registry
from .policy.pending import Gate
from .settings import Settings

logger = logging.getLogger(__name__)
NAME = "notes-mcp"


class CallLog(Middleware):
    """One line for each tool call: tool, behavior, outcome, milliseconds; never an argument's value."""

    def __init__(self, behaviors: Mapping[str, str]) -> None:
        self.behaviors = behaviors

    async def on_call_tool(
        self,
        context: MiddlewareContext[CallToolRequestParams],
        call_next: CallNext[CallToolRequestParams, ToolResult],
    ) -> ToolResult:
        """Time the call."""
        tool, started, outcome = context.message.name, time.perf_counter(), "error"
        try:
            result = await call_next(context)
            asked = isinstance(result, InputRequiredToolResult)
            outcome = "asked" if asked else "error" if result.is_error else "ok"
        finally:
            entry = {
                "event": "tool_call",
                "tool": tool,
                "behavior": self.behaviors.get(tool, "unknown"),
                "outcome": outcome,
                "ms": round((time.perf_counter() - started) * 1000, 1),
            }
            logger.info(json.dumps(entry))
        return result


def _version() -> str | None:
    """The version of this package; none in a checkout that is not installed."""
    try:
        return version(NAME)
    except PackageNotFoundError:
        return None


def create_server(settings: Settings | None = None, *, read_only: bool = False) -> FastMCP:
    """Build the server: settings, registry, middleware, extend(), metadata over all of it.

    Args:
        settings: Where data and pending questions live; read from the environment when left out.
        read_only: Serve only the tools whose hint says that they change nothing.

    Raises:
        StartError: A tool, resource or metadata file cannot be served; one line says which and why.
    """
    settings = settings or Settings()
    connect(settings)
    keys, seconds = settings.state_keys, settings.confirm_seconds
    try:
        gate = Gate(settings.state, seconds)
        sealed = RequestStateSecurity(keys=keys or [secrets.token_bytes(32)], ttl=seconds)
    except (ImportError, OSError, ValueError) as error:
        raise registry.StartError(f"settings state and state_keys: {error}") from error
    found = registry.load_tools(tools)
    mcp = FastMCP(
        NAME,
        version=_version(),
        instructions="Search and change notes.",
        lifespan=seam.lifespan,
        middleware=[CallLog({tool.name: tool.declaration.behavior for tool in found})],
        on_duplicate="error",
        request_state_security=sealed,
    )
    gate.guard(mcp)
    for tool in found:
        mcp.add_tool(tool)
    seam.extend(mcp)
    registry.refuse_undeclared(mcp)
    metadata.override(mcp, settings.metadata)
    if read_only:
        mcp.add_transform(registry.ReadOnly())
    return mcp


def shipped_server() -> FastMCP:
    """The server without its user's own texts: what tables, locks and exports are written from."""
    return create_server(Settings(metadata=Path("none")))

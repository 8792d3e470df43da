"""The server, put together from settings, tools, middleware and your `extend.py`.

Managed by the template: add to it through extend.py, settings.py, tools/ and resources/.
"""

import json
import logging
import time
from collections.abc import Mapping

from fastmcp import FastMCP
from fastmcp.server.middleware import CallNext, Middleware, MiddlewareContext
from fastmcp.tools import ToolResult
from mcp.server.request_state import RequestStateSecurity
from mcp_types import CallToolRequestParams

from . import extend as seam
from . import resources, tools
from .backend import connect
from .policy import confirmation, registry
from .settings import Settings

logger = logging.getLogger(__name__)
NAME = "statuspro-mcp"


class CallLog(Middleware):
    """One line for each tool call: tool, behavior, outcome, milliseconds; never an argument's value."""

    def __init__(self, behaviors: Mapping[str, str]) -> None:
        self.behaviors = behaviors

    async def on_call_tool(
        self,
        context: MiddlewareContext[CallToolRequestParams],
        call_next: CallNext[CallToolRequestParams, ToolResult],
    ) -> ToolResult:
        """Time the call, and hand on a question that its body asked."""
        tool, started, outcome = context.message.name, time.perf_counter(), "error"
        try:
            result = await call_next(context)
            outcome = "error" if result.is_error else "ok"
        except Exception as error:
            asked = confirmation.answer_of(error)
            if asked is None:
                raise
            outcome, result = "asked", asked
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


def create_server(settings: Settings | None = None, *, read_only: bool = False) -> FastMCP:
    """Build the server: settings, registry, middleware, extend(), in that order.

    Args:
        settings: Where data and pending questions live; read from the environment when left out.
        read_only: Serve only the tools whose hint says that they change nothing.

    Raises:
        StartError: A tool or resource file cannot be served; one line says which and why.
    """
    settings = settings or Settings()
    connect(settings)
    confirmation.open_gate(settings.state, settings.confirm_seconds)
    found = registry.load_tools(tools)
    keys = settings.state_keys
    mcp = FastMCP(
        NAME,
        instructions="Read orders, and change their status, comments and due dates.",
        lifespan=seam.lifespan,
        middleware=[CallLog({tool.name: tool.declaration.behavior for tool in found})],
        on_duplicate="error",
        request_state_security=RequestStateSecurity(keys=keys, ttl=settings.confirm_seconds)
        if keys
        else RequestStateSecurity.ephemeral(ttl=settings.confirm_seconds),
    )
    for tool in found:
        mcp.add_tool(tool)
    registry.add_resources(mcp, resources)
    seam.extend(mcp)
    registry.refuse_undeclared(mcp)
    if read_only:
        mcp.add_transform(registry.ReadOnly())
    return mcp

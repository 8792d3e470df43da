"""The server, put together from settings, tools, middleware and your `extend.py`.

Managed by the template: add to it through extend.py, settings.py, tools/ and resources/.
"""

import contextlib
import json
import logging
import secrets
import time
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from fastmcp.server.middleware import CallNext, Middleware, MiddlewareContext
from fastmcp.tools import ToolResult
from fastmcp.tools.base import InputRequiredToolResult
from mcp.server.request_state import RequestStateSecurity
from mcp_types import CallToolRequestParams

from . import extend as seam
from .backend import connect
from .policy import consent_tools, loading, metadata, tokens
from .policy.asking import Gate
from .policy.consent_flow import Consent
from .policy.consent_serving import ConsentMiddleware, ConsentServer
from .policy.declarations import ELSEWHERE
from .policy.errors import StartError
from .policy.guarding import PolicyServer
from .policy.process import because, place
from .policy.public import PublicFront
from .policy.serving import PolicyTool
from .policy.trail import Trail
from .settings import Settings

logger = logging.getLogger(__name__)
Call = MiddlewareContext[CallToolRequestParams]
Next = CallNext[CallToolRequestParams, ToolResult]
NAME = "nextcloud-login-mcp"
VERSION: str | None = None
with contextlib.suppress(PackageNotFoundError):  # in a checkout that is not installed
    VERSION = version(NAME)


class CallLog(Middleware):
    """One line for each tool call: tool, behavior, outcome, milliseconds; never an argument's value.

    A call of a deprecated tool, or by a name that a tool had, is a warning, and says what to use.
    """

    def __init__(self, tools: Iterable[PolicyTool]) -> None:
        self.known = {tool.name: tool.declaration for tool in tools}

    async def on_call_tool(self, context: Call, call_next: Next) -> ToolResult:
        """Time the call."""
        tool, started, outcome = context.message.name, time.perf_counter(), "error"
        try:
            result = await call_next(context)
            asked = isinstance(result, InputRequiredToolResult)
            outcome = "asked" if asked else "error" if result.is_error else "ok"
        finally:
            ms = round((time.perf_counter() - started) * 1000, 1)
            ctx = context.fastmcp_context
            now = getattr(ctx and ctx.fastmcp, "formerly", {}).get(tool, tool)
            known = self.known.get(now) or ELSEWHERE.get(now)
            entry = {"tool": tool, "behavior": known.behavior if known else "unknown", "ms": ms}
            use = (known and known.deprecated) or (now if now != tool else None)
            entry |= {"deprecated": use} if use else {}
            level = logging.WARNING if use else logging.INFO
            logger.log(level, json.dumps({"event": "tool_call", "outcome": outcome, **entry}))
        return result


def create_server(settings: Settings | None = None) -> PolicyServer:
    """Build the server: settings, tools, middleware, extend(), metadata over all of it.

    Settings are read from the environment when left out.
    A StartError names in one line the tool, resource, setting or file that cannot be served.
    """
    settings = settings or Settings()
    try:
        connect(settings)
    except Exception as error:
        why = because(error, settings.database)
        setting = "NEXTCLOUD_LOGIN_MCP_DATABASE"
        why += f"; see {setting} ({place(settings.database)!r})"
        raise StartError(f"backend.py: connect: {why}") from error
    keys, seconds = settings.state_keys, settings.confirm_seconds
    try:
        gate = Gate(settings.state, seconds, Trail(settings.audit, keys))
        sealed = RequestStateSecurity(keys=keys or [secrets.token_bytes(32)], ttl=seconds)
    except (ImportError, OSError, ValueError, RuntimeError) as error:
        raise StartError(f"settings state and state_keys: {error}") from error
    try:
        consent = Consent(settings)
    except (ImportError, OSError, ValueError) as error:
        raise StartError(str(error)) from error
    granting = [consent_tools] if consent.mode == "offline" else []
    loaded = loading.load_tools(f"{__package__}.tools", *granting)
    mcp = ConsentServer(
        NAME,
        front=PublicFront if settings.public else None,
        version=VERSION,
        instructions="Search and change the notes of a Nextcloud account.",
        lifespan=seam.lifespan,
        middleware=[CallLog(loaded)],
        on_duplicate="error",
        request_state_security=sealed,
        auth=tokens.verifier(settings, {s for tool in loaded for s in tool.declaration.scopes}),
    )
    mcp.govern(gate, settings)
    consent.serve(mcp)
    mcp.add_middleware(ConsentMiddleware())
    for tool in loaded:
        mcp.add_tool(tool)
    loading.add_resources(mcp, f"{__package__}.resources")
    seam.extend(mcp)
    mcp.check()
    metadata.override(mcp, settings.metadata)
    return mcp


def shipped_server() -> PolicyServer:
    """The server without its user's own texts: what tables, locks and exports are written from."""
    granting = Settings(
        metadata=Path("none"),
        state="memory",
        enable_offline_access=True,
        consent_database=":memory:",
        static_credentials=None,
        oidc_issuer="https://example.com",
        oidc_client_id=NAME,
        jwt_issuer=None,
        jwt_audience=None,
        jwt_jwks_uri=None,
    )
    return create_server(granting)

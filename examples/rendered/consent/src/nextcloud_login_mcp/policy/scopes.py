"""Who may call over HTTP: a verifier of tokens by settings, and scopes that are named when they are missing.

Managed by the template. Over stdio the server trusts whoever started it, and no scope is checked.
"""

from collections.abc import Iterable

from fastmcp.server.auth import AuthContext, AuthProvider, RemoteAuthProvider, require_scopes
from fastmcp.server.auth.providers.jwt import JWTVerifier
from fastmcp.server.dependencies import get_access_token, get_context
from fastmcp.server.middleware import CallNext, Middleware, MiddlewareContext
from fastmcp.tools import ToolResult
from fastmcp.utilities.authorization import run_auth_checks_with_shortfall
from mcp_types import CallToolRequestParams
from pydantic import AnyHttpUrl

from .consent_settings import ConsentSettings
from .serving import PolicyTool, declared


def verifier(settings: ConsentSettings, scopes: Iterable[str]) -> AuthProvider | None:
    """The verifier of clients' tokens, with the metadata that tells clients where to get one (RFC 9728).

    None when the settings name no issuer, audience and keys. A token for another audience is refused: a server
    that takes any token can be made to misuse it.
    """
    if not (settings.jwt_issuer and settings.jwt_audience and settings.jwt_jwks_uri):
        return None
    checked = JWTVerifier(
        jwks_uri=settings.jwt_jwks_uri,
        issuer=settings.jwt_issuer,
        audience=settings.jwt_audience,
        algorithm=settings.jwt_algorithm,
        required_scopes=settings.jwt_scopes.split(),
    )
    return RemoteAuthProvider(
        checked,
        [AnyHttpUrl(settings.jwt_issuer)],
        settings.server_url or "http://127.0.0.1:8000",
        scopes_supported=sorted({*scopes, *settings.jwt_scopes.split()}),
    )


def listed(tool: PolicyTool) -> PolicyTool:
    """The tool without FastMCP's own check, which would hide it; the middleware checks its scopes."""
    return tool.model_copy(update={"auth": None})


class ScopesMiddleware(Middleware):
    """Refuses a call whose token lacks a scope that its tool declares, and names it."""

    async def on_call_tool(
        self,
        context: MiddlewareContext[CallToolRequestParams],
        call_next: CallNext[CallToolRequestParams, ToolResult],
    ) -> ToolResult:
        """Check, then let the call through."""
        ctx = context.fastmcp_context or get_context()
        tool = await ctx.fastmcp.get_tool(context.message.name)
        declaration = declared(tool) if tool else None
        if tool is None or not declaration or not declaration.scopes or ctx.transport == "stdio":
            return await call_next(context)
        asked = AuthContext(token=get_access_token(), component=tool)
        check = require_scopes(*declaration.scopes)
        allowed, missing = await run_auth_checks_with_shortfall(check, asked)
        if allowed:
            return await call_next(context)
        names = " ".join(missing or declaration.scopes)
        challenge = f'Bearer error="insufficient_scope", scope="{names}"'
        auth = ctx.fastmcp.auth
        if isinstance(auth, RemoteAuthProvider):
            place = str(auth.base_url).rstrip("/")
            challenge += f', resource_metadata="{place}/.well-known/oauth-protected-resource/mcp"'
        return ToolResult(
            f"insufficient_scope: {context.message.name} needs a token with {names}",
            meta={"mcp/www_authenticate": [challenge]},
            is_error=True,
        )

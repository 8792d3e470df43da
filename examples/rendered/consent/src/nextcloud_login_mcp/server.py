"""The server, put together from settings, tools and your `extend.py`.

Managed by the template: add to it through extend.py, settings.py, tools/ and resources/.
"""

import contextlib
import secrets
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import fastmcp
from mcp.server.request_state import RequestStateSecurity

from . import extend as seam
from .backend import connect
from .policy import consent_tools, loading, metadata, tokens
from .policy.asking import Gate
from .policy.consent_flow import Consent
from .policy.consent_serving import ConsentMiddleware, ConsentServer
from .policy.errors import StartError
from .policy.guarding import PolicyServer
from .policy.process import because, place
from .policy.public import PublicFront
from .policy.trail import Trail
from .settings import Settings

NAME = "nextcloud-login-mcp"
VERSION: str | None = None
with contextlib.suppress(PackageNotFoundError):  # in a checkout that is not installed
    VERSION = version(NAME)


def create_server(settings: Settings | None = None) -> PolicyServer:
    """Build the server: settings, tools, extend(), metadata over all of it.

    Settings are read from the environment when left out.
    A StartError names in one line the tool, resource, setting or file that cannot be served.
    """
    settings = settings or Settings()
    if not fastmcp.settings.http_host_origin_protection:  # by which `fastmcp run` serves, too
        fastmcp.settings.http_host_origin_protection = "auto"
    try:
        connect(settings)
    except Exception as error:
        why = because(error, settings.database)
        setting = "NEXTCLOUD_LOGIN_MCP_DATABASE"
        why += f"; see {setting} ({place(settings.database)!r})"
        raise StartError(f"backend.py: connect: {why}") from error
    keys, seconds = settings.state_keys, settings.confirm_seconds
    gate = Gate(settings.state, seconds, Trail(settings.audit, keys))
    try:
        sealed = RequestStateSecurity(keys=keys or [secrets.token_bytes(32)], ttl=seconds)
    except ValueError as error:
        raise StartError(f"setting state_keys: {error}") from error
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

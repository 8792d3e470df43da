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
from .policy import loading, metadata
from .policy.asking import Gate
from .policy.errors import StartError
from .policy.guarding import PolicyServer
from .policy.process import because, place
from .policy.trail import Trail
from .settings import Settings

NAME = "notes-mcp"
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
        setting = "NOTES_MCP_DATABASE"
        why += f"; see {setting} ({place(settings.database)!r})"
        raise StartError(f"backend.py: connect: {why}") from error
    keys, seconds = settings.state_keys, settings.confirm_seconds
    gate = Gate(settings.state, seconds, Trail(settings.audit, keys))
    try:
        sealed = RequestStateSecurity(keys=keys or [secrets.token_bytes(32)], ttl=seconds)
    except ValueError as error:
        raise StartError(f"setting state_keys: {error}") from error
    loaded = loading.load_tools(f"{__package__}.tools")
    mcp = PolicyServer(
        NAME,
        version=VERSION,
        instructions="Search and change notes.",
        lifespan=seam.lifespan,
        on_duplicate="error",
        request_state_security=sealed,
    )
    mcp.govern(gate, settings)
    for tool in loaded:
        mcp.add_tool(tool)
    loading.add_resources(mcp, f"{__package__}.resources")
    seam.extend(mcp)
    mcp.check()
    metadata.override(mcp, settings.metadata)
    return mcp


def shipped_server() -> PolicyServer:
    """The server without its user's own texts: what tables, locks and exports are written from."""
    return create_server(Settings(metadata=Path("none")))

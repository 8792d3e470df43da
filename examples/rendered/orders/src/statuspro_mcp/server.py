"""The server, put together from settings, tools and your `extend.py`.

Managed by the template: add to it through extend.py, settings.py, tools/ and resources/.
"""

from fastmcp import FastMCP

from . import extend
from .backend import connect
from .policy import build_server, shipped_settings
from .settings import Settings


def create_server(settings: Settings | None = None) -> FastMCP:
    """Build the server: settings, tools, extend(), metadata over all of it.

    Settings are read from the environment when left out.
    A StartError names in one line the tool, resource, setting or file that cannot be served.
    """
    return build_server(
        settings or Settings(),
        connect=connect,
        extend=extend,
        instructions="Read orders, and change their status, comments and due dates.",
        lists_resources=True,
    )


def shipped_server() -> FastMCP:
    """Build the server without its user's own texts: what tables, locks and exports are written from."""
    return create_server(shipped_settings(Settings))

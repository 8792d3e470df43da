"""An existing server, served as its policy says."""

import functools
from collections.abc import Callable
from typing import Any, cast

from fastmcp import FastMCP
from fastmcp.tools import Tool

from .audit_log import AuditLog
from .confirmation.pending import PendingStore
from .declarations import made
from .guard import PolicyServer
from .policy import Behavior
from .settings import PolicySettings
from .signatures import awaited, resolved, wearing


class Governed(PolicyServer):
    """The class that a server gets in addition to its own."""

    async def run_stdio_async(self, *arguments: Any, **options: Any) -> None:
        """Serve over stdio, once what is served was checked; StartError says what cannot be."""
        self.check()
        await super().run_stdio_async(*arguments, **options)

    def http_app(self, *arguments: Any, **options: Any) -> Any:
        """Return the application to serve over HTTP, once what is served was checked, whoever runs it; else StartError."""
        self.check()
        return super().http_app(*arguments, **options)


def govern(mcp: FastMCP[Any], settings: PolicySettings) -> PolicyServer:
    """Serve what is registered in `mcp`, now or later and in whatever way, as it is declared.

    Closures, bound methods, renamed tools and those of mounted servers get the hints and the gate of
    their declarations; what has none is taken at the protocol's word. Calling it again changes nothing.

    Args:
        mcp: The server.
        settings: Its settings, whose class names its policy.

    Raises:
        StartError: A setting cannot be used.
    """
    if isinstance(mcp, PolicyServer):
        return mcp
    policy = settings.policy
    audit_log = AuditLog(policy, settings.audit, settings.state_keys)
    gate = PendingStore(policy, settings.state, settings.confirm_seconds, audit_log)
    kind: Any = type(mcp)
    mcp.__class__ = (
        Governed if kind is FastMCP else type(kind.__name__, (Governed, kind), {})
    )
    governed = cast("Governed", mcp)
    governed.govern(policy, gate, settings)
    return governed


def tool(
    mcp: FastMCP[Any],
    function: Callable[..., Any],
    *,
    behavior: Behavior,
    name: str | None = None,
    title: str | None = None,
    **facts: Any,
) -> Tool:
    """Register and declare a function at once, as in a loop; the function itself stays as it is.

    Args:
        mcp: The server.
        function: The tool's function.
        behavior: What it does.
        name: Its name; the function's when left out.
        title: What people read; made from the name when left out.
        facts: The other arguments of a decorator.

    Raises:
        TypeError: There is no such behavior or fact.
    """
    name = name or function.__name__
    declaration = made(name, behavior, title=title, **facts)
    run = awaited(function)

    @functools.wraps(function)
    async def declared(**arguments: Any) -> Any:
        return await run(**arguments)

    vars(declared)["__declaration__"] = declaration
    served = wearing(declared, resolved(function))
    return mcp.add_tool(Tool.from_function(served, name=name))

"""A server that was there before, served as the policy says. Managed by the template."""

import functools
from collections.abc import Callable
from typing import Any, cast

from fastmcp import FastMCP
from fastmcp.tools import Tool

from . import schemas
from .asking import Gate
from .declarations import made
from .guarding import PolicyServer
from .profile import Behavior
from .settings import PolicySettings
from .trail import Trail


class Governed(PolicyServer):
    """The class that a server gets besides its own."""

    async def run_stdio_async(self, *more: Any, **options: Any) -> None:
        """Serve over stdio, once what is served was looked at; StartError says what cannot be."""
        self.check()
        await super().run_stdio_async(*more, **options)

    def http_app(self, *more: Any, **options: Any) -> Any:
        """The application to serve over HTTP, once what is served was looked at, whoever runs it; else StartError."""
        self.check()
        return super().http_app(*more, **options)


def govern(mcp: FastMCP[Any], settings: PolicySettings | None = None) -> PolicyServer:
    """Serve what is registered in `mcp`, now or later and in whatever way, as it is declared.

    Closures, bound methods, renamed tools and those of mounted servers get the hints and the gate of
    their declarations; what has none is taken at the protocol's word. Calling it again changes nothing.
    `settings` are read from the environment when left out; StartError: one of them cannot be used.
    """
    if isinstance(mcp, PolicyServer):
        return mcp
    settings = settings or PolicySettings()
    trail = Trail(settings.audit, settings.state_keys)
    gate = Gate(settings.state, settings.confirm_seconds, trail)
    kind: Any = type(mcp)
    mcp.__class__ = Governed if kind is FastMCP else type(kind.__name__, (Governed, kind), {})
    governed = cast("Governed", mcp)
    governed.govern(gate, settings)
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

    `facts` are the other arguments of a decorator. TypeError: there is no such behavior or fact.
    """
    name = name or function.__name__
    declaration = made(name, behavior, title=title, **facts)
    run = schemas.awaited(function)

    @functools.wraps(function)
    async def declared(**arguments: Any) -> Any:
        return await run(**arguments)

    vars(declared)["__declaration__"] = declaration
    served = schemas.wearing(declared, schemas.resolved(function))
    return mcp.add_tool(Tool.from_function(served, name=name))

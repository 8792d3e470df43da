"""An existing server, served as its policy says."""

import functools
from collections.abc import Callable
from typing import Any, TypeVar

from fastmcp import FastMCP
from fastmcp.tools import Tool

from .audit_log import AuditLog
from .confirmation.pending import PendingStore
from .declarations import build_declaration
from .guard import Guard, find_guard
from .policy import Behavior
from .settings import PolicySettings
from .signatures import make_async, resolve_signature, with_signature

Server = TypeVar("Server", bound=FastMCP[Any])


def govern(mcp: Server, settings: PolicySettings) -> Server:
    """Serve what is registered in `mcp`, now or later and in whatever way, as it is declared.

    Closures, bound methods, renamed tools and those of mounted servers get the hints and the gate of
    their declarations; what has none is taken at the protocol's word. Calling it again changes nothing.

    Args:
        mcp: The server.
        settings: Its settings, whose class names its policy.

    Raises:
        StartError: A setting cannot be used.
    """
    if find_guard(mcp) is not None:
        return mcp
    policy = settings.policy
    audit_log = AuditLog(policy, settings.audit, settings.state_keys)
    gate = PendingStore(policy, settings.state, settings.confirm_seconds, audit_log)
    guard = Guard(mcp, policy, gate, settings)
    guard.requires_declarations = False
    guard.install()
    methods = vars(mcp)
    for name in ("run_stdio_async", "http_app"):
        methods[name] = _wrap_with_check(guard, getattr(mcp, name))
    return mcp


def _wrap_with_check(guard: Guard, serve: Callable[..., Any]) -> Callable[..., Any]:
    """Return a way of serving that first checks what is served, in every way of running it."""

    @functools.wraps(serve)
    def checked(*arguments: Any, **options: Any) -> Any:
        guard.check()
        return serve(*arguments, **options)

    return checked


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
    declaration = build_declaration(name, behavior, title=title, **facts)
    run = make_async(function)

    @functools.wraps(function)
    async def declared(**arguments: Any) -> Any:
        return await run(**arguments)

    vars(declared)["__declaration__"] = declaration
    served = with_signature(declared, resolve_signature(function))
    return mcp.add_tool(Tool.from_function(served, name=name))

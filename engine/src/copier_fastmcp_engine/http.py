"""A governed server over HTTP: the paths of its subsets, its health, and where it listens."""

import functools
import socket
import sys
from collections.abc import Callable
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import anyio
import fastmcp
from fastmcp.exceptions import ToolError
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from . import subsets
from .caches import RESOURCE_LISTS, list_components
from .errors import CouldNotError, RuleError
from .logs import FailedRequestLog, log_startup
from .private_api import CACHED_TOOL_LISTS, servers_below
from .settings import PolicySettings
from .tools import has_demands, run_now

if TYPE_CHECKING:
    from .guard import Guard

# Seconds in which a thread that comes back from its database gets the interpreter from a busy event loop; by default 5 ms
SWITCH_INTERVAL = 0.0005
LIST_REMEDY = "give it list_tools_settings={'enabled': False}"


def make_app(
    guard: "Guard", make: Callable[..., Any], *arguments: Any, **options: Any
) -> Any:
    """Return the HTTP application of a guarded server; a warning names scopes that no caller can have.

    Args:
        guard: The server's guard.
        make: `http_app` of the server itself.
        arguments: Its arguments.
        options: Its options.

    Raises:
        StartError: A cache would answer the list of one client, with its own path and headers, to another.
    """
    check_list_caches(guard)
    warn_unusable_scopes(guard)
    own_middleware = options.get("middleware") or ()
    options["middleware"] = [*own_middleware, *guard.http_middleware()]
    return extend_app(guard, make(*arguments, **options))


def check_list_caches(guard: "Guard") -> None:
    """Raise StartError where a cache would answer the list of one client, with its own path and headers, to another."""
    for server in servers_below(guard.mcp):
        for middleware in server.middleware:
            settings = getattr(middleware, CACHED_TOOL_LISTS, {"enabled": False})
            if settings.get("enabled") is not False:
                problem = f"{type(middleware).__name__} would list the tools of one client for another"
                raise RuleError(
                    f"extend.py: {problem}", LIST_REMEDY, "cache-reads-only"
                )


def warn_unusable_scopes(guard: "Guard") -> None:
    """Log what needs scopes where no token is verified, so that no caller can have them."""
    server = guard.mcp
    if server.auth is not None:
        return
    tools = [tool for _, tool in run_now(guard.tool_pairs(), server)]
    items = [*tools, *run_now(list_components(server, RESOURCE_LISTS))]
    names = ", ".join(item.name for item in items if has_demands(item))
    if names:
        guard.policy.logger("guard").warning(
            "no token is verified, so nobody can use these over HTTP: %s", names
        )


def extend_app(guard: "Guard", app: Any) -> Any:
    """Add the paths of subsets and /health to an application; /health goes behind one of the author's own."""
    tools = [tool for _, tool in run_now(guard.tool_pairs(), guard.mcp)]
    places = [guard.facts(tool).place or "" for tool in tools]
    app.add_middleware(subsets.Paths, path=app.state.path, places=places)
    app.add_middleware(FailedRequestLog, policy=guard.policy)

    async def health(_: Request) -> Response:
        """Report whether it serves, and can write what it must record."""
        try:
            guard.gate.audit_log.ready()
        except ToolError as error:
            return JSONResponse({"status": str(error)}, 503)
        return JSONResponse({"status": "ok"})

    app.router.routes.append(Route("/health", health))
    return app


def listen(guard: "Guard", settings: PolicySettings) -> None:
    """Serve at /mcp until stopped, to the names of the settings, with uvloop where it is installed.

    Args:
        guard: The server's guard.
        settings: Its settings.

    Raises:
        CouldNotError: It cannot listen there.
    """
    host, port = settings.host, settings.port
    listener = _bind(host, port)
    setting_hosts = fastmcp.settings.http_allowed_hosts or []
    public_hosts = guard.public_hosts(settings)
    allowed = [host, *settings.allowed_hosts, *setting_hosts, *public_hosts]
    names = ", ".join(dict.fromkeys(["localhost", *allowed]))
    variable = f"{settings.policy.env_prefix}ALLOWED_HOSTS adds names"
    guard.policy.logger("guard").info(
        "requests to %s are served, other hosts get 421; %s", names, variable
    )
    sys.setswitchinterval(SWITCH_INTERVAL)
    with listener:
        log_startup(settings, "http")
        serve = functools.partial(
            guard.mcp.run_async,
            "http",
            host=host,
            port=port,
            sockets=[listener],
            show_banner=False,
            host_origin_protection="auto",
            allowed_hosts=allowed,
            # Each call and each failure has a line of its own
            uvicorn_config={"access_log": False},
        )
        anyio.run(serve, backend_options={"use_uvloop": bool(find_spec("uvloop"))})


def _bind(host: str, port: int) -> socket.socket:
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        listener = socket.create_server((host, port), family=family)
        # asyncio sets it on sockets of its own only; without, a second answer waits 40 ms for the client
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    except (OSError, UnicodeError) as error:
        reason = str(getattr(error, "strerror", error)).partition(" (while")[0]
        remedy = "choose another with --host and --port"
        raise CouldNotError(
            f"cannot listen on {host}:{port}: {reason}; {remedy}"
        ) from error
    return listener

"""Public tools next to scoped ones: over HTTP a token is asked for where it is needed, by the answers that clients log in by.

With a verifier FastMCP asks every request for a token. This front lets one pass without,
and with none made up for it, when what it names asks nothing of its caller. It decides no more than how a refusal
looks (RFC 6750, section 3; the MCP specification, authorization): what runs checks its caller again.
"""

import inspect
from typing import Any

from fastmcp import FastMCP
from fastmcp.exceptions import FastMCPError
from fastmcp.server.auth.middleware import RequireAuthMiddleware
from fastmcp.server.context import reset_transport, set_transport
from mcp.server.transport_security import DEFAULT_MAX_REQUEST_BODY_SIZE
from pydantic_core import from_json
from starlette.datastructures import Headers
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from .declarations import Declaration
from .guarded_components import function_at, prompt_function
from .tools import GRANT, SCOPES, function_of, has_mark

NAMED = {"tools/call": "name", "resources/read": "uri", "prompts/get": "name"}


class PublicFront:
    """ASGI middleware between FastMCP's authentication, which verified a token where one came, and its endpoint."""

    def __init__(self, app: ASGIApp, server: FastMCP[Any]) -> None:
        self.app, self.server = app, server

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request pass, or answer 401 or 403 with what it needs and where to get it."""
        door, app = _find_auth_middleware(scope), self.app
        if door is not None:
            needed: list[str] | None = None
            if scope["method"] == "POST":
                body, receive = await _read(receive)
                needed = await self._needed(body)
            sent = (
                Headers(scope=scope)
                .get("authorization", "")
                .lower()
                .startswith("bearer ")
            )
            scopes = [*door.required_scopes, *(needed or ())]
            closed = RequireAuthMiddleware(door.app, scopes, door.resource_metadata_url)
            app = door.app if needed is None and not sent else closed
        await app(scope, receive, send)

    async def _needed(self, body: bytes) -> list[str] | None:
        """Return the scopes that a message needs, [] for any token; None where no token is required."""
        try:
            message = from_json(body)
        except ValueError:
            return []
        if not isinstance(message, dict):
            return []  # a batch: nobody looks at each of its messages
        method, params = message.get("method"), message.get("params")
        if not isinstance(method, str) or method not in NAMED:
            return None
        name = params.get(NAMED[method]) if isinstance(params, dict) else None
        if not isinstance(name, str):
            return []
        # Over stdio FastMCP hides nothing from a caller without a token
        token = set_transport("stdio")
        try:
            return await self._find_required_scopes(method, name)
        except FastMCPError:
            return None  # it answers for itself
        finally:
            reset_transport(token)

    async def _find_required_scopes(self, method: str, name: str) -> list[str] | None:
        """Return the scopes that a tool, resource or prompt requires."""
        declaration: Declaration | None = None
        if method == "tools/call":
            tool = await self.server.get_tool(name)
            declaration = getattr(tool, "declaration", None)
            function = function_of(tool)
        elif method == "resources/read":
            function = await function_at(self.server, name)
        else:
            function = await prompt_function(await self.server.get_prompt(name))
        marks = vars(inspect.unwrap(function)) if function else {}
        scopes = declaration.scopes if declaration else marks.get(SCOPES, ())
        return [*scopes] if scopes or has_mark(function, GRANT) else None


def _find_auth_middleware(scope: Scope) -> RequireAuthMiddleware | None:
    """Return FastMCP's authentication middleware of the requested endpoint; None for another page."""
    if scope["type"] != "http" or scope["method"] not in ("GET", "POST", "DELETE"):
        return None
    path = scope["path"].removeprefix(scope.get("root_path", ""))
    for route in scope["app"].routes:
        if isinstance(route, Route) and route.path == path:
            return (
                route.endpoint
                if isinstance(route.endpoint, RequireAuthMiddleware)
                else None
            )
    return None


async def _read(receive: Receive) -> tuple[bytes, Receive]:
    """Read the body of a request, up to the server's limit, and return a function that receives it again."""
    body, messages = b"", list[Message]()
    while True:
        messages.append(message := await receive())
        body += message.get("body", b"")
        if not message.get("more_body") or len(body) > DEFAULT_MAX_REQUEST_BODY_SIZE:
            break

    async def replay() -> Message:
        return messages.pop(0) if messages else await receive()

    return body, replay

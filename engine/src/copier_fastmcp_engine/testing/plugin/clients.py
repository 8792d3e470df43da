"""Clients in memory for an author's own tests, which see the tools that a client over stdio or over HTTP sees."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from fastmcp import Client, FastMCP
from fastmcp.server.auth import AccessToken
from fastmcp.server.context import reset_transport, set_transport
from mcp.server.auth.middleware.auth_context import auth_context_var
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser


@asynccontextmanager
async def connect_client(
    server: FastMCP[Any], scopes: Sequence[str] | None = None, **options: Any
) -> AsyncIterator[Client[Any]]:
    """Connect a client to a server in memory, where a plain `Client(server)` lists no tool that needs a scope.

    Args:
        server: The server.
        scopes: The scopes of the client's token, as over HTTP; without them the client is one over stdio, which
            needs no token.
        options: Further options of `Client`, as `mode` or `elicitation_handler`.

    Yields:
        The connected client.
    """
    user = None
    if scopes is not None:
        token = AccessToken(
            token="-", client_id="tests", scopes=[*scopes], subject="tests"
        )
        user = AuthenticatedUser(token)
    transport_token = set_transport("stdio" if scopes is None else "streamable-http")
    user_token = auth_context_var.set(user)
    try:
        async with Client(server, **options) as client:
            yield client
    finally:
        auth_context_var.reset(user_token)
        reset_transport(transport_token)

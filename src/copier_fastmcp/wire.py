"""Tools as another server puts them on the wire, or as somebody wrote them down; none is called."""

import os
import shlex
from typing import Any, TextIO

import anyio
from fastmcp import Client
from fastmcp.client.transports import StdioTransport
from mcp_types import ListToolsRequest, PaginatedRequestParams
from pydantic import BaseModel, Field


class Page(BaseModel):
    """A page of tools/list, unread: a typo or a null among the hints is still there."""

    tools: list[dict[str, Any]]
    cursor: str | None = Field(default=None, alias="nextCursor")


async def _listed(client: Client[Any]) -> list[dict[str, Any]]:
    """Every tool of a server."""
    tools: list[dict[str, Any]] = []
    cursor, more = None, True
    while more:
        request = ListToolsRequest(params=PaginatedRequestParams(cursor=cursor))
        page = await client.session.send_request(request, Page)
        tools += page.tools
        cursor, more = page.cursor, page.cursor is not None
    return tools


async def served(
    server: str | None, url: str | None, seconds: float, log: TextIO
) -> list[dict[str, Any]]:
    """A server's tools.

    Args:
        server: The command that starts it over stdio, or
        url: its address.
        seconds: How long it may take.
        log: Where its stderr goes.

    Raises:
        Exception: Whatever kept it from answering within the time limit.
    """
    words = shlex.split(server or "") or [""]
    transport: Any = url or StdioTransport(
        words[0], words[1:], dict(os.environ), keep_alive=False, log_file=log
    )
    with anyio.fail_after(seconds):
        async with Client(transport, init_timeout=seconds) as client:
            return await _listed(client)

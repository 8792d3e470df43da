"""Tools as another server puts them on the wire; none is called."""

import json
import os
import shlex
from collections.abc import AsyncIterator, Mapping
from typing import Any, TextIO

import anyio
import httpx2
from fastmcp import Client
from fastmcp.client.transports import (
    SSETransport,
    StdioTransport,
    StreamableHttpTransport,
)
from fastmcp.mcp_config import infer_transport_type_from_url
from mcp.client.session import ClientSession
from mcp.shared._httpx_utils import create_mcp_http_client
from mcp.shared.dispatcher import CallOptions
from mcp_types import ListToolsRequest, PaginatedRequestParams
from pydantic import BaseModel, Field, ValidationError

from .tool_lists import LARGEST, Tools, check_count


class Page(BaseModel):
    """A page of tools/list, unread: a typo or a null among the hints is still there."""

    tools: list[dict[str, Any]]
    cursor: str | None = Field(default=None, alias="nextCursor")


class _BoundedStream(httpx2.AsyncByteStream):
    """The bytes of an answer, which ends in an error where it is larger than a whole list may be."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for chunk in self._stream:
            size += len(chunk)
            if size > LARGEST:
                raise httpx2.ReadError(f"an answer of more than {LARGEST >> 20} MiB")
            yield chunk

    async def aclose(self) -> None:
        await self._stream.aclose()


async def _bound_response(response: httpx2.Response) -> None:
    """Read no more than anybody has, and nothing compressed, which may unfold to a thousand times its size."""
    if response.headers.get("content-encoding", "identity") != "identity":
        raise httpx2.ReadError("a compressed answer, which was not asked for")
    response.stream = _BoundedStream(response.stream)


def _build_http_client(
    headers: Any = None, timeout: Any = None, auth: Any = None, **_: Any
) -> Any:
    """The client of the SDK, with bounds."""
    client = create_mcp_http_client(
        {**(headers or {}), "Accept-Encoding": "identity"}, timeout, auth
    )
    client.event_hooks = {"response": [_bound_response]}
    return client


async def _fetch_page(session: ClientSession, cursor: str | None) -> Page:
    """A page, also one that the SDK refuses: what is wrong with it is for the audit to say."""
    request = ListToolsRequest(params=PaginatedRequestParams(cursor=cursor))
    try:
        return await session.send_request(request, Page)
    except ValidationError:  # the SDK has no other way to what was sent
        data = request.model_dump(by_alias=True, mode="json", exclude_none=True)
        options: CallOptions = {}
        session._stamp(data, options)
        sent = data["method"], data.get("params"), options
        return Page.model_validate(await session._dispatcher.send_raw_request(*sent))


async def list_all_tools(client: Client[Any]) -> Tools:
    """Every tool of a server; a cursor that comes again, or too much of it, is an error."""
    tools: Tools = []
    size = 0
    cursors: list[str | None] = [None]
    while True:
        page = await _fetch_page(client.session, cursors[-1])
        tools = check_count(tools + page.tools)
        size += len(json.dumps(page.tools))
        if size > LARGEST:
            raise ValueError(f"more than {LARGEST >> 20} MiB of tools")
        if page.cursor is None:
            return tools
        if page.cursor in cursors:
            raise ValueError(
                f"its pages go in a circle: the cursor {page.cursor!r} came twice"
            )
        cursors.append(page.cursor)


async def fetch_from_server(
    server: str | None,
    url: str | None,
    headers: Mapping[str, str],
    seconds: float,
    log: TextIO,
) -> Tools:
    """A server's tools.

    Args:
        server: The command that starts it over stdio, or
        url: its address.
        headers: What is sent with each request to an address.
        seconds: How long it may take.
        log: Where its stderr goes.

    Raises:
        Exception: Whatever kept it from answering within the limits of time and size.
    """
    words = shlex.split(server or "") or [""]
    transport: Any
    if url is None:
        transport = StdioTransport(
            words[0], words[1:], dict(os.environ), keep_alive=False, log_file=log
        )
    else:
        sse = infer_transport_type_from_url(url) == "sse"
        kind = SSETransport if sse else StreamableHttpTransport
        transport = kind(url, dict(headers), httpx_client_factory=_build_http_client)

    async def ignore_log(message: object) -> None:
        """A server's log is not our output."""

    with anyio.fail_after(seconds):
        async with Client(
            transport, init_timeout=seconds, log_handler=ignore_log
        ) as client:
            return await list_all_tools(client)

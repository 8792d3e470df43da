"""A server over HTTP, in this process."""

import contextlib
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any, TypeVar

import anyio
import uvicorn
from fastmcp import FastMCP
from listening import PATIENCE
from starlette.applications import Starlette
from starlette.routing import Mount

Served = TypeVar("Served", bound=FastMCP)


class _Server(uvicorn.Server):
    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave the signals to pytest."""
        yield


class _Whole:
    """Serves metadata addresses unchanged, as a proxy that strips a path elsewhere (RFC 9728, section 3.1)."""

    def __init__(self, app: Any) -> None:
        self.app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer one request."""
        await self.app(scope | {"root_path": ""}, receive, send)


@contextlib.asynccontextmanager
async def serve_http(
    make: Callable[[str], Served], prefix: str = ""
) -> AsyncIterator[tuple[str, Served]]:
    """Serve a server on a free port; yield its address and the server.

    Args:
        make: Returns the server for its address.
        prefix: The path that a proxy in front of the server strips.
    """
    bound = socket.create_server(("127.0.0.1", 0))
    base = f"http://127.0.0.1:{bound.getsockname()[1]}{prefix}"
    server = make(base)
    app: Any = server.http_app(host_origin_protection="auto")
    if prefix:
        metadata = Mount("/.well-known", _Whole(app))
        app = Starlette(routes=[Mount(prefix, app), metadata], lifespan=app.lifespan)
    uvicorn_ = _Server(
        uvicorn.Config(app, log_config=None, timeout_graceful_shutdown=1)
    )
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(uvicorn_.serve, [bound])
        with anyio.fail_after(PATIENCE):
            while not uvicorn_.started:
                await anyio.sleep(0.01)
        yield base, server
        uvicorn_.should_exit = True
    bound.close()

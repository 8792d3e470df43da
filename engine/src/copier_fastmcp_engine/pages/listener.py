"""A listener on loopback for pages of ours, where the server itself speaks stdio."""

import asyncio
import contextlib
import logging
import re
import socket
import time
from collections.abc import Iterator, Sequence
from typing import Any

import uvicorn
from fastmcp.exceptions import ToolError
from starlette.applications import Starlette
from starlette.routing import BaseRoute
from uvicorn.protocols.http.h11_impl import H11Protocol

GRACE = 1.0  # seconds in which the last page still gets out


class Redacted(logging.Filter):
    """Removes queries from access lines: codes, states, links, and tokens that a client put there, are secrets."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Change the record, and keep it."""
        if isinstance(record.args, tuple):
            record.args = tuple(
                re.sub(r"^(/[^?\s]*)\?.*", r"\1", value)
                if isinstance(value, str)
                else value
                for value in record.args
            )
        return True


REDACTED = Redacted()


class _Server(uvicorn.Server):
    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave the signals to the server that this one helps."""
        yield


class _Protocol(H11Protocol):
    """Logs no access, for its lines hold links; the logger itself is that of every server of this process."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.access_log = False


class Listener:
    """Serves pages for as long as one may be opened."""

    def __init__(
        self, routes: Sequence[BaseRoute], host: str = "127.0.0.1", port: int = 0
    ) -> None:
        self._app, self.host, self._port = Starlette(routes=routes), host, port
        self._task: asyncio.Task[None] | None = None
        self._held: dict[str, float] = {}
        self.base = ""

    async def open(self, until: float, name: str = "") -> str:
        """Its address, which stays until then or until the name is closed; ToolError: its port is taken."""
        self._held[name] = until + GRACE
        if self._task is None or self._task.done():
            try:
                bound = socket.create_server(("127.0.0.1", self._port))
                bound.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            except OSError as error:
                raise ToolError(f"port {self._port} for the page is taken") from error
            self.base = f"http://{self.host}:{bound.getsockname()[1]}"
            self._task = asyncio.create_task(self._serve(bound))
        return self.base

    def close(self, name: str = "") -> None:
        """Stop when the last page is out, if no other name is open."""
        if name in self._held:
            self._held[name] = time.time() + GRACE

    async def _serve(self, bound: socket.socket) -> None:
        config = uvicorn.Config(
            self._app,
            log_config=None,
            http=_Protocol,
            lifespan="off",
            timeout_graceful_shutdown=1,
        )
        server = _Server(config)
        serving = asyncio.create_task(server.serve([bound]))
        try:
            while self._held and not serving.done():
                self._held = {
                    n: until for n, until in self._held.items() if until > time.time()
                }
                await asyncio.wait({serving}, timeout=0.1)
        finally:
            server.should_exit = True
            with contextlib.suppress(asyncio.CancelledError):
                await serving
            # uvicorn closes none where the whole loop is cancelled
            for connection in list(server.server_state.connections):
                connection.transport.close()
            bound.close()

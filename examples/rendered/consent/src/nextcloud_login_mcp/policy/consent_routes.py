"""The two pages that a browser sees, and the listener that serves them where the server itself speaks stdio.

Managed by the template. A page holds fixed text: nothing of the request, nothing of the provider.
"""

import asyncio
import contextlib
import logging
import re
import socket
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import Protocol
from urllib.parse import urlsplit

import uvicorn
from fastmcp.exceptions import ToolError
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from .consent_settings import AUTHORIZE, CALLBACK
from .oauth import ProviderError

COOKIE = "consent"
HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
DONE = "You may close this window and return to the application."
GRACE = 1.0  # seconds in which the last page still gets out


class Refused(Exception):
    """A browser's request is refused; the message is one of our own texts."""


class Flow(Protocol):
    """What the pages are for."""

    async def start(self, link: str) -> tuple[str, str, bool]:
        """Begin a login: the provider's page, a secret for the browser's cookie, and whether we have https."""

    async def finish(self, query: Mapping[str, str], browser: str | None) -> None:
        """Turn what the provider sent the browser back with into a grant."""


def page(title: str, text: str, status: int = 200) -> Response:
    """A page without scripts, styles or anything from elsewhere."""
    body = (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{title}</title>'
        f"<h1>{title}</h1><p>{text}</p></html>"
    )
    return HTMLResponse(body, status, HEADERS)


def routes(flow: Flow) -> dict[str, Callable[[Request], Awaitable[Response]]]:
    """The two addresses, each with the function that serves it."""

    async def authorize(request: Request) -> Response:
        """Send the browser on to the provider."""
        try:
            link = request.query_params.get("elicitationId", "")
            address, browser, https = await flow.start(link)
        except Refused as refused:
            return page("Link Not Valid", str(refused), 400)
        except (ProviderError, ToolError):
            return page("Try Again Later", "The login service cannot be reached now.", 503)
        response = RedirectResponse(address, 302, HEADERS)
        response.set_cookie(
            COOKIE,
            browser,
            path="/oauth",
            secure=https,
            httponly=True,
            samesite="lax",
        )
        return response

    async def callback(request: Request) -> Response:
        """Take the browser back."""
        try:
            await flow.finish(request.query_params, request.cookies.get(COOKIE))
        except Refused as refused:
            return page("Authorization Failed", str(refused), 400)
        except ToolError:
            return page("Authorization Failed", "Nothing was stored; try again later.", 503)
        return page("Authorization Complete!", DONE)

    return {AUTHORIZE: authorize, CALLBACK: callback}


class Redacted(logging.Filter):
    """Removes the query from a logged address of ours: codes, states and links are secrets."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Change the record, and keep it."""
        if isinstance(record.args, tuple):
            record.args = tuple(
                re.sub(r"(/oauth/[^?\s]*)\?\S*", r"\1", value) if isinstance(value, str) else value
                for value in record.args
            )
        return True


REDACTED = Redacted()


class _Server(uvicorn.Server):
    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave the signals to the server that this one helps."""
        yield


class Listener:
    """Serves the pages on loopback for as long as a link is open."""

    def __init__(self, flow: Flow, callback: str | None) -> None:
        given = urlsplit(callback or "")
        self._port = given.port or 0
        self._app = Starlette(
            routes=[Route(path, work, methods=["GET"]) for path, work in routes(flow).items()]
        )
        self._task: asyncio.Task[None] | None = None
        self._until = 0.0
        self.base = ""

    async def open(self, until: float) -> str:
        """The address of the listener, which stays at least until then."""
        self._until = max(self._until, until + GRACE)
        if self._task is None or self._task.done():
            try:
                bound = socket.create_server(("127.0.0.1", self._port))
            except OSError as error:
                raise ToolError(f"port {self._port} for the login page is taken") from error
            self.base = f"http://127.0.0.1:{bound.getsockname()[1]}"
            self._task = asyncio.create_task(self._serve(bound))
        return self.base

    def close(self) -> None:
        """No link is open any more: stop when the last page is out."""
        self._until = time.time() + GRACE

    async def _serve(self, bound: socket.socket) -> None:
        # The address lines of its log pass through Redacted, as do those of the server over HTTP.
        config = uvicorn.Config(
            self._app, log_config=None, lifespan="off", timeout_graceful_shutdown=1
        )
        server = _Server(config)
        serving = asyncio.create_task(server.serve([bound]))
        try:
            while time.time() < self._until and not serving.done():
                await asyncio.wait({serving}, timeout=0.1)
        finally:
            server.should_exit = True
            with contextlib.suppress(asyncio.CancelledError):
                await serving
            bound.close()

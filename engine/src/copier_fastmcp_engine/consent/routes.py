"""The two pages that a browser sees, also where the server itself speaks stdio.

A page holds fixed text: nothing of the request, nothing of the provider.
"""

import hashlib
from collections.abc import Awaitable, Callable, Mapping
from typing import NamedTuple, Protocol
from urllib.parse import urlsplit

from fastmcp.exceptions import ToolError
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from ..pages.listener import Listener
from ..policy import Policy
from .oauth_errors import ProviderError
from .settings import CALLBACK, HERE

HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
DONE = "You can close this window and return to the application."
STALE = (
    "This link was already used or has expired. If access is still missing, return to the application "
    "and request a new one."
)


class Refused(Exception):
    """A browser's request is refused; the message is one of our own texts."""


class Begun(NamedTuple):
    """A login that begins in a browser."""

    address: str  # of the provider's page
    state: str
    secret: str  # which only this browser has
    back: str  # where it will be sent back to
    seconds: float  # that are left


class Flow(Protocol):
    """The login that the pages belong to."""

    policy: Policy

    async def start(self, link: str) -> Begun:
        """Begin a login."""

    async def finish(
        self, query: Mapping[str, str], cookies: Mapping[str, str]
    ) -> None:
        """Turn what the provider sent the browser back with into a grant."""


def cookie(state: str) -> str:
    """The name of the cookie of one login: other tabs, and other servers on this machine, have their own."""
    return f"consent-{hashlib.sha256(state.encode()).hexdigest()[:16]}"


def page(title: str, text: str, status: int = 200) -> Response:
    """A page without scripts, styles or anything from elsewhere."""
    body = (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{title}</title>'
        f"<h1>{title}</h1><p>{text}</p></html>"
    )
    return HTMLResponse(body, status, HEADERS)


def refusal(refused: Refused) -> Response:
    """The page for what is refused; one that is only loaded again says nothing of a failure."""
    stale = str(refused) == STALE
    return page(
        "Link Not Valid" if stale else "Authorization Failed", str(refused), 400
    )


def authorize_path(policy: Policy) -> str:
    """The path of the page that a link leads to."""
    return f"/oauth/authorize-{policy.domain}"


def routes(flow: Flow) -> dict[str, Callable[[Request], Awaitable[Response]]]:
    """The two addresses, each with the function that serves it."""

    async def authorize(request: Request) -> Response:
        """Send the browser on to the provider."""
        try:
            link = request.query_params.get("elicitationId", "")
            begun = await flow.start(link)
        except Refused as refused:
            return refusal(refused)
        except (ProviderError, ToolError):
            return page(
                "Try Again Later", "The login service is currently unreachable.", 503
            )
        response = RedirectResponse(begun.address, 302, HEADERS)
        back = urlsplit(begun.back)
        response.set_cookie(
            cookie(begun.state),
            begun.secret,
            max_age=round(begun.seconds),
            path=back.path.removesuffix("/callback"),
            secure=back.scheme == "https",
            httponly=True,
            samesite="lax",
        )
        return response

    async def callback(request: Request) -> Response:
        """Take the browser back."""
        try:
            await flow.finish(request.query_params, request.cookies)
        except Refused as refused:
            return refusal(refused)
        except ToolError:
            return page(
                "Authorization Failed", "Nothing was stored; try again later.", 503
            )
        return page("Authorization Complete!", DONE)

    return {authorize_path(flow.policy): authorize, CALLBACK: callback}


class LoginListener(Listener):
    """Serves the pages on loopback for as long as a link is open."""

    def __init__(self, flow: Flow, callback: str | None) -> None:
        self._prefix = flow.policy.env_prefix
        self._callback, parts = callback, urlsplit(callback or "")
        pages = [
            Route(path, work, methods=["GET"]) for path, work in routes(flow).items()
        ]
        super().__init__(pages, parts.hostname or "127.0.0.1", parts.port or 0)

    async def open(self, until: float, name: str = "") -> str:
        """The address of the listener, which stays at least until then.

        Raises:
            ToolError: Its port is taken, or the provider would send the browser elsewhere.
        """
        if self.host not in HERE:
            where = f"{self._prefix}ELICITATION_CALLBACK_URL {self._callback!r}"
            raise ToolError(
                f"{where} leads elsewhere; over stdio it begins with http://127.0.0.1"
            )
        return await super().open(until, name)

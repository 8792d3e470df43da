"""From a link to a grant: who asks, the link, the way back from the provider.

Managed by the template. A link is random, expires, works once, and belongs to the verified user who asked;
who grants must be who asked. What leaves here in a page or an error is one of a few fixed texts.
"""

import logging
import secrets
import time
from collections import defaultdict
from collections.abc import Mapping
from typing import NoReturn
from urllib.parse import urlencode, urlsplit
from weakref import WeakKeyDictionary

import anyio
import fastmcp
from fastmcp import Context, FastMCP
from fastmcp.exceptions import ToolError
from fastmcp.server.dependencies import get_access_token
from mcp.server.session import ServerSession

from .consent_grants import Grants
from .consent_routes import REDACTED, Listener, Refused, routes
from .consent_settings import AUTHORIZE, CALLBACK, PREFIX, SERVICE, removed
from .consent_store import KEEP, Elicitation, Grant, Store, User, keyring_secret
from .oauth import Provider, ProviderError
from .settings import PolicySettings

logger = logging.getLogger(__name__)

MOST_LINKS, WITHIN = 10, 600  # so many new links a user gets within so many seconds
MOST_STARTS = 10  # so often one link may be opened
STALE = "This link is not valid any more. Return to the application and ask for a new one."
OTHER = "Another account granted access than the one that asked for it. Nothing was stored."


LOCAL = User("local", None)  # whoever started this process


def user_of(ctx: Context) -> User:
    """Who calls: the user of the verified token; over stdio, whoever started the server.

    Raises:
        ToolError: The call came over HTTP and names nobody.
    """
    token = get_access_token()
    if token is None and ctx.transport in (None, "stdio"):
        return LOCAL
    subject = token and (token.subject or token.claims.get("sub"))
    if not subject:
        raise ToolError(f"no verified token names a user; set {PREFIX}JWT_AUDIENCE and send one")
    return User(f"user:{subject}", str(subject))


class Consent(Grants):
    """The links and grants of one server."""

    def __init__(self, settings: PolicySettings) -> None:
        """Check the settings.

        Raises:
            ValueError: They are not safe to serve with; one line says why.
        """
        for mistake in settings.wrong(settings.state):
            raise ValueError(mistake)
        self.settings, self.mode = settings, settings.mode
        self.seconds = settings.elicitation_timeout_seconds
        given = settings.secrets
        if settings.secret_keyring and settings.enable_offline_access:
            given = [*given, keyring_secret(SERVICE)]
        database = settings.consent_database if self.mode == "offline" else ":memory:"
        state = settings.state if self.mode == "offline" else "memory"
        super().__init__(Store(state, database, given), Provider(settings))
        self.listener = Listener(self, settings.elicitation_callback_url)
        self._waiting: dict[str, set[ServerSession]] = defaultdict(set)

    def serve(self, server: FastMCP) -> None:
        """Become the consent of a server, with its two pages."""
        _consents[server] = self
        logging.getLogger("uvicorn.access").addFilter(REDACTED)
        for line in removed():
            logger.warning(line)
        if self.mode == "offline":
            for path, work in routes(self).items():
                server.custom_route(path, methods=["GET"])(work)

    async def begin(self, ctx: Context, user: User) -> Elicitation:
        """A link for this user: the one that is open already, or a new one.

        Raises:
            ToolError: The user had too many.
        """
        now = time.time()
        if ctx.transport in (None, "stdio"):
            base = await self.listener.open(now + self.seconds)
        else:
            base = (self.settings.server_url or "http://127.0.0.1:8000").rstrip("/")
        row = await self.store.get("current", user.key)
        open_ = await self.elicitation(row["id"]) if row else None
        left = open_.expires_at - now if open_ and open_.waits and open_.base == base else 0
        if open_ and left > self.seconds / 2:
            return open_
        await self._count(user, now)
        made = Elicitation(
            id=secrets.token_urlsafe(24),
            user=user.key,
            subject=user.subject,
            base=base,
            created_at=now,
            expires_at=now + self.seconds,
        )
        await self._save(made)
        await self.store.put("open", made.id, {}, self.seconds)
        await self.store.put("current", user.key, {"id": made.id}, self.seconds)
        return made

    async def _count(self, user: User, now: float) -> None:
        row = await self.store.get("starts", user.key) or {"times": []}
        times = [then for then in row["times"] if now - then < WITHIN]
        if len(times) >= MOST_LINKS:
            minutes = round((WITHIN - now + times[0]) / 60) + 1
            raise ToolError(f"too many logins were started; try again in {minutes} minutes")
        await self.store.put("starts", user.key, {"times": [*times, now]}, WITHIN)

    async def elicitation(self, link: str) -> Elicitation | None:
        """The elicitation of a link."""
        row = await self.store.get("elicitations", link)
        return Elicitation.model_validate(row) if row else None

    async def _save(self, elicitation: Elicitation) -> None:
        seconds = elicitation.expires_at - time.time() + KEEP
        await self.store.put("elicitations", elicitation.id, elicitation.model_dump(), seconds)

    def address(self, elicitation: Elicitation) -> str:
        """What the person opens: a page of ours, which starts PKCE."""
        return f"{elicitation.base}{AUTHORIZE}?{urlencode({'elicitationId': elicitation.id})}"

    def back(self, elicitation: Elicitation) -> str:
        """Where the provider sends the browser back to."""
        return self.settings.elicitation_callback_url or elicitation.base + CALLBACK

    def tell(self, elicitation: Elicitation, session: ServerSession) -> None:
        """Notify this session when the login is complete."""
        for old in [*self._waiting][: max(0, len(self._waiting) - 1000)]:
            del self._waiting[old]
        self._waiting[elicitation.id].add(session)

    async def start(self, link: str) -> tuple[str, str, bool]:
        """Begin a login in a browser; opening the link again begins another one.

        Returns:
            The provider's page, a secret for the browser's cookie, and whether we have https.

        Raises:
            Refused: The link is over, or was opened too often.
            ProviderError: The provider cannot be used now.
        """
        elicitation = await self.elicitation(link)
        if not elicitation or not elicitation.waits or elicitation.starts >= MOST_STARTS:
            raise Refused(STALE)
        elicitation.starts += 1
        await self._save(elicitation)
        state, verifier, nonce, browser = (secrets.token_urlsafe(48) for _ in range(4))
        address = await self.provider.authorization_url(
            state=state, verifier=verifier, nonce=nonce, redirect_uri=self.back(elicitation)
        )
        begun = {"id": link, "verifier": verifier, "nonce": nonce, "browser": browser}
        await self.store.put("states", state, begun, elicitation.expires_at - time.time())
        return address, browser, elicitation.base.startswith("https://")

    async def finish(self, query: Mapping[str, str], browser: str | None) -> None:
        """Turn the provider's answer into a grant, once, in the browser that began.

        Args:
            query: What the provider sent the browser back with.
            browser: The cookie of that browser.

        Raises:
            Refused: Nothing was granted; the message is for the page.
            ToolError: What was granted cannot be stored now.
        """
        flow = await self.store.take("states", query.get("state") or "")
        if not flow or not same(flow["browser"], browser):
            raise Refused(STALE)
        elicitation = await self.elicitation(flow["id"])
        if not elicitation or not elicitation.waits:
            raise Refused(STALE)
        if not await self.store.drop("open", elicitation.id):  # of two at once, one goes on
            raise Refused(STALE)
        if query.get("iss", self.provider.issuer) != self.provider.issuer or not query.get("code"):
            await self._fail(elicitation, "the login service did not grant access")
        try:
            grant = await self.provider.exchange(
                code=query["code"],
                verifier=flow["verifier"],
                nonce=flow["nonce"],
                redirect_uri=self.back(elicitation),
            )
        except ProviderError as error:
            await self._fail(elicitation, str(error))
        if elicitation.subject not in (None, grant.subject):
            await self.provider.revoke(grant)
            await self._fail(elicitation, "another account granted access", OTHER)
        if not elicitation.waits:
            await self.provider.revoke(grant)
            raise Refused(STALE)
        await self._complete(elicitation, grant)

    async def _complete(self, elicitation: Elicitation, grant: Grant) -> None:
        user = User(elicitation.user, elicitation.subject)
        try:
            await self.keep(user, grant)
        except ToolError:
            await self.provider.revoke(grant)
            raise
        elicitation.status, elicitation.completed_at = "complete", time.time()
        await self._save(elicitation)
        await self._close(elicitation)
        for session in self._waiting.pop(elicitation.id, set()):
            with anyio.move_on_after(2):
                try:
                    await session.send_elicit_complete(elicitation.id)
                except Exception:
                    logger.debug("a client left before its login was complete")

    async def _fail(self, elicitation: Elicitation, why: str, shown: str | None = None) -> NoReturn:
        elicitation.status, elicitation.error_message = "failed", why
        elicitation.completed_at = time.time()
        await self._save(elicitation)
        await self._close(elicitation)
        self._waiting.pop(elicitation.id, None)
        raise Refused(shown or f"Access was not granted: {why}.")

    async def _close(self, elicitation: Elicitation) -> None:
        row = await self.store.get("current", elicitation.user)
        if row and row["id"] == elicitation.id:
            await self.store.drop("current", elicitation.user)
        if elicitation.user == LOCAL.key:
            self.listener.close()


def same(one: str, other: str | None) -> bool:
    """Whether two secrets are equal, in a time that does not tell where they differ."""
    return secrets.compare_digest(one.encode(), (other or "").encode())


_consents: WeakKeyDictionary[FastMCP, Consent] = WeakKeyDictionary()


def consent_of(server: FastMCP) -> Consent:
    """The consent of a server that `create_server` made."""
    return _consents[server]


def reached_as(server: FastMCP, host: str) -> list[str]:
    """The names that requests over HTTP may use: behind a proxy, that of the server's address too."""
    public = urlsplit(consent_of(server).settings.server_url or "").hostname
    return [*(fastmcp.settings.http_allowed_hosts or []), host, *([public] if public else [])]

"""From a link to a grant: who asks, the link, the way back from the provider.

A link is random, expires, works once, and belongs to the verified user who asked;
who grants must be who asked. What leaves here in a page or an error is one of a few fixed texts.
"""

import logging
import secrets
import time
from collections import defaultdict
from collections.abc import Mapping
from typing import NoReturn
from urllib.parse import urlencode
from weakref import WeakKeyDictionary

import anyio
from fastmcp import Context, FastMCP
from fastmcp.exceptions import ToolError
from fastmcp.server.dependencies import get_access_token
from mcp.server.session import ServerSession

from ..pages.listener import REDACTED
from .counters import count_login
from .grants import Grants
from .oauth import Provider
from .oauth_errors import ProviderError, report
from .routes import STALE, Begun, LoginListener, Refused, authorize_path, cookie, routes
from .rows import Row
from .settings import (
    CALLBACK,
    ConsentSettings,
    explain_exposed_credentials,
    find_removed_variables,
    is_local,
)
from .store import KEEP, Elicitation, Grant, Store, User, keyring_secret

MOST_LINKS, WITHIN = 10, 600  # so many new links a user gets within so many seconds
MOST_STARTS = 10  # so often one link may be opened
ANOTHER = "a different account granted access"
WHO = "the subject of the provider's ID token is not that of the client's token"
OTHER = "Access was granted by a different account than the one that requested it. Nothing was stored."


LOCAL = User("local", None)  # the user who started this process


def known_user(ctx: Context) -> User | None:
    """Return the user of a verified token, or of stdio; else None."""
    token = get_access_token()
    if token is None and ctx.transport in (None, "stdio"):
        return LOCAL
    subject = token and (token.subject or token.claims.get("sub"))
    return User(f"user:{subject}", str(subject)) if subject else None


class Consent(Grants):
    """The links and grants of one server."""

    def __init__(self, settings: ConsentSettings) -> None:
        """Check the settings.

        Raises:
            ValueError: They are not safe to serve with; one line says why.
        """
        for mistake in settings.find_mistakes(settings.state, settings.confirm_seconds):
            raise ValueError(mistake)
        self.settings, self.mode = settings, settings.mode
        self.policy = settings.policy
        self._logger = self.policy.logger("consent")
        self.seconds = settings.elicitation_timeout_seconds
        secret_texts = settings.secrets
        if settings.secret_keyring and settings.enable_offline_access:
            secret_texts = [*secret_texts, keyring_secret(self.policy)]
        database = settings.consent_database if self.mode == "offline" else ":memory:"
        state = settings.state if self.mode == "offline" else "memory"
        super().__init__(
            Store(self.policy, state, database, secret_texts), Provider(settings)
        )
        self.listener = LoginListener(self, settings.elicitation_callback_url)
        self._waiting: dict[str, set[ServerSession]] = defaultdict(set)

    def serve(self, server: FastMCP) -> None:
        """Become the consent of a server, with its two pages."""
        _consents[server] = self
        logging.getLogger("uvicorn.access").addFilter(REDACTED)
        for line in find_removed_variables(self.policy):
            self._logger.warning(line)
        if self.mode == "offline":
            for path, work in routes(self).items():
                server.custom_route(path, methods=["GET"])(work)

    def user_of(self, ctx: Context) -> User:
        """Return the user of the verified token; over stdio, the user who started the server.

        Raises:
            ToolError: The call came over HTTP and names nobody.
        """
        if user := known_user(ctx):
            return user
        prefix = self.policy.env_prefix
        raise ToolError(
            f"no verified token names a user; set {prefix}JWT_AUDIENCE and send one"
        )

    def refuse_strangers(self, ctx: Context) -> None:
        """Serve the credentials of single-user mode to no one else, however the server was started.

        Raises:
            ToolError: The call came over HTTP without a token, and not to an address of this machine.
        """
        near = ctx.transport in (None, "stdio") or is_local(
            self.settings.server_url or ""
        )
        if self.mode == "single-user" and not near and get_access_token() is None:
            raise ToolError(explain_exposed_credentials(self.policy))

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
        async with self.store.turn(f"begin {user.key}"):
            return await self._open_elicitation(user, base, now)

    async def _open_elicitation(self, user: User, base: str, now: float) -> Elicitation:
        row = await self.store.get("current", user.key)
        open_ = await self.elicitation(row["id"]) if row else None
        if (
            open_
            and open_.waits
            and open_.base == base
            and open_.expires_at - now > self.seconds / 2
        ):
            return open_
        if not await self.store.count("starts", user.key, MOST_LINKS, WITHIN):
            minutes = WITHIN // 60
            raise ToolError(
                f"too many logins were started; try again in {minutes} minutes"
            )
        elicitation = Elicitation(
            id=secrets.token_urlsafe(24),
            user=user.key,
            subject=user.subject,
            base=base,
            created_at=now,
            expires_at=now + self.seconds,
        )
        await self._save(elicitation)
        count_login(self.policy, "asked")
        await self.store.put("open", elicitation.id, {}, self.seconds)
        await self.store.put("current", user.key, {"id": elicitation.id}, self.seconds)
        return elicitation

    async def elicitation(self, link: str) -> Elicitation | None:
        """The elicitation of a link."""
        row = await self.store.get("elicitations", link)
        return Elicitation.model_validate(row) if row else None

    async def _save(self, elicitation: Elicitation) -> None:
        seconds = elicitation.expires_at - time.time() + KEEP
        await self.store.put(
            "elicitations", elicitation.id, elicitation.model_dump(), seconds
        )

    def address(self, elicitation: Elicitation) -> str:
        """Return the address of our own page, which starts PKCE."""
        return f"{elicitation.base}{authorize_path(self.policy)}?{urlencode({'elicitationId': elicitation.id})}"

    def back(self, elicitation: Elicitation) -> str:
        """Return the address that the provider redirects to."""
        return self.settings.elicitation_callback_url or elicitation.base + CALLBACK

    def tell(self, elicitation: Elicitation, session: ServerSession) -> None:
        """Notify this session when the login is complete."""
        for old in [*self._waiting][: max(0, len(self._waiting) - 1000)]:
            del self._waiting[old]
        self._waiting[elicitation.id].add(session)

    async def start(self, link: str) -> Begun:
        """Begin a login in a browser; opening the link again begins another one.

        Raises:
            Refused: The link is over, or was opened too often.
            ProviderError: The provider cannot be used now.
        """
        elicitation = await self.elicitation(link)
        if not elicitation or not elicitation.waits:
            raise Refused(STALE)
        remaining, back = elicitation.expires_at - time.time(), self.back(elicitation)
        if not await self.store.count("openings", link, MOST_STARTS, remaining):
            raise Refused(STALE)
        state, verifier, nonce, browser = (secrets.token_urlsafe(48) for _ in range(4))
        try:
            address = await self.provider.authorization_url(
                state=state, verifier=verifier, nonce=nonce, redirect_uri=back
            )
        except ProviderError as error:
            report(self.policy, error)
            raise
        begun: Row = {
            "id": link,
            "verifier": verifier,
            "nonce": nonce,
            "browser": browser,
        }
        mark = await self.mark(User(elicitation.user, elicitation.subject))
        begun |= {"mark": mark, "asked": self.provider.scope}
        await self.store.put("states", state, begun, remaining)
        return Begun(address, state, browser, back, remaining)

    async def finish(
        self,
        query: Mapping[str, str],
        cookies: Mapping[str, str],
    ) -> None:
        """Turn the provider's answer into a grant, once, in the browser that began.

        Args:
            query: What the provider sent the browser back with.
            cookies: What that browser has of us.

        Raises:
            Refused: Nothing was granted; the message is for the page.
            ToolError: What was granted cannot be stored now.
        """
        state = query.get("state") or ""
        flow = await self.store.take("states", state)
        if not flow or not is_same_secret(flow["browser"], cookies.get(cookie(state))):
            raise Refused(STALE)
        elicitation = await self.elicitation(flow["id"])
        if not elicitation or not elicitation.waits:
            raise Refused(STALE)
        # Of two at once, one goes on
        if not await self.store.drop("open", elicitation.id):
            raise Refused(STALE)
        try:
            grant = await self.provider.exchange(
                code=await self.provider.code(query),
                verifier=flow["verifier"],
                nonce=flow["nonce"],
                redirect_uri=self.back(elicitation),
            )
        except ProviderError as error:
            if query.get("error") == "access_denied":
                count_login(self.policy, "declined")
            await self._fail(elicitation, error)
        if elicitation.subject not in (None, grant.subject):
            await self.provider.revoke(grant)
            await self._fail(elicitation, ProviderError(ANOTHER, WHO), OTHER)
        if not elicitation.waits:
            await self.provider.revoke(grant)
            raise Refused(STALE)
        grant.asked = flow["asked"]
        await self._complete(elicitation, grant, flow["mark"])

    async def _complete(
        self, elicitation: Elicitation, grant: Grant, mark: str | None
    ) -> None:
        user = User(elicitation.user, elicitation.subject)
        try:
            is_kept = await self.keep(user, grant, mark)
        except ToolError:
            await self.provider.revoke(grant)
            raise
        if not is_kept:
            await self.provider.revoke(grant)
            await self._fail(elicitation, ProviderError("access was revoked meanwhile"))
        count_login(self.policy, "granted")
        elicitation.status, elicitation.completed_at = "complete", time.time()
        await self._save(elicitation)
        await self._close(elicitation)
        for session in self._waiting.pop(elicitation.id, set()):
            with anyio.move_on_after(2):
                try:
                    await session.send_elicit_complete(elicitation.id)
                except Exception:
                    self._logger.debug("a client left before its login was complete")

    async def _fail(
        self,
        elicitation: Elicitation,
        error: ProviderError,
        message: str | None = None,
    ) -> NoReturn:
        report(self.policy, error)
        elicitation.status, elicitation.error_message = "failed", str(error)
        elicitation.completed_at = time.time()
        await self._save(elicitation)
        await self._close(elicitation)
        self._waiting.pop(elicitation.id, None)
        advice = "Return to the application to try again."
        raise Refused(message or f"Access was not granted: {error}. {advice}")

    async def _close(self, elicitation: Elicitation) -> None:
        row = await self.store.get("current", elicitation.user)
        if row and row["id"] == elicitation.id:
            await self.store.drop("current", elicitation.user)
        if elicitation.user == LOCAL.key:
            self.listener.close()


def is_same_secret(secret: str, candidate: str | None) -> bool:
    """Compare two secrets in constant time."""
    return secrets.compare_digest(secret.encode(), (candidate or "").encode())


_consents: WeakKeyDictionary[object, Consent] = WeakKeyDictionary()


def consent_of(server: object) -> Consent:
    """The consent of a server that `create_server` made."""
    return _consents[server]

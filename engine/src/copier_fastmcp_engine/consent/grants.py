"""What people granted: kept, renewed before it ends, taken back. Managed by the template.

A user has one grant, and each login makes a new one under a name of its own. Whoever writes late, after the user
revoked access or granted it again, writes to a name that nothing leads to any more, and takes it back.
"""

import secrets
import time

import anyio
from fastmcp.exceptions import ToolError

from .counters import count_login
from .oauth import Provider
from .oauth_errors import ProviderError, Withdrawn, report
from .store import KEEP, LEASE, Grant, Store, User

LEEWAY = 30  # seconds before its end in which an access token is renewed
MARKED = (
    86_400 + KEEP
)  # seconds for which a revocation is remembered: longer than any login takes


class Grants:
    """The grants of one server's users at one provider."""

    def __init__(self, store: Store, provider: Provider) -> None:
        self.store, self.provider = store, provider

    async def grant(self, user: User) -> Grant | None:
        """Return the stored grant of a user; None if there is none for all scopes."""
        return (await self._load_grant(user))[1]

    async def _load_grant(self, user: User) -> tuple[str | None, Grant | None]:
        """Return the name of the user's grant, and the grant if it covers the present scopes."""
        name = await self._current(user)
        row = await self.store.get("grants", name) if name else None
        grant = Grant.model_validate(row) if row else None
        enough = grant and {*self.provider.scope.split()} <= {*grant.asked.split()}
        return name, grant if enough else None

    async def _current(self, user: User) -> str | None:
        row = await self.store.get("current-grants", self._name(user))
        return str(row["name"]) if row else None

    async def mark(self, user: User) -> str | None:
        """Return a mark that changes with each revocation; an argument of `keep`."""
        row = await self.store.get("revocations", self._name(user))
        return str(row["mark"]) if row else None

    async def keep(self, user: User, grant: Grant, mark: str | None = None) -> bool:
        """Store what a user granted; without a refresh token it ends with its access token.

        Args:
            user: Who granted.
            grant: The tokens.
            mark: What `mark` answered when the login began; None when there was no revocation.

        Returns:
            False when the user revoked access meanwhile: then nothing was kept.
        """
        name = secrets.token_urlsafe(24)
        scopes = {"asked": grant.asked or self.provider.scope}
        await self._write(name, grant.model_copy(update=scopes))
        await self.store.put("current-grants", self._name(user), {"name": name})
        if await self.mark(user) in (None, mark):
            return True
        await self.store.drop("grants", name)
        if await self._current(user) == name:
            await self.store.drop("current-grants", self._name(user))
        return False

    async def _write(self, name: str, grant: Grant) -> None:
        remaining = (
            None if grant.refresh_token else max(grant.expires_at - time.time(), 1)
        )
        await self.store.put("grants", name, grant.model_dump(), remaining)

    async def fresh(self, user: User, refused: str | None = None) -> Grant | None:
        """A grant whose access token can be used now, and is not the refused one, or None: the user has to be asked.

        Of many that find it ended, here and in other replicas, one renews it and the others wait: a provider that
        gives each refresh token for one use would take the second for a thief's, and end the grant.

        Raises:
            ToolError: It has to be renewed, and the provider cannot be reached, or takes too long.
        """
        name, grant = await self._load_grant(user)
        if grant is None or name is None or _is_usable(grant, refused):
            return grant
        async with self.store.turn(name):
            name, grant = await self._load_grant(user)
            if grant is None or name is None or _is_usable(grant, refused):
                return grant
            if not grant.refresh_token:
                await self.store.drop("grants", name)
                return None
            # A caller that leaves must not tear up what the provider is about to answer
            with anyio.CancelScope(shield=True), anyio.fail_after(LEASE - 5):
                grant = await self._renew(user, name, grant)
            return grant or await self._load_newer_grant(user)

    async def _renew(self, user: User, name: str, old: Grant) -> Grant | None:
        try:
            renewed = await self.provider.refresh(old)
        except Withdrawn as error:
            report(self.provider.policy, error)
            if (await self._load_grant(user))[1] == old:
                await self.store.drop("grants", name)
            return None
        except ProviderError as error:
            report(self.provider.policy, error)
            raise ToolError(f"{error}; try again later") from error
        await self._write(name, renewed)
        current = await self._current(user)
        if current == name:
            count_login(self.provider.policy, "refreshed")
            return renewed
        await self.store.drop("grants", name)
        if current is None:
            await self.provider.revoke(renewed)
        return None

    async def _load_newer_grant(self, user: User) -> Grant | None:
        _, grant = await self._load_grant(user)
        return grant if grant and _is_usable(grant) else None

    async def revoke(self, user: User) -> tuple[bool, bool]:
        """Forget what the user granted: whether there was something, and whether the provider knows."""
        mark = {"mark": secrets.token_urlsafe(24)}
        await self.store.put("revocations", self._name(user), mark, MARKED)
        await self.store.drop("current", user.key)
        row = await self.store.take("current-grants", self._name(user))
        grant = await self.store.take("grants", str(row["name"])) if row else None
        if grant is None:
            return False, False
        return True, await self.provider.revoke(Grant.model_validate(grant))

    def _name(self, user: User) -> str:
        return f"{self.provider.issuer} {user.key}"


def _is_usable(grant: Grant, refused: str | None = None) -> bool:
    remaining = grant.expires_at - time.time()
    return (
        remaining > (LEEWAY if grant.refresh_token else 0)
        and grant.access_token != refused
    )

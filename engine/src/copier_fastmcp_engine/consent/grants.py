"""What people granted: kept, renewed before it ends, taken back. Managed by the template.

A user has one grant, and each login makes a new one under a name of its own and removes the earlier one. Whoever writes
late, after the user revoked access or granted it again, writes to a name that nothing leads to any more, and takes it
back.
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
# Seconds for which a revocation is remembered: longer than any login takes
MARKED = 86_400 + KEEP


class Grants:
    """The grants of one server's users at one provider."""

    def __init__(self, store: Store, provider: Provider) -> None:
        self.store = store
        self.provider = provider

    async def grant(self, user: User) -> Grant | None:
        """Return the stored grant of a user; None if there is none for all scopes."""
        _, grant = await self._load_grant(user)
        return grant

    async def _load_grant(self, user: User) -> tuple[str | None, Grant | None]:
        """Return the name of the user's grant, and the grant if it covers the present scopes."""
        name = await self._load_name(user)
        if not name:
            return name, None
        row = await self.store.get("grants", name)
        if not row:
            # A login that ended meanwhile has removed it
            name = await self._load_name(user)
            row = await self.store.get("grants", name) if name else None
        if row is None:
            return name, None
        grant = Grant.model_validate(row)
        scopes = set(self.provider.scope.split())
        covers_scopes = scopes.issubset(grant.asked.split())
        return name, grant if covers_scopes else None

    async def _load_name(self, user: User) -> str | None:
        """Return the name of the user's current grant."""
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
        key = self._name(user)
        earlier = await self._load_name(user)
        scopes = {"asked": grant.asked or self.provider.scope}
        await self._write(name, grant.model_copy(update=scopes))
        await self.store.put("current-grants", key, {"name": name})
        if await self.mark(user) in (None, mark):
            if earlier:
                await self.store.drop("grants", earlier)
            return True
        await self.store.drop("grants", name)
        if await self._load_name(user) != name:
            return False
        if earlier:
            # Of a login after the revocation; where it is from before, nothing is there any more
            await self.store.put("current-grants", key, {"name": earlier})
        else:
            await self.store.drop("current-grants", key)
        return False

    async def _write(self, name: str, grant: Grant) -> None:
        remaining: float | None = None
        if not grant.refresh_token:
            remaining = max(grant.expires_at - time.time(), 1)
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
            if await self.grant(user) == old:
                await self.store.drop("grants", name)
            return None
        except ProviderError as error:
            report(self.provider.policy, error)
            raise ToolError(f"{error}; try again later") from error
        await self._write(name, renewed)
        current = await self._load_name(user)
        if current == name:
            count_login(self.provider.policy, "refreshed")
            return renewed
        await self.store.drop("grants", name)
        if current is None:
            await self.provider.revoke(renewed)
        return None

    async def _load_newer_grant(self, user: User) -> Grant | None:
        grant = await self.grant(user)
        return grant if grant and _is_usable(grant) else None

    async def revoke(self, user: User) -> tuple[bool, bool]:
        """Forget what the user granted: whether there was something, and whether the provider knows."""
        key = self._name(user)
        mark = {"mark": secrets.token_urlsafe(24)}
        await self.store.put("revocations", key, mark, MARKED)
        await self.store.drop("current", user.key)
        row = await self.store.take("current-grants", key)
        if row is None:
            return False, False
        grant = await self.store.take("grants", str(row["name"]))
        if grant is None:
            return False, False
        is_revoked = await self.provider.revoke(Grant.model_validate(grant))
        return True, is_revoked

    def _name(self, user: User) -> str:
        return f"{self.provider.issuer} {user.key}"


def _is_usable(grant: Grant, refused: str | None = None) -> bool:
    if grant.access_token == refused:
        return False
    leeway = LEEWAY if grant.refresh_token else 0
    return grant.expires_at - time.time() > leeway

"""What people granted: kept, renewed before it ends, taken back. Managed by the template."""

import time
from collections import defaultdict

import anyio
from fastmcp.exceptions import ToolError

from .consent_store import Grant, Store, User
from .oauth import Provider, ProviderError, Withdrawn

LEEWAY = 30  # seconds before its end in which an access token is renewed


class Grants:
    """The grants of one server's users at one provider."""

    def __init__(self, store: Store, provider: Provider) -> None:
        self.store, self.provider = store, provider
        self._renewing: dict[str, anyio.Lock] = defaultdict(anyio.Lock)

    async def grant(self, user: User) -> Grant | None:
        """What the user granted, as the store has it."""
        row = await self.store.get("grants", self._name(user))
        return Grant.model_validate(row) if row else None

    async def keep(self, user: User, grant: Grant) -> None:
        """Store what a user granted; without a refresh token it ends with its access token."""
        left = None if grant.refresh_token else max(grant.expires_at - time.time(), 1)
        await self.store.put("grants", self._name(user), grant.model_dump(), left)

    async def fresh(self, user: User) -> Grant | None:
        """A grant whose access token can be used now, or None: the user has to be asked.

        Raises:
            ToolError: It has to be renewed, and the provider cannot be reached.
        """
        if (usable := await self._usable(user)) or not await self.grant(user):
            return usable
        async with self._renewing[user.key]:
            if (usable := await self._usable(user)) or not (old := await self.grant(user)):
                return usable
            try:
                renewed = await self.provider.refresh(old)
            except Withdrawn:
                if await self.grant(user) == old:  # else a replica renewed it meanwhile
                    await self.store.drop("grants", self._name(user))
                return await self._usable(user)
            except ProviderError as error:
                raise ToolError(f"{error}; try again later") from error
            await self.keep(user, renewed)
            return renewed

    async def _usable(self, user: User) -> Grant | None:
        grant = await self.grant(user)
        ends = (grant.expires_at - (LEEWAY if grant.refresh_token else 0)) if grant else 0
        return grant if time.time() < ends else None

    async def revoke(self, user: User) -> tuple[bool, bool]:
        """Forget what the user granted: whether there was something, and whether the provider knows."""
        grant = await self.grant(user)
        gone = await self.store.drop("grants", self._name(user))
        await self.store.drop("current", user.key)
        return gone, grant is not None and await self.provider.revoke(grant)

    def _name(self, user: User) -> str:
        return f"{self.provider.issuer} {user.key}"

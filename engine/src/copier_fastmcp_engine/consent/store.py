"""What consent keeps: links that wait, and grants. SQLite, or the Redis that replicas share.

Every row is encrypted, bound to its place, and expires; names are hashed, so
a reader of the file finds neither a token nor a link that still works.
"""

import hashlib
import json
import os
import secrets
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any, Literal, NamedTuple

import anyio
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from fastmcp.exceptions import ToolError
from pydantic import BaseModel, Field

from ..policy import Policy
from .rows import Row, Rows, SqliteRows, redis_rows

KEEP = 3600  # seconds after which a link that is over is forgotten
LEASE = 40.0  # seconds after which what a process holds is free again, since it may have died
TURN = 10.0  # seconds to wait for one's turn


class User(NamedTuple):
    """A caller: the key of their rows, and their name at the provider."""

    key: str
    subject: str | None


class Elicitation(BaseModel):
    """A link that was given to a person, and its state."""

    id: str = Field(repr=False)
    user: str
    subject: str | None = Field(
        description="Who must grant; None: the user at this machine"
    )
    base: str = Field(description="Where its routes are served")
    status: Literal["pending", "complete", "failed"] = "pending"
    error_message: str | None = None
    created_at: float
    expires_at: float
    completed_at: float | None = None

    @property
    def waits(self) -> bool:
        """Tell whether it can still be completed."""
        return self.status == "pending" and time.time() < self.expires_at


class Grant(BaseModel):
    """The access that a user granted, and its tokens."""

    subject: str
    access_token: str = Field(repr=False)
    refresh_token: str | None = Field(default=None, repr=False)
    scope: str = ""
    asked: str = Field(
        default="", description="The scopes that the person was asked for"
    )
    expires_at: float
    granted_at: float


class Cipher:
    """AES-256-GCM under the newest of several secrets; what an older one wrote can be read."""

    def __init__(self, secret_texts: Sequence[str]) -> None:
        self._keys = [
            AESGCM(
                HKDF(SHA256(), 32, salt=None, info=b"consent/v1").derive(
                    secret.encode()
                )
            )
            for secret in secret_texts or [secrets.token_hex(32)]
        ]

    def seal(self, place: str, value: Mapping[str, Any]) -> str:
        """A text that only opens at the same place."""
        nonce = os.urandom(12)
        plain = json.dumps(dict(value)).encode()
        return (nonce + self._keys[0].encrypt(nonce, plain, place.encode())).hex()

    def open(self, place: str, sealed: str) -> Row | None:
        """The value, or None when no secret of ours wrote it at this place."""
        try:
            whole = bytes.fromhex(sealed)
        except ValueError:
            return None
        for key in self._keys:
            try:
                return dict(
                    json.loads(key.decrypt(whole[:12], whole[12:], place.encode()))
                )
            except (InvalidTag, ValueError):
                continue
        return None


def keyring_secret(policy: Policy) -> str:
    """The secret that the keyring of this computer's user keeps; made when there is none.

    Raises:
        ValueError: There is no keyring here.
    """
    import keyring
    from keyring.errors import KeyringError

    try:
        if not (secret := keyring.get_password(policy.server_name, "consent")):
            secret = secrets.token_hex(32)
            keyring.set_password(policy.server_name, "consent", secret)
    except KeyringError as error:
        remedy = "there is no keyring here; set SECRET_KEYS instead"
        raise ValueError(f"{policy.env_prefix}SECRET_KEYRING: {remedy}") from error
    return secret


class Store:
    """Encrypted rows by collection and name."""

    def __init__(
        self, policy: Policy, state: str, database: str, secret_texts: Sequence[str]
    ) -> None:
        self._cipher = Cipher(secret_texts)
        shared = state.startswith(("redis://", "rediss://"))
        self._rows: Rows = redis_rows(state) if shared else SqliteRows(policy, database)

    async def get(self, collection: str, name: str) -> Row | None:
        """Return a row, unless it has expired or its secret is gone."""
        key = _hash_name(name)
        try:
            row = await self._rows.get(key, collection=f"consent-{collection}")
        except Exception as error:
            raise _build_unavailable_error() from error
        return (
            self._cipher.open(f"{collection}/{key}", str(row["sealed"]))
            if row
            else None
        )

    async def put(
        self,
        collection: str,
        name: str,
        value: Mapping[str, Any],
        seconds: float | None = None,
    ) -> None:
        """Write it, for so many seconds."""
        key = _hash_name(name)
        row = {"sealed": self._cipher.seal(f"{collection}/{key}", value)}
        try:
            await self._rows.put(
                key, row, collection=f"consent-{collection}", ttl=seconds
            )
        except Exception as error:
            raise _build_unavailable_error() from error

    async def drop(self, collection: str, name: str) -> bool:
        """Remove it; of two simultaneous callers, one gets True."""
        try:
            return await self._rows.delete(
                _hash_name(name), collection=f"consent-{collection}"
            )
        except Exception as error:
            raise _build_unavailable_error() from error

    async def take(self, collection: str, name: str) -> Row | None:
        """Remove and return a row; of two concurrent callers, one gets it."""
        row = await self.get(collection, name)
        return row if row is not None and await self.drop(collection, name) else None

    async def add(self, collection: str, name: str, seconds: float) -> bool:
        """Take a place for so many seconds; of two that do so at once, one gets it."""
        try:
            place = f"consent-{collection}"
            return await self._rows.add(_hash_name(name), collection=place, ttl=seconds)
        except Exception as error:
            raise _build_unavailable_error() from error

    async def count(
        self, collection: str, name: str, most: int, seconds: float
    ) -> bool:
        """Count an event; tell whether it is within the limit for a period, also under concurrency."""
        for number in range(most):
            if await self.add(collection, f"{name} {number}", seconds):
                return True
        return False

    @asynccontextmanager
    async def turn(self, name: str) -> AsyncIterator[None]:
        """Hold a lock, also across processes; the lock of a dead process expires soon.

        Raises:
            ToolError: The others took too long.
        """
        until = time.monotonic() + TURN
        while not await self.add("turns", name, LEASE):
            if time.monotonic() > until:
                raise ToolError(
                    "another call for this user is still running; try again later"
                )
            await anyio.sleep(0.05)
        try:
            yield
        finally:
            with anyio.CancelScope(shield=True), suppress(ToolError):
                await self.drop("turns", name)


def _hash_name(name: str) -> str:
    return hashlib.sha256(name.encode()).hexdigest()


def _build_unavailable_error() -> ToolError:
    return ToolError("grants cannot be read at the moment; try again later")

"""What consent keeps: links that wait, and grants. SQLite, or the Redis that replicas share.

Managed by the template. Every row is encrypted, bound to its place, and expires; names are hashed, so
whoever reads the file finds neither a token nor a link that still works.
"""

import hashlib
import json
import os
import secrets
import sqlite3
import threading
import time
import weakref
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol

import anyio.to_thread
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from fastmcp.exceptions import ToolError
from pydantic import BaseModel, Field

from .consent_settings import PREFIX

Row = dict[str, Any]
LOCKED = 3  # seconds to wait for another process that writes
KEEP = 3600  # seconds after which a link that is over is forgotten


class User(NamedTuple):
    """Who calls: what their rows are kept under, and the provider's name for them."""

    key: str
    subject: str | None


class Elicitation(BaseModel):
    """One link that a person was given, and what became of it."""

    id: str = Field(repr=False)
    user: str
    subject: str | None = Field(description="Who must grant; None: whoever sits at this machine")
    base: str = Field(description="Where its routes are served")
    status: Literal["pending", "complete", "failed"] = "pending"
    error_message: str | None = None
    starts: int = 0
    created_at: float
    expires_at: float
    completed_at: float | None = None

    @property
    def waits(self) -> bool:
        """Whether it can still be completed."""
        return self.status == "pending" and time.time() < self.expires_at


class Grant(BaseModel):
    """What one user let this server do, and the tokens for it."""

    subject: str
    access_token: str = Field(repr=False)
    refresh_token: str | None = Field(default=None, repr=False)
    scope: str = ""
    expires_at: float
    granted_at: float


class Rows(Protocol):
    """The part of py-key-value's stores that is used here."""

    async def get(self, key: str, *, collection: str | None = None) -> Row | None:
        """The row, unless it has expired."""

    async def put(
        self,
        key: str,
        value: Mapping[str, Any],
        *,
        collection: str | None = None,
        ttl: float | None = None,
    ) -> None:
        """Write the row, for `ttl` seconds."""

    async def delete(self, key: str, *, collection: str | None = None) -> bool:
        """Remove the row; of two that do so at once, one is told that it was there."""


class SqliteRows:
    """Rows in one SQLite file that only its owner can read."""

    def __init__(self, path: str) -> None:
        if path != ":memory:":
            file = Path(path).expanduser()
            file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            os.close(os.open(file, os.O_CREAT | os.O_RDWR, 0o600))
            path = str(file)
        self._lock = threading.Lock()
        self._db = sqlite3.connect(
            path, check_same_thread=False, isolation_level=None, timeout=LOCKED
        )
        self.close = weakref.finalize(self, self._db.close)
        try:
            self._run(
                "CREATE TABLE IF NOT EXISTS rows (collection TEXT, key TEXT, value TEXT, "
                "expires_at REAL, PRIMARY KEY (collection, key))"
            )
        except sqlite3.Error as error:
            raise ValueError(f"{PREFIX}CONSENT_DATABASE {path}: {error}") from error

    def _run(self, sql: str, *values: object) -> tuple[list[Any], int]:
        with self._lock:
            cursor = self._db.execute(sql, values)
            return cursor.fetchall(), cursor.rowcount

    async def get(self, key: str, *, collection: str | None = None) -> Row | None:
        sql = "SELECT value FROM rows WHERE collection = ? AND key = ? AND expires_at > ?"
        rows, _ = await anyio.to_thread.run_sync(self._run, sql, collection, key, time.time())
        return dict(json.loads(rows[0][0])) if rows else None

    async def put(
        self,
        key: str,
        value: Mapping[str, Any],
        *,
        collection: str | None = None,
        ttl: float | None = None,
    ) -> None:
        until = time.time() + (ttl or 10**10)
        sql = "INSERT OR REPLACE INTO rows VALUES (?, ?, ?, ?)"
        await anyio.to_thread.run_sync(
            self._run, sql, collection, key, json.dumps(dict(value)), until
        )
        over = "DELETE FROM rows WHERE expires_at < ?"
        await anyio.to_thread.run_sync(self._run, over, time.time())

    async def delete(self, key: str, *, collection: str | None = None) -> bool:
        sql = "DELETE FROM rows WHERE collection = ? AND key = ? AND expires_at > ?"
        _, count = await anyio.to_thread.run_sync(self._run, sql, collection, key, time.time())
        return count > 0


class Cipher:
    """AES-256-GCM under the newest of several secrets; what an older one wrote can be read."""

    def __init__(self, given: Sequence[str]) -> None:
        self._keys = [
            AESGCM(HKDF(SHA256(), 32, salt=None, info=b"consent/v1").derive(secret.encode()))
            for secret in given or [secrets.token_hex(32)]
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
                return dict(json.loads(key.decrypt(whole[:12], whole[12:], place.encode())))
            except (InvalidTag, ValueError):
                continue
        return None


def keyring_secret(service: str) -> str:
    """The secret that the keyring of this computer's user keeps; made when there is none.

    Raises:
        ValueError: There is no keyring here.
    """
    import keyring
    from keyring.errors import KeyringError

    try:
        if not (secret := keyring.get_password(service, "consent")):
            secret = secrets.token_hex(32)
            keyring.set_password(service, "consent", secret)
    except KeyringError as error:
        why = "there is no keyring here; set SECRET_KEYS instead"
        raise ValueError(f"{PREFIX}SECRET_KEYRING: {why}") from error
    return secret


class Store:
    """Encrypted rows by collection and name."""

    def __init__(self, state: str, database: str, given: Sequence[str]) -> None:
        self._cipher = Cipher(given)
        self._rows: Rows
        if state.startswith(("redis://", "rediss://")):
            from key_value.aio.stores.redis import RedisStore

            self._rows = RedisStore(url=state)
        else:
            self._rows = SqliteRows(database)

    async def get(self, collection: str, name: str) -> Row | None:
        """What is there, unless it has expired or was written under a secret that is gone."""
        key = _hashed(name)
        try:
            row = await self._rows.get(key, collection=f"consent-{collection}")
        except Exception as error:
            raise _away() from error
        return self._cipher.open(f"{collection}/{key}", str(row["sealed"])) if row else None

    async def put(
        self, collection: str, name: str, value: Mapping[str, Any], seconds: float | None = None
    ) -> None:
        """Write it, for so many seconds."""
        key = _hashed(name)
        row = {"sealed": self._cipher.seal(f"{collection}/{key}", value)}
        try:
            await self._rows.put(key, row, collection=f"consent-{collection}", ttl=seconds)
        except Exception as error:
            raise _away() from error

    async def drop(self, collection: str, name: str) -> bool:
        """Remove it; of two that do so at once, one is told that it was there."""
        try:
            return await self._rows.delete(_hashed(name), collection=f"consent-{collection}")
        except Exception as error:
            raise _away() from error

    async def take(self, collection: str, name: str) -> Row | None:
        """What is there, out of the store: of two that take it at once, one gets it."""
        row = await self.get(collection, name)
        return row if row is not None and await self.drop(collection, name) else None


def _hashed(name: str) -> str:
    return hashlib.sha256(name.encode()).hexdigest()


def _away() -> ToolError:
    return ToolError("what was granted cannot be looked up now; try again later")

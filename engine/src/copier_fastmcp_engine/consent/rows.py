"""Where the rows of consent lie: one SQLite file, or the Redis that replicas share."""

import json
import os
import sqlite3
import threading
import time
import weakref
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

import anyio.to_thread

from ..policy import Policy
from ..redis_client import connect_redis

Row = dict[str, Any]
LOCKED = 3  # seconds to wait for another process that writes


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

    async def add(self, key: str, *, collection: str, ttl: float) -> bool:
        """Take a place, for `ttl` seconds; of two that do so at once, one gets it."""

    async def delete(self, key: str, *, collection: str | None = None) -> bool:
        """Remove the row; of two simultaneous callers, one gets True."""


class SqliteRows:
    """Rows in one SQLite file that only its owner can read."""

    def __init__(self, policy: Policy, path: str) -> None:
        setting = f"{policy.env_prefix}CONSENT_DATABASE"
        if path != ":memory:":
            file = Path(path).expanduser()
            file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            os.close(os.open(file, os.O_CREAT | os.O_RDWR, 0o600))
            if os.name == "posix" and file.stat().st_mode & 0o007:
                reason = f"anyone on this machine can use it; run `chmod 600 {file}`"
                raise ValueError(f"{setting} {file}: {reason}")
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
            raise ValueError(f"{setting} {path}: {error}") from error

    def _run(self, sql: str, *values: object) -> tuple[list[Any], int]:
        with self._lock:
            cursor = self._db.execute(sql, values)
            return cursor.fetchall(), cursor.rowcount

    async def get(self, key: str, *, collection: str | None = None) -> Row | None:
        sql = (
            "SELECT value FROM rows WHERE collection = ? AND key = ? AND expires_at > ?"
        )
        rows, _ = await anyio.to_thread.run_sync(
            self._run, sql, collection, key, time.time()
        )
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
            self._run,
            sql,
            collection,
            key,
            json.dumps(dict(value)),
            until,
        )
        over = "DELETE FROM rows WHERE expires_at < ?"
        await anyio.to_thread.run_sync(self._run, over, time.time())

    async def add(self, key: str, *, collection: str, ttl: float) -> bool:
        now = time.time()
        sql = (
            "INSERT INTO rows VALUES (?, ?, '{}', ?) ON CONFLICT (collection, key) "
            "DO UPDATE SET expires_at = excluded.expires_at WHERE expires_at <= ?"
        )
        row = (collection, key, now + ttl, now)
        _, count = await anyio.to_thread.run_sync(self._run, sql, *row)
        return count > 0

    async def delete(self, key: str, *, collection: str | None = None) -> bool:
        sql = "DELETE FROM rows WHERE collection = ? AND key = ? AND expires_at > ?"
        _, count = await anyio.to_thread.run_sync(
            self._run, sql, collection, key, time.time()
        )
        return count > 0


def redis_rows(url: str) -> Rows:
    """Rows in the Redis that replicas share."""
    from key_value.aio.stores.redis import RedisStore

    class RedisRows(RedisStore):
        async def add(self, key: str, *, collection: str, ttl: float) -> bool:
            name = f"{collection}::{key}"  # as the store itself names its rows
            return bool(
                await self._client.set(name, "", nx=True, px=max(1, int(ttl * 1000)))
            )

    return RedisRows(client=connect_redis(url))

"""The connections to a Redis that replicas share, and the entries that they keep there."""

import json
from collections.abc import Mapping
from typing import Any

WAIT_SECONDS = 20.0  # for a free connection, before a call is refused
# Takes the first key and writes the second one where there was a first
EXCHANGE = """
local text = redis.call('GET', KEYS[1])
if text then
    redis.call('DEL', KEYS[1])
    redis.call('SET', KEYS[2], ARGV[1], 'PX', ARGV[2])
end
return text
"""


def connect_redis(url: str) -> Any:
    """Return a client whose calls wait for a free connection; the usual pool refuses the hundred and first at once."""
    from redis.asyncio import BlockingConnectionPool, Redis

    pool = BlockingConnectionPool.from_url(
        url, decode_responses=True, timeout=WAIT_SECONDS
    )
    return Redis.from_pool(pool)


class RedisEntries:
    """Entries in a Redis, each read, written or taken in one round trip.

    They have the names and the form of the `RedisStore` of py-key-value, so that replicas of an earlier release read
    them too. That store needs two round trips to take an entry, and three times the processor time.

    Args:
        client: What `connect_redis` returns.
    """

    def __init__(self, client: Any) -> None:
        self._client = client

    async def put(
        self, key: str, value: Mapping[str, Any], *, collection: str, ttl: float
    ) -> None:
        """Write an entry that Redis removes after `ttl` seconds."""
        name = _name_of(key, collection)
        await self._client.set(name, _format_entry(value), px=_milliseconds(ttl))

    async def get(self, key: str, *, collection: str) -> dict[str, Any] | None:
        """Return an entry; None where there is none."""
        return _parse_entry(await self._client.get(_name_of(key, collection)))

    async def delete(self, key: str, *, collection: str) -> bool:
        """Remove an entry; tell whether there was one."""
        return bool(await self._client.delete(_name_of(key, collection)))

    async def take(self, key: str, *, collection: str) -> dict[str, Any] | None:
        """Remove an entry and return it; of several requests at once, one gets it."""
        from redis.exceptions import ResponseError

        name = _name_of(key, collection)
        try:
            text = await self._client.getdel(name)
        except ResponseError:  # Redis before 6.2 does not have the command
            async with self._client.pipeline(transaction=True) as transaction:
                transaction.get(name)
                transaction.delete(name)
                text, _ = await transaction.execute()
        return _parse_entry(text)

    async def exchange(
        self,
        key: str,
        other_key: str,
        value: Mapping[str, Any],
        *,
        collection: str,
        ttl: float,
    ) -> dict[str, Any] | None:
        """Remove an entry and return it, and write another one; where there is none, write nothing."""
        from redis.exceptions import ResponseError

        names = _name_of(key, collection), _name_of(other_key, collection)
        try:
            text = await self._client.eval(
                EXCHANGE, 2, *names, _format_entry(value), _milliseconds(ttl)
            )
        except ResponseError:  # a Redis whose users may run no scripts
            entry = await self.take(key, collection=collection)
            if entry is not None:
                await self.put(other_key, value, collection=collection, ttl=ttl)
            return entry
        return _parse_entry(text)


def _milliseconds(ttl: float) -> int:
    """Return the life of an entry in whole milliseconds."""
    return max(1, int(ttl * 1000))


def _format_entry(value: Mapping[str, Any]) -> str:
    """Return the text that holds an entry."""
    return json.dumps({"value": value})


def _name_of(key: str, collection: str) -> str:
    """Return the name of an entry in Redis."""
    return f"{collection}::{key}"


def _parse_entry(text: str | None) -> dict[str, Any] | None:
    """Return what an entry holds; None where there is none."""
    return dict(json.loads(text)["value"]) if text else None

"""The connections to a Redis that replicas share."""

from typing import Any

WAIT_SECONDS = 20.0  # for a free connection, before a call is refused


def connect_redis(url: str) -> Any:
    """Return a client whose calls wait for a free connection; the usual pool refuses the hundred and first at once."""
    from redis.asyncio import BlockingConnectionPool, Redis

    pool = BlockingConnectionPool.from_url(
        url, decode_responses=True, timeout=WAIT_SECONDS
    )
    return Redis.from_pool(pool)

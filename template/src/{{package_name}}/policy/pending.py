"""Questions that wait for their answer; each holds digests, expires, is taken once. Managed by the template."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

from fastmcp import FastMCP
from key_value.aio.protocols.key_value import AsyncCullProtocol, AsyncKeyValue
from key_value.aio.stores.memory import MemoryStore

MOST = 10_000  # a flood of questions pushes out old ones, never fills the memory
QUESTIONS, MUTE = "confirmations", "cannot_be_asked"


class Gate:
    """The pending questions of one server, kept in `memory`, in a folder, or behind a `redis://` address."""

    def __init__(self, where: str, seconds: float) -> None:
        self.seconds, self._puts = seconds, 0
        self.store: AsyncKeyValue
        if where == "memory":
            self.store = MemoryStore(max_entries_per_collection=MOST)
        elif where.startswith(("redis://", "rediss://")):
            from key_value.aio.stores.redis import RedisStore

            self.store = RedisStore(url=where)
        else:
            from key_value.aio.stores.filetree import FileTreeStore

            self.store = FileTreeStore(data_directory=Path(where).expanduser())

    async def put(self, name: str, entry: Mapping[str, Any]) -> None:
        """Remember a question until its time is over."""
        await self.store.put(name, entry, collection=QUESTIONS, ttl=self.seconds)
        self._puts += 1
        if self._puts % 500 == 1 and isinstance(self.store, AsyncCullProtocol):
            await self.store.cull()

    async def take(self, name: str) -> dict[str, Any] | None:
        """The entry, out of the store: when two take it at once, one of them gets it."""
        entry = await self.store.get(name, collection=QUESTIONS)
        gone = entry is not None and await self.store.delete(name, collection=QUESTIONS)
        return entry if gone else None

    async def mute(self, session: str) -> None:
        """Do not ask this session's client again: it cannot show a form, whatever it declared."""
        await self.store.put(session, {"mute": True}, collection=MUTE, ttl=86_400)

    async def is_mute(self, session: str) -> bool:
        """Whether the client of this session was found unable to show a form."""
        return await self.store.get(session, collection=MUTE) is not None


GATES: WeakKeyDictionary[FastMCP, Gate] = WeakKeyDictionary()  # of the servers of this process

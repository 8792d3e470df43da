"""Pending confirmations: where questions, previews and answers wait between two requests."""

import contextlib
import json
import time
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from logging import Logger
from pathlib import Path, PosixPath
from typing import TYPE_CHECKING, Any

from fastmcp.exceptions import ToolError
from key_value.aio.protocols.key_value import AsyncCullProtocol, AsyncKeyValue
from key_value.aio.stores.memory import MemoryStore

from ..errors import StartError
from ..places import describe_error, describe_place
from ..policy import Policy
from ..redis_client import RedisEntries, connect_redis

if TYPE_CHECKING:
    from ..audit_log import AuditLog

# All that a process keeps pending: a flood of questions pushes out the oldest, and never fills the memory or the disk
MAX_BYTES = 64_000_000
MAX_ENTRY = 4_000_000  # bytes of one entry, so that none pushes out all others
ENTRY_OVERHEAD = (
    1_300  # bytes that an entry takes in addition to its own text, measured
)
COLLECTION = "confirmations"
INSTALL_REDIS = (
    "install redis 5.0.1 or newer (in a generated project: `uv sync --extra redis`)"
)
CULL_EVERY = 500  # entries written between two removals of expired ones


@dataclass(frozen=True)
class Space:
    """The space that one entry takes, until its time is over."""

    size: int
    until: float


class ByteBudget:
    """The entries that this process has put into its store, oldest first, and the space that they take together.

    Callers that nobody has verified name themselves, so that a limit for each of them would limit nobody.
    """

    def __init__(self) -> None:
        self._spaces: OrderedDict[str, Space] = OrderedDict()
        self.used = 0

    def add(self, name: str, size: int, until: float) -> list[str]:
        """Count an entry; return the entries that have to go for it, oldest first."""
        self.remove(name)
        self._spaces[name] = Space(size, until)
        self.used += size
        dropped = []
        while self.used > MAX_BYTES:
            oldest = next(iter(self._spaces))
            dropped.append(oldest)
            self.remove(oldest)
        return dropped

    def remove(self, name: str) -> None:
        """Count an entry no more."""
        space = self._spaces.pop(name, None)
        if space is not None:
            self.used -= space.size

    def remove_expired(self) -> None:
        """Count no entry whose time is over."""
        now = time.time()
        for name, space in list(self._spaces.items()):
            if space.until <= now:
                self.remove(name)


class PendingStore:
    """The pending confirmations of one server, kept in `memory`, in a folder, or behind a `redis://` address.

    Args:
        policy: The server's policy.
        where: The setting `state`.
        seconds: How long a confirmation waits.
        audit_log: Where the server's writes are recorded.

    Raises:
        StartError: Confirmations cannot be kept there.
    """

    def __init__(
        self, policy: Policy, where: str, seconds: float, audit_log: "AuditLog"
    ) -> None:
        self.policy = policy
        self.seconds = seconds
        self.audit_log = audit_log
        self.pages: Any = (
            None  # the server's confirmation pages, if its policy has them
        )
        self._puts = 0
        self._budget = ByteBudget()
        self._logger = policy.logger("confirmation")
        try:
            self.store = _open_store(where)
        except (ImportError, OSError, ValueError, RuntimeError) as error:
            reason = describe_error(error, where)
            if isinstance(error, ImportError):
                reason = f"{reason}; {INSTALL_REDIS}"
            elif isinstance(error, OSError) and error.errno is not None:
                reason = f"{reason}; use memory or a writable folder"
            raise StartError(
                f"setting state: {describe_place(where)!r}: {reason}"
            ) from error

    async def put(
        self, name: str, entry: Mapping[str, Any], seconds: float = 0
    ) -> None:
        """Keep an entry for the time of a question, or for so many seconds.

        Raises:
            ToolError: The entry is too large, or the store is away.
        """
        seconds = seconds or self.seconds
        dropped = self._count(name, entry, seconds)
        with _reaching(self._logger):
            await self._drop(dropped)
            await self.store.put(name, entry, collection=COLLECTION, ttl=seconds)
            self._puts += 1
            if self._puts % CULL_EVERY == 1:
                await self._remove_expired()

    def _count(self, name: str, entry: Mapping[str, Any], seconds: float) -> list[str]:
        """Count an entry; return the entries that have to go for it.

        Raises:
            ToolError: The entry is too large.
        """
        size = len(name) + len(json.dumps(entry)) + ENTRY_OVERHEAD
        if size > MAX_ENTRY:
            raise ToolError(
                f"these arguments take {size:,} bytes, of which a confirmation holds {MAX_ENTRY:,}; send less at once"
            )
        return self._budget.add(name, size, time.time() + seconds)

    async def _drop(self, names: Sequence[str]) -> None:
        """Remove entries for which there is no space any more."""
        for name in names:
            await self.store.delete(name, collection=COLLECTION)

    async def _remove_expired(self) -> None:
        """Forget the entries whose time is over."""
        self._budget.remove_expired()
        if isinstance(self.store, AsyncCullProtocol):
            await self.store.cull()

    async def get(self, name: str) -> dict[str, Any] | None:
        """Return an entry, unless its time is over."""
        with _reaching(self._logger):
            return await self.store.get(name, collection=COLLECTION)

    async def take(self, name: str) -> dict[str, Any] | None:
        """Remove an entry and return it; when two requests take it at once, one of them gets it."""
        with _reaching(self._logger):
            entry = await self._take(name)
        if entry is not None:
            self._budget.remove(name)
        return entry

    async def exchange(
        self, name: str, other_name: str, other: Mapping[str, Any]
    ) -> dict[str, Any] | None:
        """Take an entry, and keep another one in its place, under a name of its own.

        Behind a Redis both happen at once; where there is no entry, nothing does.
        """
        if not isinstance(self.store, RedisEntries):
            entry = await self.take(name)
            if entry is not None:
                await self.put(other_name, other)
            return entry
        with _reaching(self._logger):
            entry = await self.store.exchange(
                name, other_name, other, collection=COLLECTION, ttl=self.seconds
            )
        if entry is not None:
            self._budget.remove(name)
            dropped = self._count(other_name, other, self.seconds)
            with _reaching(self._logger):
                await self._drop(dropped)
        return entry

    async def _take(self, name: str) -> dict[str, Any] | None:
        """Take an entry out of the store."""
        if isinstance(self.store, RedisEntries):
            return await self.store.take(name, collection=COLLECTION)
        entry = await self.store.get(name, collection=COLLECTION)
        if entry is None:
            return None
        is_ours = await self.store.delete(name, collection=COLLECTION)
        return entry if is_ours else None


def _open_store(where: str) -> AsyncKeyValue | RedisEntries:
    """Open the key-value store that the setting `state` names."""
    if where == "memory":
        return MemoryStore()
    if where.startswith(("redis://", "rediss://")):
        return RedisEntries(connect_redis(where))
    if "://" in where:
        remedy = "use memory, a folder, or a redis:// address"
        raise StartError(f"setting state: {describe_place(where)!r}: {remedy}")
    from key_value.aio.stores.filetree import FileTreeStore

    folder = Path(where).expanduser()
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    # Whoever writes there can approve
    if isinstance(folder, PosixPath) and folder.stat().st_mode & 0o002:
        raise PermissionError(f"anyone could approve; run `chmod o-w {folder}`")
    return FileTreeStore(data_directory=folder)


@contextlib.contextmanager
def _reaching(logger: Logger) -> Iterator[None]:
    """Raise ToolError where the store is away; its own message names an address, so it goes to the log only."""
    try:
        yield
    except Exception as error:
        logger.error("the store of setting state: %s", " ".join(str(error).split()))
        raise ToolError(
            "approvals are temporarily unavailable; try again later"
        ) from error

"""Writes and reads the embedded store. usage: store.py write PATH | many PATH | keys PATH"""

import asyncio
import itertools
import sys

from notes_mcp.backend import Backend


async def write(backend: Backend) -> None:
    """Create records until the process ends, and tell the id of each."""
    for number in itertools.count():
        record = await backend.create("note", {"n": number})
        print(record.id, flush=True)


async def many(backend: Backend) -> None:
    """Create fifty at once."""
    await asyncio.gather(
        *(backend.create("note", {"n": number}) for number in range(50))
    )


async def keys(backend: Backend) -> None:
    """Print the key of every record."""
    print(*await backend.snapshot())


if __name__ == "__main__":
    _, verb, path = sys.argv
    asyncio.run({"write": write, "many": many, "keys": keys}[verb](Backend(path)))

"""Get Statistics."""

import struct
import zlib

from fastmcp.utilities.types import Image

from ..backend import backend
from ..policy import read

WIDTH, HEIGHT = 200, 40


def _chunk(kind: bytes, data: bytes) -> bytes:
    checksum = zlib.crc32(kind + data)
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", checksum)


def draw_bar(share: float) -> bytes:
    """Return a PNG with a bar that is dark up to a share of its width."""
    dark = round(WIDTH * share)
    row = b"\0" + b"\x30" * dark + b"\xd0" * (WIDTH - dark)
    header = struct.pack(">IIBBBBB", WIDTH, HEIGHT, 8, 0, 0, 0, 0)
    pixels = zlib.compress(row * HEIGHT)
    chunks = [_chunk(b"IHDR", header), _chunk(b"IDAT", pixels), _chunk(b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


@read(title="Get Statistics")
async def get_statistics() -> Image:
    """Get the share of articles that are read, as a bar."""
    every = await backend().search("article", limit=1)
    done = await backend().search("article", "", {"read": True}, limit=1)
    return Image(data=draw_bar(done.total / max(1, every.total)), format="png")

"""Responses drawn at random: a result that clients can read and that holds what was sent, or one line without the token.

DRAWN_RESPONSES draws more of them, DRAWN_SEED others.
"""

import gzip
import json
import os
import random
import zlib
from collections.abc import AsyncIterator, Callable
from typing import Any

import httpx2
import pytest
from fastmcp.exceptions import ToolError
from fastmcp.tools import ToolResult
from pydantic_core import from_json, to_json

from copier_fastmcp_engine.api.client import ApiClient
from copier_fastmcp_engine.api.responses import ApiResponse, BodyKind
from copier_fastmcp_engine.api.results import ApiResult
from engine.tests.api.conftest import TOKEN
from engine.tests.api.test_results import Documented, Undocumented

pytestmark = pytest.mark.anyio
COUNT = int(os.environ.get("DRAWN_RESPONSES", "1000"))
SEED = int(os.environ.get("DRAWN_SEED", "20261124"))
# Fields of the models, of Pydantic, of Python and of our own results.
NAMES = [
    "up-time",
    "notes",
    "state",
    "id",
    "result",
    "next_cursor",
    "response_cut",
    "model_config",
    "_body",
    "self",
    "confirmed",
    "",
    "ä",
    "$ref",
    "__class__",
    "model_fields",
]
PLAIN: list[Any] = [
    None,
    True,
    False,
    0,
    -1,
    2**64,
    10**40,
    0.1,
    1e308,
    2.0,
    "NaN",
    "null",
    TOKEN,
    "x" * 300,
    "\0\u202e\ufeff🙂",
    "2026-01-01T00:00:00Z",
    [],
    {},
]
MEDIA_TYPES = [
    "application/json",
    "application/json; charset=utf-8",
    "text/plain",
    "text/html",
    "",
    "image/png",
    "application/problem+json",
    "application/octet-stream",
    "text/csv; charset=latin-1",
    "audio/wav",
    "text/event-stream",
    "application/x-ndjson",
    "multipart/mixed",
    ",",
    "; charset=",
    "*/*",
]
STATUSES = [
    200,
    200,
    200,
    201,
    202,
    203,
    204,
    206,
    226,
    301,
    302,
    304,
    400,
    401,
    404,
    409,
    418,
    422,
    429,
    500,
    503,
]
MODELS: list[type[ApiResult]] = [Documented, Undocumented]
HEADERS = ["Link", "Location", "ETag", "Retry-After", "Content-Disposition"]
VALUES = [
    "<http://[>; rel=next",
    '</x?cursor=%ff%00>; rel="next"',
    "9" * 20,
    "-1",
    TOKEN,
    'W/"1"',
    "http://x:99999999",
    "//",
    "Mon, 99 Foo 2020",
    'attachment; filename="\x7f/../x"',
]


class Stream(httpx2.AsyncByteStream):
    """A body in small pieces."""

    def __init__(self, content: bytes) -> None:
        """Hold a body."""
        self.content = content

    async def __aiter__(self) -> AsyncIterator[bytes]:
        """Yield its pieces."""
        for start in range(0, len(self.content), 7):
            yield self.content[start : start + 7]


def draw_value(chance: random.Random, depth: int = 0) -> Any:
    """Draw a JSON value."""
    if depth < 5 and chance.random() < 0.3:
        names = chance.sample(NAMES, chance.randrange(5))
        return {name: draw_value(chance, depth + 1) for name in names}
    if depth < 5 and chance.random() < 0.3:
        return [draw_value(chance, depth + 1) for _ in range(chance.randrange(4))]
    return chance.choice(PLAIN)


def draw_body(chance: random.Random, value: Any) -> bytes:
    """Draw a body: the value, damaged in every third case, or anything."""
    body = bytearray(json.dumps(value, ensure_ascii=chance.random() < 0.5).encode())
    damage = chance.randrange(6)
    if damage == 0:
        return chance.randbytes(chance.randrange(50))
    if damage == 1:
        body[chance.randrange(len(body))] = chance.randrange(256)
    return bytes(body)


def draw_headers(chance: random.Random) -> list[tuple[bytes, bytes]]:
    """Draw headers, some of which are not what they should be."""
    media_type = chance.choice(MEDIA_TYPES)
    headers = [(b"Content-Type", media_type.encode())] if media_type else []
    for name in HEADERS:
        if chance.random() < 0.2:
            headers.append((name.encode(), chance.choice(VALUES).encode()))
    return headers


def encode(
    chance: random.Random, body: bytes
) -> tuple[bytes, list[tuple[bytes, bytes]]]:
    """Compress a body in some cases, and only say so in others."""
    number = chance.random()
    if number < 0.1:
        return gzip.compress(body), [(b"Content-Encoding", b"gzip")]
    if number < 0.15:
        return zlib.compress(body), [(b"Content-Encoding", b"deflate")]
    return body, [(b"Content-Encoding", b"gzip")] if number < 0.18 else []


def read_result(result: ApiResult | ToolResult) -> tuple[Any, str]:
    """Return the structured content as a client reads it, and all that a model sees."""
    if isinstance(result, ToolResult):
        structured: Any = result.structured_content
        text = "".join(str(block) for block in result.content)
    else:
        structured = json.loads(to_json(result))
        text = ""
    written = json.dumps(structured, ensure_ascii=False)
    assert from_json(f"[[[[{written}]]]]")
    return structured, f"{text}{written}"


def check_json(structured: dict[str, Any], response: ApiResponse) -> None:
    """Everything that was parsed is in the result, and nothing else but what headers say."""
    body = response.body
    expected = body if isinstance(body, dict) else {"result": body}
    for name, value in expected.items():
        assert structured[name] == value
    assert structured.keys() - expected.keys() <= {"next_cursor"}


async def test_a_drawn_response_is_a_result_or_one_line(
    make_client: Callable[..., ApiClient], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def sleep(*_: object) -> None:
        pass

    monkeypatch.setattr(ApiClient, "_sleep", sleep)
    chance = random.Random(SEED)
    client = make_client(limit=20_000)
    kinds = set()
    for number in range(COUNT):
        value = draw_value(chance)
        body, encoding = encode(chance, draw_body(chance, value))
        status, headers = chance.choice(STATUSES), [*draw_headers(chance), *encoding]

        def answer(
            _: httpx2.Request,
            status: int = status,
            headers: list[tuple[bytes, bytes]] = headers,
            body: bytes = body,
        ) -> httpx2.Response:
            return httpx2.Response(status, headers=headers, stream=Stream(body))

        client.transport = httpx2.MockTransport(answer)
        model = chance.choice(MODELS)
        try:
            response = await client.send(chance.choice(["GET", "DELETE"]), "/notes")
            structured, seen = read_result(model.from_response(response, "cursor"))
        except ToolError as error:
            line = str(error)
            assert line.isprintable(), number
            assert len(line) < 500, number
            assert TOKEN not in line, number
            continue
        assert TOKEN not in seen, number
        kinds.add(response.kind)
        if response.kind is BodyKind.JSON:
            check_json(structured, response)
    assert kinds == set(BodyKind)

"""Responses that no document describes: each arrives as the API sent it, or is one clear line."""

import asyncio
import contextlib
import gzip
import json
import time
from base64 import b64encode
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Annotated, Any

import jsonschema  # type: ignore[import-untyped]
import pytest
from fastmcp import Client
from fastmcp.exceptions import ToolError
from mcp import Client as PlainClient
from mcp.server import Server
from pydantic import Field
from pydantic_core import from_json

from copier_fastmcp_engine.api.client import ApiClient
from copier_fastmcp_engine.api.results import ApiResult
from copier_fastmcp_engine.declarations import delete
from engine.tests.api.conftest import TOKEN, Api, Reply
from engine.tests.api.test_results import Documented, Undocumented, server_for
from engine.tests.engine_support.servers import client_of, make_policy, make_server

pytestmark = pytest.mark.anyio
MakeClient = Callable[..., ApiClient]
JSON = {"Content-Type": "application/json"}
ERAS = ["legacy", "2026-07-28"]
WATCHED = '{"a": "é", "b": [1, null]}'
WATCHED_VALUE = {"a": "é", "b": [1, None]}


def reply(body: bytes, media_type: str = "application/json", **headers: str) -> Reply:
    """Return a successful reply; an underscore in the name of a header is a hyphen."""
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    return Reply(body=body, headers={"Content-Type": media_type, **sent})


def nested(depth: int) -> bytes:
    """Return a list in lists."""
    return b"[" * depth + b"]" * depth


async def call(server: Any, era: str) -> Any:
    """Call the tool with FastMCP's client, and validate its result against the schema that was listed."""
    async with Client(server, mode=era) as client:
        (tool,) = await client.list_tools()
        result = await client.call_tool("read", {}, raise_on_error=False)
    if not result.is_error:
        jsonschema.validate(result.structured_content, tool.output_schema)
        written = json.dumps(result.structured_content, ensure_ascii=False)
        written.encode()
        assert from_json(f"[[[[[[{written}]]]]]]"), "clients can read it"
    return result


async def call_plainly(server: Any, era: str) -> Any:
    """Call the tool with the SDK's own client, which refuses a result that does not fit the schema."""
    lowlevel = server._mcp_server
    assert isinstance(lowlevel, Server)
    async with PlainClient(lowlevel, mode=era) as client:
        await client.list_tools()
        return await client.call_tool("read", {})


ARRIVING: dict[str, tuple[Reply, Any]] = {
    "UTF-16 without a charset": (reply(WATCHED.encode("utf-16")), WATCHED_VALUE),
    "UTF-32 without a charset": (reply(WATCHED.encode("utf-32-le")), WATCHED_VALUE),
    "UTF-16 with its charset": (
        reply(WATCHED.encode("utf-16"), "application/json; charset=utf-16"),
        WATCHED_VALUE,
    ),
    "a byte order mark": (reply(b"\xef\xbb\xbf" + WATCHED.encode()), WATCHED_VALUE),
    "text/json": (reply(WATCHED.encode(), "text/json"), WATCHED_VALUE),
    "application/.json": (reply(WATCHED.encode(), "application/.json"), WATCHED_VALUE),
    "json alone": (reply(WATCHED.encode(), "json"), WATCHED_VALUE),
    "a media type twice": (
        reply(WATCHED.encode(), "application/json, application/json"),
        WATCHED_VALUE,
    ),
    "application/.csv": (
        reply(b"a,b\n", "application/.csv"),
        {"result": "a,b\n"},
    ),
    "application/x-csv": (
        reply(b"a,b\n", "application/x-csv"),
        {"result": "a,b\n"},
    ),
    "an impossible charset": (
        reply(b'{"a": 1}', "application/json; charset=punycode"),
        {"a": 1},
    ),
    "the charset undefined": (
        reply(b"a", "text/plain; charset=undefined"),
        {"result": "a"},
    ),
    "a charset that is a compression": (
        reply(b"eA==", "text/plain; charset=base64"),
        {"result": "eA=="},
    ),
    "a charset of escapes": (
        reply(b"\\ud800", "text/plain; charset=unicode_escape"),
        {"result": "\\ud800"},
    ),
    "invalid UTF-8": (reply(b'{"a": "\xff"}'), {"a": "ÿ"}),
    "half a surrogate pair": (reply(b'{"a": "\\ud800"}'), {"a": "\\ud800"}),
    "constants that JSON has not": (
        reply(b'{"a": [NaN, -Infinity, 1e999]}'),
        {"a": ["NaN", "-Infinity", "1e999"]},
    ),
    "a number of 5,000 digits": (
        reply(b'{"a": ' + b"9" * 5000 + b"}"),
        {"result": '{"a": ' + "9" * 5000 + "}"},
    ),
    "a number of 30 digits": (
        reply(b'{"a": ' + b"9" * 30 + b"}"),
        {"a": 10**30 - 1},
    ),
    "a duplicated key": (reply(b'{"a": 1, "a": 2}'), {"a": 2}),
    "a list in 100 lists": (
        reply(nested(100)),
        {"result": json.loads(nested(100))},
    ),
    "a list in 300 lists": (
        reply(nested(300)),
        {"result": nested(300).decode()},
    ),
    "a list in 100,000 lists": (
        reply(nested(100_000)),
        {"result": nested(100_000).decode()},
    ),
    "lines of JSON": (
        reply(b'{"a": 1}\n{"a": 2}\n', "application/x-ndjson"),
        {"result": '{"a": 1}\n{"a": 2}\n'},
    ),
    "events": (
        reply(b"data: 1\n\n", "text/event-stream"),
        {"result": "data: 1\n\n"},
    ),
    "JSON as a web page, as PHP sends it": (
        reply(b'{"a": 1}', "text/html; charset=UTF-8"),
        {"result": '{"a": 1}'},
    ),
    "a charset as the encoding": (
        reply(b'{"a": 1}', Content_Encoding="UTF-8"),
        {"a": 1},
    ),
    "zeros behind the compressed body": (
        reply(gzip.compress(b'{"a": 1}') + b"\0" * 8, Content_Encoding="gzip"),
        {"a": 1},
    ),
    "two compressed bodies": (
        reply(gzip.compress(b'{"a"') + gzip.compress(b": 1}"), Content_Encoding="gzip"),
        {"a": 1},
    ),
    "a link that is no address": (
        reply(b"[1]", Link='<http://[>; rel="next"'),
        {"result": [1]},
    ),
    "a part of the content": (
        Reply(status=206, body=b'{"a": 1}', headers=JSON),
        {"a": 1},
    ),
}


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("name", ARRIVING)
async def test_an_odd_response_arrives_as_the_api_sent_it(
    api: Api, make_client: MakeClient, name: str, era: str
) -> None:
    sent, expected = ARRIVING[name]
    for model in (Documented, Undocumented):
        api.replies = [sent]
        result = await call(server_for(make_client(), model, "cursor"), era)
        assert not result.is_error, result.content[0].text
        assert result.structured_content == expected


@pytest.mark.parametrize("era", ERAS)
async def test_the_plain_client_accepts_every_odd_response(
    api: Api, make_client: MakeClient, era: str
) -> None:
    for name, (sent, expected) in ARRIVING.items():
        api.replies = [sent]
        result = await call_plainly(server_for(make_client(), Documented), era)
        assert result.structured_content == expected, name


MOVED = "answered 302; the API has moved to"
ONE_LINE: dict[str, tuple[Reply, str]] = {
    "a place that is no address": (
        Reply(status=302, headers={"Location": "http://["}),
        f"{MOVED} another path; tell the operator",
    ),
    "a place with a broken host": (
        Reply(status=302, headers={"Location": "//[x]:y/"}),
        f"{MOVED} another path; tell the operator",
    ),
    "a place with a control character": (
        Reply(status=302, headers={"Location": "/a\x7f"}),
        f"{MOVED} another path; tell the operator",
    ),
    "no place": (
        Reply(status=302, headers={"Location": ""}),
        f"{MOVED} another path; tell the operator",
    ),
    "a place with a password": (
        Reply(status=302, headers={"Location": "http://ann:hunter2@x.invalid/"}),
        f"{MOVED} x.invalid; tell the operator",
    ),
    "nothing new": (
        Reply(status=304),
        "answered 304; it has not changed since that version",
    ),
    "an endless pause": (
        Reply(status=429, headers={"Retry-After": "9" * 4000}),
        "answered 429; too many requests; wait before calling again",
    ),
    "an error in a large body": (
        Reply(
            status=400,
            body=json.dumps({"detail": "No.", "x": "y" * 70_000}).encode(),
            headers=JSON,
        ),
        "answered 400: No; correct the arguments and call again",
    ),
    "an error with an impossible charset": (
        Reply(
            status=400,
            body=b'{"detail": "No."}',
            headers={"Content-Type": "application/json; charset=undefined"},
        ),
        "answered 400: No; correct the arguments and call again",
    ),
}


@pytest.mark.parametrize("name", ONE_LINE)
async def test_a_refusal_of_any_kind_is_one_line(
    api: Api, make_client: MakeClient, name: str
) -> None:
    api.replies, expected = [ONE_LINE[name][0]], ONE_LINE[name][1]
    for era in ERAS:
        result = await call(server_for(make_client(), Documented), era)
        assert result.is_error
        assert result.content[0].text == f"GET /notes {expected}"


@pytest.mark.parametrize("depth", [20, 60, 300, 5000])
async def test_an_error_in_errors_takes_no_time(
    api: Api, make_client: MakeClient, depth: int
) -> None:
    for inner in (b"{}", b'"No."'):
        body = b'{"error": ' * depth + inner + b"}" * depth
        api.replies = [Reply(status=400, body=body, headers=JSON)]
        before = time.process_time()
        with pytest.raises(ToolError, match=r"^GET /notes answered 400") as raised:
            await make_client().send("GET", "/notes")
        assert time.process_time() - before < 2
        assert len(str(raised.value)) < 400


@pytest.mark.parametrize(
    ("cut", "expected"),
    [
        (b'{"n": 1234', {"n": 1}),
        (b'{"n": 1, "m": 12', {"n": 1}),
        (b'{"n": 1, "m": NaN, "x": "', {"n": 1, "m": "NaN"}),
        (b'\xef\xbb\xbf{"n": 1, "m": -1.5e', {"n": 1}),
    ],
)
async def test_no_number_is_invented_where_a_response_is_cut(
    api: Api,
    make_client: MakeClient,
    cut: bytes,
    expected: dict[str, Any],
) -> None:
    """A number that was cut is another number."""
    filler = b'{"filler": "' + b"x" * (998 - len(cut)) + b'",'
    start = cut.index(b"{")
    whole = cut[:start] + filler + cut[start + 1 :]
    limit = len(whole)
    api.replies = [reply(whole + b"567890123" + b" " * 99)]
    result = await call(server_for(make_client(limit=limit), Undocumented), "legacy")
    structured = dict(result.structured_content)
    assert "was cut" in structured.pop("response_cut")
    structured.pop("filler")
    kept = {name: value for name, value in expected.items() if name in structured}
    assert structured == kept
    if b"1234" in cut:
        assert structured == {}


async def test_no_part_of_the_token_is_left_where_a_text_is_cut(
    api: Api, make_client: MakeClient
) -> None:
    for secret in (TOKEN, b64encode(TOKEN.encode()).decode().rstrip("=")):
        for length in range(4, len(secret)):
            text = "x" * (1000 - length) + secret + "y" * 500
            api.replies = [reply(text.encode(), "text/plain")]
            response = await make_client(limit=1000).send("GET", "/notes")
            assert response.cut
            assert response.body == "x" * (1000 - length) + "***"


async def test_the_token_is_in_no_part_of_a_response(
    api: Api, make_client: MakeClient
) -> None:
    for media_type in (f"x/{TOKEN}", f"image/{TOKEN}", f"text/{TOKEN}"):
        headers = {"Content-Type": media_type, "Content-Disposition": TOKEN}
        api.replies = [Reply(body=b"a", headers=headers)]
        for model in (Documented, Undocumented):
            result = await call(server_for(make_client(), model), "legacy")
            assert TOKEN.lower() not in str(result).lower()


async def test_the_reason_of_a_status_is_redacted_and_plain(
    api: Api, make_client: MakeClient
) -> None:
    api.replies = [Reply(status=204, reason=f"No Content {TOKEN}")]
    result = await call(server_for(make_client(), Undocumented), "legacy")
    text = result.content[0].text
    assert text == "GET /notes answered 204 No Content *** with an empty body."
    api.replies = [Reply(status=204, reason="a\x1b[31m" + "b" * 5000)]
    result = await call(server_for(make_client(), Undocumented), "legacy")
    text = result.content[0].text
    assert text.isprintable()
    assert len(text) < 150


@contextlib.asynccontextmanager
async def listening(
    answer: Callable[[asyncio.StreamWriter], Awaitable[None]],
) -> AsyncIterator[str]:
    """Run what answers a request with any bytes, and yield its host."""
    writers: list[asyncio.StreamWriter] = []

    async def handle(
        reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        writers.append(writer)
        with contextlib.suppress(ConnectionError):
            await reader.readuntil(b"\r\n\r\n")
            await answer(writer)
        writer.close()

    async with await asyncio.start_server(handle, "127.0.0.1", 0) as server:
        yield f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
        for writer in writers:
            writer.close()
            with contextlib.suppress(ConnectionError):
                await writer.wait_closed()


BROKEN = "is not HTTP, or ended early; try again later"


@pytest.mark.parametrize(
    "received",
    [
        b"",
        b"\x16\x03\x01\r\n\r\n",
        b"HTTP/1.1 abc\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n",
        b"HTTP/1.1 200 OK\r\nX: " + b"a" * 300_000 + b"\r\n\r\n",
        b"HTTP/1.1 101 Other\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n",
    ],
)
async def test_what_is_not_http_is_one_line(
    make_client: MakeClient, received: bytes
) -> None:
    async def answer(writer: asyncio.StreamWriter) -> None:
        writer.write(received)
        await writer.drain()

    client = make_client()
    async with listening(answer) as host:
        client.address = f"http://{host}/v1"
        with pytest.raises(ToolError) as raised:
            await client.send("POST", "/notes", body={})
    unsure = "; it may have been done, so look first"
    assert str(raised.value) == f"POST /notes: the response of {host} {BROKEN}{unsure}"


async def test_endless_preliminary_responses_end_at_the_deadline(
    make_client: MakeClient,
) -> None:
    async def answer(writer: asyncio.StreamWriter) -> None:
        while not writer.is_closing():
            writer.write(b"HTTP/1.1 100 Continue\r\n\r\n" * 100)
            await writer.drain()
            await asyncio.sleep(0.01)

    client = make_client(seconds=0.4)
    async with listening(answer) as host:
        client.address = f"http://{host}/v1"
        with pytest.raises(ToolError, match=r"did not answer in 0\.4 s; try again$"):
            await client.send("GET", "/notes")


async def test_an_error_page_is_told_from_the_page_of_a_wrong_address(
    api: Api, make_client: MakeClient
) -> None:
    page = reply(b" \n<!doctype html><p>", "text/html")
    api.replies = [page]
    result: Any = await call(server_for(make_client(), Documented), "legacy")
    assert "is NOTES_MCP_API right?" in result.content[0].text
    result = await call(server_for(make_client(), Undocumented), "legacy")
    assert result.structured_content == {"result": " \n<!doctype html><p>"}


class Deleted(ApiResult):
    """Result of delete_note."""

    id: int = Field(description="Its ID.")


GATED: list[tuple[Reply, Any]] = [
    (Reply(status=204), {"result": None}),
    (
        reply(b'{"id": "7", "more": [null]}'),
        {"id": "7", "more": [None]},
    ),
    (reply(b"[1]"), {"result": [1]}),
    (
        reply(nested(300)),
        {"result": nested(300).decode()},
    ),
    (reply(b"done", "text/plain"), {"result": "done"}),
    (
        reply(b"\0", "image/png"),
        {"result": {"media_type": "image/png", "bytes": 1, "file": "7"}},
    ),
]


@pytest.mark.parametrize("era", ERAS)
async def test_the_envelope_of_a_confirmed_call_holds_any_response(
    api: Api, make_client: MakeClient, era: str
) -> None:
    client = make_client()

    @delete(title="Delete Note", confirm="Delete note {note_id}?")
    async def delete_note(
        note_id: Annotated[int, Field(description="The ID of the note.")],
    ) -> Deleted:
        """Delete a note."""
        response = await client.send("DELETE", f"/notes/{note_id}")
        return Deleted.from_response(response)

    server = make_server(make_policy(), delete_note)
    async with client_of(server, era, agrees=True) as caller:
        (tool,) = await caller.list_tools()
        for sent, expected in GATED:
            api.replies = [sent]
            result = await caller.call_tool("delete_note", {"note_id": 7})
            jsonschema.validate(result.structured_content, tool.output_schema)
            envelope = result.structured_content or {}
            assert envelope["outcome"] == "applied"
            assert envelope["result"] == expected

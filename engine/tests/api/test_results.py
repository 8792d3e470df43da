"""A tool returns the response of the API unchanged, in both eras of the protocol."""

import gzip
import json
import logging
from collections.abc import Callable
from typing import Any

import pytest
from fastmcp import Client, FastMCP
from fastmcp.exceptions import ToolError
from fastmcp.tools import ToolResult
from pydantic import Field

from copier_fastmcp_engine.api.client import ApiClient
from copier_fastmcp_engine.api.results import ApiItem, ApiResult
from engine.tests.api.conftest import TOKEN, Api, Reply

pytestmark = pytest.mark.anyio
JSON = {"Content-Type": "application/json"}
# Keywords of a schema that promise something of a result
PROMISES = ("required", "anyOf", "enum", "integer", "string", "array", "$ref")


class Note(ApiItem):
    """One note."""

    id: int = Field(description="Its ID")


class Documented(ApiResult):
    """What the document says, which real responses do not keep."""

    uptime: str = Field(description="Since when", alias="up-time")
    notes: list[Note] | None = Field(default=None, description="The notes")
    state: int = Field(default=0, description="A number")


class Undocumented(ApiResult):
    """What nobody documented."""


def reply(
    body: bytes, media_type: str = "application/json", status: int = 200
) -> Reply:
    """Return a reply with a body of a media type."""
    return Reply(status=status, body=body, headers={"Content-Type": media_type})


def server_for(client: ApiClient, model: type[ApiResult], cursor: str = "") -> FastMCP:
    """Return a server with one tool."""
    server = FastMCP("notes")

    async def read() -> ApiResult:
        return model.from_response(await client.send("GET", "/notes"), cursor)

    read.__annotations__["return"] = model
    server.tool(read)
    return server


async def result_of(server: FastMCP, era: str) -> Any:
    """Return the result of the tool as a client of an era gets it, validated against the schema."""
    async with Client(server, mode=era) as client:
        await client.list_tools()
        return await client.call_tool("read", {}, raise_on_error=False)


OBJECTS: dict[str, Any] = {
    "as documented": {
        "up-time": "a",
        "notes": [{"id": 1}],
        "state": 1,
    },
    "other types": {
        "up-time": 3.5,
        "notes": {"a": None},
        "state": "on",
    },
    "nulls": {
        "up-time": None,
        "notes": [None, {"id": None}],
        "state": None,
    },
    "undocumented fields": {
        "up-time": "a",
        "other": {"ä b": [1]},
        "_body": 1,
        "model_config": 2,
    },
    "no field": {},
    "names of Python": {
        "self": 1,
        "cls": 2,
        "json": 3,
        "from_response": 4,
    },
    "large and small numbers": {
        "up-time": "a",
        "n": 12345678901234567890,
        "x": 0.1,
    },
}
OTHERS: list[Any] = [[], [1, None], [[{"id": "x"}]], "text", 3, 3.5, True]


@pytest.mark.parametrize("era", ["legacy", "2026-07-28"])
@pytest.mark.parametrize("model", [Documented, Undocumented])
async def test_json_arrives_as_the_api_sent_it(
    api: Api,
    make_client: Callable[..., ApiClient],
    model: type[ApiResult],
    era: str,
) -> None:
    server = server_for(make_client(), model)
    rows = [(body, body) for body in OBJECTS.values()]
    rows += [(body, {"result": body}) for body in OTHERS]
    for body, expected in rows:
        api.replies = [reply(json.dumps(body).encode())]
        result = await result_of(server, era)
        assert not result.is_error, result.content
        assert result.structured_content == expected


@pytest.mark.parametrize("era", ["legacy", "2026-07-28"])
async def test_text_is_text_and_empty_is_reported(
    api: Api, make_client: Callable[..., ApiClient], era: str
) -> None:
    server = server_for(make_client(), Undocumented)
    latin = "é".encode("latin-1")
    texts = [
        (reply(b"a: 1\n", "text/plain"), "a: 1\n"),
        (reply(b"{broken"), "{broken"),
        (reply(latin, "text/plain; charset=latin1"), "é"),
        (reply(b"<p>", "text/html"), "<p>"),
    ]
    for sent, text in texts:
        api.replies = [sent]
        result = await result_of(server, era)
        assert result.structured_content == {"result": text}
        assert result.content[0].text == text
    empty = [
        (Reply(status=204), "204 No Content"),
        (Reply(status=200, headers=JSON), "200 OK"),
    ]
    for sent, status in empty:
        api.replies = [sent]
        result = await result_of(server, era)
        assert result.structured_content == {"result": None}
        text = f"GET /notes answered {status} with an empty body."
        assert result.content[0].text == text


@pytest.mark.parametrize("era", ["legacy", "2026-07-28"])
async def test_binary_is_a_file_or_an_image(
    api: Api, make_client: Callable[..., ApiClient], era: str
) -> None:
    server = server_for(make_client(), Undocumented)
    api.replies = [reply(b"\x89PNG", "image/png")]
    result = await result_of(server, era)
    (image,) = result.content
    assert image.type == "image"
    assert image.mime_type == "image/png"
    disposition = {
        "Content-Type": "application/pdf",
        "Content-Disposition": 'attachment; filename="a.pdf"',
    }
    api.replies = [Reply(body=b"%PDF\xff", headers=disposition)]
    result = await result_of(server, era)
    assert result.content[0].type == "resource"
    file = {
        "media_type": "application/pdf",
        "bytes": 5,
        "file": "a.pdf",
    }
    assert result.structured_content == {"result": file}


async def test_a_tool_of_files_has_no_schema(
    api: Api, make_client: Callable[..., ApiClient]
) -> None:
    client = make_client()
    server = FastMCP("notes")

    @server.tool
    async def read() -> ToolResult:
        return (await client.send("GET", "/label")).to_tool_result()

    api.replies = [reply(b"%PDF", "application/pdf")]
    async with Client(server) as mcp:
        (tool,) = await mcp.list_tools()
        result = await mcp.call_tool("read", {})
        api.replies = [reply(b'[{"id": 1}]')]
        listed = await mcp.call_tool("read", {})
    assert tool.output_schema is None
    assert result.structured_content is None
    assert result.content[0].type == "resource"
    assert listed.content[0].text == '[{"id":1}]', "nothing holds a name `result`"


async def test_the_schema_describes_and_promises_nothing(
    make_client: Callable[..., ApiClient],
) -> None:
    async with Client(server_for(make_client(), Documented)) as client:
        (tool,) = await client.list_tools()
    schema = tool.output_schema or {}
    assert schema["type"] == "object"
    properties = schema["properties"]
    assert properties["up-time"] == {"description": "Since when"}
    item = properties["notes"]["items"]
    assert item["properties"] == {"id": {"description": "Its ID"}}
    text = json.dumps(schema)
    for keyword in PROMISES:
        assert f'"{keyword}"' not in text


async def test_a_mismatch_with_the_schema_is_one_log_line(
    api: Api,
    make_client: Callable[..., ApiClient],
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO, "api")
    api.replies = [reply(b'{"up-time": 3, "state": "x"}')]
    await result_of(server_for(make_client(), Documented), "legacy")
    lines = [line for line in caplog.messages if "does not fit" in line]
    assert lines == [
        "GET /notes: the response does not fit Documented (up-time: Input should be a valid string); "
        "returned as received"
    ]


async def test_documented_fields_are_filled_from_headers(
    api: Api, make_client: Callable[..., ApiClient]
) -> None:
    class Versioned(ApiResult):
        id: str = Field(default="", description="The ID")
        etag: str = Field(default="", description="The version")

    sent = {
        "ETag": '"1"',
        "Location": "/v1/notes/7",
        "Link": '</v1/notes?page=2>; rel="next"',
    } | JSON
    rows: list[tuple[type[ApiResult], bytes, str, Any]] = [
        (Versioned, b'{"id": 1}', "", {"id": 1, "etag": '"1"'}),
        (Versioned, b"", "", {"id": "7", "etag": '"1"'}),
        (Undocumented, b"[1]", "page", {"result": [1], "next_cursor": "2"}),
        (Undocumented, b"[1]", "cursor", {"result": [1]}),
        (Undocumented, b'{"next_cursor": null}', "page", {"next_cursor": None}),
    ]
    for model, body, cursor, expected in rows:
        api.replies = [Reply(body=body, headers=sent)]
        result = await result_of(server_for(make_client(), model, cursor), "legacy")
        assert result.structured_content == expected


async def test_a_page_where_an_object_is_documented_names_the_address(
    api: Api, make_client: Callable[..., ApiClient]
) -> None:
    page = reply(b"<!doctype html>", "text/html")
    missing = reply(b"<html>", "text/html", status=404)
    rows = [
        (page, "text/html"),
        (missing, "404 text/html"),
    ]
    for sent, description in rows:
        api.replies = [sent]
        result = await result_of(server_for(make_client(), Documented), "legacy")
        assert result.content[0].text == (
            f"GET {api.address}/notes answered {description}: is NOTES_MCP_API right?"
        )


async def test_a_cut_response_names_its_limit_and_the_setting(
    api: Api, make_client: Callable[..., ApiClient]
) -> None:
    notes = [{"id": n, "text": "x" * 100} for n in range(100)]
    packed = {**JSON, "Content-Encoding": "gzip"}
    client = make_client(limit=2000)
    whole = json.dumps(notes).encode()
    plain_reply = reply(whole)
    packed_reply = Reply(body=gzip.compress(whole), headers=packed)
    for sent in (plain_reply, packed_reply):
        api.replies = [sent]
        result = await result_of(server_for(client, Undocumented), "legacy")
        structured = result.structured_content
        assert structured["result"][:10] == notes[:10]
        assert "the response was cut after 2,000" in structured["response_cut"]
        assert "NOTES_MCP_API_BYTES" in result.content[0].text
    api.replies = [reply(b"x" * 3000, "image/png")]
    with pytest.raises(ToolError, match="cut after 2,000 of 3,000 bytes"):
        await client.send("GET", "/image")


async def test_an_echo_of_the_request_holds_no_token(
    api: Api, make_client: Callable[..., ApiClient]
) -> None:
    echo = {
        "headers": {"Authorization": f"Bearer {TOKEN}", TOKEN: 1},
        "up-time": TOKEN,
    }
    body = json.dumps(echo).encode()
    link = {"Link": f"<{TOKEN}>; rel=next"}
    api.replies = [Reply(body=body, headers=JSON | link)]
    for model in (Documented, Undocumented):
        result = await result_of(server_for(make_client(), model), "legacy")
        assert TOKEN not in str(result)
        assert result.structured_content["headers"] == {
            "Authorization": "Bearer ***",
            "***": 1,
        }

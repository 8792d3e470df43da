"""The type of a body, a change of nothing, and every way to page."""

import json
from typing import Any

import httpx2
import pytest
from fastmcp import Client

pytestmark = pytest.mark.anyio


async def test_a_body_has_the_type_that_its_request_says(scripted: Any) -> None:
    failed, text = await scripted.call("rename_pen", pen_id="1", name="A")
    assert not failed, text
    (request,) = scripted.requests
    assert request.headers["Content-Type"] == "application/merge-patch+json"
    assert json.loads(request.content) == {"name": "A"}


async def test_null_goes_to_the_fields_that_are_named(scripted: Any) -> None:
    scripted.responses = [httpx2.Response(200, json={})]
    rows: list[tuple[dict[str, Any], dict[str, Any]]] = [
        ({"clear": ["from"]}, {"from": None}),
        ({"clear": ["color"], "from": "B"}, {"color": None, "from": "B"}),
        ({"color": None, "from": "B"}, {"from": "B"}),
    ]
    for arguments, sent in rows:
        failed, text = await scripted.call("mark_pen", pen_id="1", **arguments)
        assert not failed, text
        assert json.loads(scripted.requests.pop().content) == sent
    for clear in (["pen_id"], []):
        failed, text = await scripted.call("mark_pen", pen_id="1", clear=clear)
        assert failed
        assert not scripted.requests
    async with Client(scripted.server) as client:
        tools = {tool.name: tool for tool in await client.list_tools()}
    schema = tools["mark_pen"].input_schema["properties"]["clear"]
    assert (schema["type"], schema["items"]["enum"]) == ("array", ["color", "from"])
    assert schema["default"] == []


async def test_what_is_detached_is_sent_as_null(scripted: Any) -> None:
    failed, text = await scripted.call("detach_cart", cart_id=1, owner="A")
    assert not failed, text
    assert json.loads(scripted.requests[0].content) == {"owner": None}


async def test_a_form_holds_texts(scripted: Any) -> None:
    scripted.responses = [httpx2.Response(201, json={"id": 1, "amount": 5})]
    failed, text = await scripted.call("create_card", amount=5)
    assert not failed, text
    (request,) = scripted.requests
    assert request.headers["Content-Type"] == "application/x-www-form-urlencoded"
    assert request.content == b"amount=5&live=true"


PAGES: list[tuple[str, httpx2.Response, Any]] = [
    ("a list", httpx2.Response(200, json=[{"id": 1}]), {"result": [{"id": 1}]}),
    ("a list with a link", httpx2.Response(200, json=[{"id": 1}], headers={
        "Link": '<http://api.invalid/v1/issues?per_page=20&page=2>; rel="next", <http://x/>; rel="last"'}),
     {"result": [{"id": 1}], "next_cursor": "2"}),
    ("a link for another parameter", httpx2.Response(200, json=[], headers={"Link": '</v1?after=2>; rel="next"'}),
     {"result": []}),
    ("a list under a key", httpx2.Response(200, json={"issues": [{"id": 1}], "total_count": 9}),
     {"issues": [{"id": 1}], "total_count": 9}),
    ("a cursor of its own", httpx2.Response(200, json={"data": [], "meta": {"next_cursor": "n1"}}),
     {"data": [], "meta": {"next_cursor": "n1"}}),
    ("no list", httpx2.Response(200, json={"a": [], "b": []}), {"a": [], "b": []}),
]  # fmt: skip


@pytest.mark.parametrize(
    ("answer", "expected"), [row[1:] for row in PAGES], ids=[r[0] for r in PAGES]
)
async def test_a_page_is_what_the_api_sent(
    scripted: Any, answer: httpx2.Response, expected: Any
) -> None:
    scripted.responses = [answer]
    async with Client(scripted.server) as client:
        page = await client.call_tool("list_issues", {"limit": 2, "cursor": "4"})
    assert page.structured_content == expected
    assert dict(scripted.requests[0].url.params) == {"per_page": "2", "page": "4"}


@pytest.mark.parametrize(
    ("tool", "arguments", "tries"),
    [
        ("search_parts", {"box_id": "1", "q": "a"}, 3),  # a POST that reads
        ("rename_pen", {"pen_id": "1", "name": "A"}, 3),  # a PATCH that is a put
        (
            "update_row",
            {"id": 1, "version": 1, "value": "A"},
            1,
        ),  # a PUT that is an update
    ],
)
async def test_the_behavior_decides_what_is_sent_again(
    scripted: Any, tool: str, arguments: dict[str, Any], tries: int
) -> None:
    scripted.responses = [httpx2.Response(503)]
    failed, _ = await scripted.call(tool, **arguments)
    assert (failed, len(scripted.requests)) == (True, tries)


async def test_what_a_caller_leaves_out_is_not_sent(scripted: Any) -> None:
    await scripted.call("update_note", note_id=1, etag='"x"', title="A")
    (request,) = scripted.requests
    assert json.loads(request.content) == {"title": "A"}
    assert request.headers["If-Match"] == '"x"'

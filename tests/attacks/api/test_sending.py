"""The type of a body, a change of nothing, and every way to page."""

import json
from typing import Any

import httpx2
import pytest
from attacks.api.scripted import Scripted, called, served
from fastmcp import Client

pytestmark = pytest.mark.anyio


async def test_a_body_has_the_type_that_its_request_says(scripted: Scripted) -> None:
    failed, text = await called(served(scripted), "rename_pen", pen_id="1", name="A")
    assert not failed, text
    (request,) = scripted.requests
    assert request.headers["Content-Type"] == "application/merge-patch+json"
    assert json.loads(request.content) == {"name": "A"}


async def test_a_change_of_nothing_is_no_success(scripted: Scripted) -> None:
    failed, text = await called(served(scripted), "rename_pen", pen_id="1", name=None)
    assert failed
    assert text == "nothing is to be changed; pass a field with a value, not null"
    assert not scripted.requests


async def test_null_goes_to_the_fields_that_are_named(scripted: Scripted) -> None:
    server = served(scripted)
    scripted.answers = [httpx2.Response(200, json={})]
    rows: list[tuple[dict[str, Any], dict[str, Any]]] = [
        ({"clear": ["from"]}, {"from": None}),
        ({"clear": ["color"], "from": "B"}, {"color": None, "from": "B"}),
        ({"color": None, "from": "B"}, {"from": "B"}),
    ]
    for given, sent in rows:
        failed, text = await called(server, "mark_pen", pen_id="1", **given)
        assert not failed, text
        assert json.loads(scripted.requests.pop().content) == sent
    for clear in (["pen_id"], []):
        failed, text = await called(server, "mark_pen", pen_id="1", clear=clear)
        assert failed
        assert not scripted.requests
    async with Client(server) as client:
        tools = {tool.name: tool for tool in await client.list_tools()}
    schema = tools["mark_pen"].input_schema["properties"]["clear"]
    assert (schema["type"], schema["items"]["enum"]) == ("array", ["color", "from"])
    assert schema["default"] == []


async def test_what_is_detached_is_sent_as_null(scripted: Scripted) -> None:
    failed, text = await called(served(scripted), "detach_cart", cart_id=1, owner="A")
    assert not failed, text
    assert json.loads(scripted.requests[0].content) == {"owner": None}


async def test_a_form_holds_texts(scripted: Scripted) -> None:
    scripted.answers = [httpx2.Response(201, json={"id": 1, "amount": 5})]
    failed, text = await called(served(scripted), "create_card", amount=5)
    assert not failed, text
    (request,) = scripted.requests
    assert request.headers["Content-Type"] == "application/x-www-form-urlencoded"
    assert request.content == b"amount=5&live=true"


async def test_the_next_page_is_asked_for_by_the_name_that_there_is(scripted: Scripted) -> None:
    async with Client(served(scripted)) as client:
        tools = {tool.name: tool for tool in await client.list_tools()}
    texts = {
        name: (tools[name].output_schema or {})["properties"]["next_cursor"]["description"]
        for name in ("list_logs", "search_books", "search_parts")
    }
    assert texts == {
        "list_logs": "Pass it as `cursor`; null on the last page.",
        "search_books": "Pass it as `page`; null on the last page.",
        "search_parts": "Null unless there is more, which this tool cannot ask for.",
    }
    scripted.answers = [httpx2.Response(200, json={"books": [{"id": 1}]})]
    async with Client(served(scripted)) as client:
        found = await client.call_tool("search_books", {"q": "a", "page": 4})
    assert (found.structured_content or {})["next_cursor"] == "5"


PAGES: list[tuple[str, dict[str, Any], httpx2.Response, Any, Any]] = [
    ("list_issues", {}, httpx2.Response(200, json=[{"id": 1}], headers={
        "Link": '<http://api.invalid/v1/issues?per_page=20&page=2>; rel="next", <http://x/>; rel="last"'}), "2", None),
    ("list_issues", {"limit": 1}, httpx2.Response(200, json=[{"id": 1}]), "2", None),
    ("list_issues", {"limit": 1, "cursor": "4"}, httpx2.Response(200, json={"issues": [{"id": 1}], "total_count": 9}), "5", 9),
    ("list_issues", {"limit": 2, "cursor": "x"}, httpx2.Response(200, json=[{"id": 1}, {"id": 2}]), None, None),
    ("list_issues", {"limit": 2}, httpx2.Response(200, json=[{"id": 1}], headers={"X-Total-Count": "1"}), None, 1),
    ("list_charges", {}, httpx2.Response(200, json={"data": [{"id": "c1"}, {"id": "c2"}], "has_more": True}), "c2", None),
    ("list_charges", {}, httpx2.Response(200, json={"data": [{"id": "c1"}], "has_more": False}), None, None),
    ("list_rows", {"limit": 1, "cursor": "3"}, httpx2.Response(200, json={"count": 8, "results": [{"id": 1}]}), "4", 8),
    ("list_logs", {}, httpx2.Response(200, json={"logs": [{"id": 1}], "meta": {"next_cursor": "n1"}}), "n1", None),
    ("list_logs", {}, httpx2.Response(200, json={"logs": [{"id": 1}], "next": "/v1/logs?cursor=n2&limit=20"}), "n2", None),
    ("list_logs", {}, httpx2.Response(200, json={"logs": [{"id": 1}], "links": {"next": None}, "errors": []}), None, None),
    ("list_logs", {}, httpx2.Response(200, json={"other": [{"id": 1}]}), None, None),
    # A field of the answer that is called as the input; that it only repeats the input is no next page.
    ("list_logs", {}, httpx2.Response(200, json={"logs": [{"id": 1}], "cursor": "n3"}), "n3", None),
    ("list_logs", {"cursor": "n3"}, httpx2.Response(200, json={"logs": [{"id": 1}], "cursor": "n3"}), None, None),
    ("list_logs", {}, httpx2.Response(200, json={"logs": [{"id": 1}], "response_metadata": {"nextToken": "n4"}}), "n4", None),
    # Numbered pages without a size that anybody said: a page with something on it may not be the last.
    ("list_pages", {}, httpx2.Response(200, json=[{"id": 1}]), "2", None),
    ("list_pages", {"cursor": "7"}, httpx2.Response(200, json=[{"id": 1}]), "8", None),
    ("list_pages", {}, httpx2.Response(200, json={"items": [{"id": 1}], "next_page": None}), None, None),
]  # fmt: skip


@pytest.mark.parametrize(("tool", "asked", "answer", "after", "total"), PAGES)
async def test_every_way_to_page_is_ours(
    scripted: Scripted,
    tool: str,
    asked: dict[str, Any],
    answer: httpx2.Response,
    after: Any,
    total: Any,
) -> None:
    scripted.answers = [answer]
    async with Client(served(scripted)) as client:
        page = (await client.call_tool(tool, asked)).structured_content or {}
    assert page["items"]
    assert (page["next_cursor"], page["total"]) == (after, total)
    names = {
        "list_issues": "page",
        "list_pages": "page[number]",
        "list_charges": "starting_after",
        "list_rows": "offset",
    }
    sent = scripted.requests[0].url.params
    assert sent.get(names.get(tool, "cursor")) == asked.get("cursor")


async def test_an_answer_without_a_list_says_so(scripted: Scripted) -> None:
    scripted.answers = [httpx2.Response(200, json={"a": [], "b": []})]
    _, text = await called(served(scripted), "list_logs")
    assert text == "the answer of the API holds no list; name its field with items="

"""What the bodies of a reading list do that its names and fields implied; runs in its project."""

from collections.abc import Callable
from typing import Any

import pytest
from fastmcp.exceptions import ToolError
from reading_mcp.backend import Backend, backend
from reading_mcp.server import create_server
from reading_mcp.settings import Settings

pytestmark = pytest.mark.anyio
Call = Callable[..., Any]


@pytest.fixture
def call() -> Call:
    """Run the body of a tool by its name on three articles."""
    create_server(Settings(database=":memory:"))
    ready: list[bool] = []

    async def arrange(store: Backend) -> None:
        for number in (1, 2, 3):
            fields = {
                "title": f"Title {number}",
                "url": f"https://example.com/{number}",
                "tags": ["a", "b"] if number == 1 else ["b"] if number == 2 else [],
                "read": number == 1,
            }
            await store.create("article", fields, id=number)

    async def run(name: str, **arguments: Any) -> dict[str, Any]:
        from importlib import import_module

        if not ready:
            await arrange(backend())
            ready.append(True)
        tool = getattr(import_module(f"reading_mcp.tools.{name}"), name)
        result: dict[str, Any] = (await tool(**arguments)).model_dump()
        return result

    return run


async def read_field(name: str, article_id: int) -> object:
    return (await backend().get("article", article_id)).model_dump().get(name)


def list_ids(result: dict[str, Any]) -> list[int]:
    return [item["id"] for item in result["items"]]


async def test_yes_and_no_are_set(call: Call) -> None:
    await call("mark_article_read", article_id=2)
    assert await read_field("read", 2) is True
    await call("mark_as_unread", article_id=1)
    assert await read_field("read", 1) is False
    await call("mark_articles_read", article_ids=[1, 3])
    assert await read_field("read", 3) is True
    await call("complete_article", article_id=1)
    assert await read_field("completed", 1) is True
    assert await read_field("title", 1) == "Title 1"


async def test_a_toggle_inverts(call: Call) -> None:
    assert (await call("toggle_article_read", article_id=1))["read"] is False
    assert (await call("toggle_read", article_id=1))["read"] is True


async def test_nothing_is_created_by_marking(call: Call) -> None:
    for name in ("mark_article_read", "archive_article", "toggle_read"):
        with pytest.raises(ToolError, match="does not exist"):
            await call(name, article_id=9)
    with pytest.raises(ToolError, match="does not exist"):
        await call("archive_articles", article_ids=[1, 9])


async def test_tags_are_added_and_removed(call: Call) -> None:
    assert (await call("tag_article", article_id=1, tags=["b", "c"]))["tags"] == [
        "a",
        "b",
        "c",
    ]
    await call("add_tag_to_article", article_id=2, tags=["d"])
    assert await read_field("tags", 2) == ["b", "d"]
    assert (await call("untag_article", article_id=1, tags=["a"]))["tags"] == ["b", "c"]
    await call("remove_tag", article_id=1, tags=["b", "x"])
    assert await read_field("tags", 1) == ["c"]
    assert await read_field("title", 1) == "Title 1"


async def test_tags_are_listed_and_counted(call: Call) -> None:
    assert await call("list_tags") == {"tags": ["a", "b"]}
    assert await call("count_articles_by_tag") == {"counts": {"a": 1, "b": 2}}
    statistics = await call("get_statistics")
    assert statistics["total"] == 3
    assert statistics["read"] == 1
    assert statistics["tags"] == {"a": 1, "b": 2}


async def test_searches_select(call: Call) -> None:
    assert list_ids(await call("list_unread_articles")) == [2, 3]
    assert list_ids(await call("list_articles", tag="b")) == [1, 2]
    assert list_ids(await call("list_articles", tag="b", read=False)) == [2]
    assert list_ids(await call("search_articles", query="TITLE", read=True)) == [1]
    assert list_ids(await call("list_articles_by_tag", tag="a")) == [1]
    assert (await call("count_unread_articles"))["count"] == 2
    assert (await call("count_articles"))["count"] == 3


async def test_a_search_has_pages(call: Call) -> None:
    first = await call("search_articles", query="title", limit=2)
    assert list_ids(first) == [1, 2]
    assert first["total"] == 3
    second = await call("search_articles", query="title", cursor=first["next_cursor"])
    assert list_ids(second) == [3]
    assert second["next_cursor"] is None


async def test_a_missing_yes_or_no_is_a_no(call: Call) -> None:
    await call("archive_article", article_id=3)
    assert list_ids(await call("list_archived_articles")) == [3]
    assert list_ids(await call("list_articles", archived=False)) == [1, 2]
    await backend().create("article", {"title": "imported"}, id=4)
    assert list_ids(await call("list_unread_articles")) == [2, 3, 4]


async def test_an_article_is_found_by_its_address(call: Call) -> None:
    assert (await call("get_article_by_url", url="https://example.com/2"))["id"] == 2
    with pytest.raises(ToolError, match="no article has url https://"):
        await call("get_article_by_url", url="https://example.com/9")


async def test_bulk_deletions_remove_what_they_name(call: Call) -> None:
    assert await call("delete_read_articles") == {"count": 1}
    assert await call("delete_articles", article_ids=[2, 9]) == {"count": 1}
    assert list(await backend().snapshot()) == ["article/3"]

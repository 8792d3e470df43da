"""The embedded store of a rendered server behind its tools: pages, stale updates, whose files they are."""

import os
import stat
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from fastmcp import Client
from fastmcp.exceptions import ToolError
from notes_mcp.server import create_server
from notes_mcp.settings import Settings

SETTINGS = Settings(database=":memory:", state="memory", metadata=Path("none"))
Notes = Client[Any]


@pytest.fixture
async def client() -> AsyncIterator[Notes]:
    async with Client(create_server(SETTINGS)) as client:
        yield client


async def content(client: Notes, tool: str, **arguments: object) -> dict[str, Any]:
    """Return the structured content of a result."""
    return (await client.call_tool(tool, arguments)).structured_content or {}


async def error(client: Notes, tool: str, **arguments: object) -> str:
    """Return the error of a refused call."""
    with pytest.raises(ToolError) as refused:
        await client.call_tool(tool, arguments)
    return str(refused.value)


@pytest.mark.anyio
async def test_pages_hold_everything_once(client: Notes) -> None:
    for number in range(5):
        await content(client, "create_note", title=f"n{number}", content="x")
    page = await content(client, "search_notes", limit=2)
    pages = [page]
    while page["next_cursor"] is not None:
        page = await content(
            client, "search_notes", limit=2, cursor=page["next_cursor"]
        )
        pages.append(page)
    titles = [[item["title"] for item in page["items"]] for page in pages]
    assert titles == [["n0", "n1"], ["n2", "n3"], ["n4"]]
    assert {page["total"] for page in pages} == {5}


@pytest.mark.parametrize("cursor", ["9" * 30, "x"])
@pytest.mark.anyio
async def test_a_made_up_cursor_is_refused(client: Notes, cursor: str) -> None:
    assert (await error(client, "search_notes", cursor=cursor)).startswith(
        f"cursor '{cursor}"
    )


@pytest.mark.anyio
async def test_a_stale_update_says_what_to_do(client: Notes) -> None:
    await content(client, "create_note", title="first", content="x")
    old = (await content(client, "get_note", note_id=1))["etag"]
    await content(client, "update_note", note_id=1, etag=old, title="new")
    refused = await error(client, "update_note", note_id=1, etag=old, title="newer")
    assert "was changed since" in refused
    assert "read it again" in refused


@pytest.mark.skipif(os.name == "nt", reason="needs modes")
def test_records_lie_in_a_folder_of_their_owner(tmp_path: Path) -> None:
    place = str(tmp_path / "data/data.db")
    create_server(SETTINGS.model_copy(update={"database": place}))
    assert stat.S_IMODE((tmp_path / "data").stat().st_mode) == 0o700


@pytest.mark.skipif(os.name == "nt", reason="needs modes")
@pytest.mark.parametrize("mode", [None, 0o644], ids=["new", "was-for-all"])
def test_records_are_their_owners_in_any_folder(
    tmp_path: Path, mode: int | None
) -> None:
    tmp_path.chmod(0o755)
    file = tmp_path / "data.db"
    if mode:
        file.touch()
        file.chmod(mode)
    create_server(SETTINGS.model_copy(update={"database": str(file)}))
    modes = {}
    for path in tmp_path.iterdir():
        modes[path.name] = stat.S_IMODE(path.stat().st_mode)
    assert modes["data.db"] == 0o600
    assert set(modes.values()) == {0o600}, "the log of SQLite too"

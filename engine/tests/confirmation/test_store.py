"""A store that is away lets nothing through; one in a folder is nobody else's; a flood fills neither memory nor disk."""

import os
import stat
import sys
from pathlib import Path
from typing import Any

import anyio
import pytest
from fastmcp import Client
from fastmcp.exceptions import ToolError

from copier_fastmcp_engine.confirmation import pending
from copier_fastmcp_engine.confirmation.pending import PendingStore
from copier_fastmcp_engine.errors import StartError
from engine.tests.engine_support.notes.server import TWO_STEP, create_server
from engine.tests.engine_support.notes.store import STORE
from engine.tests.engine_support.raw import LEGACY, MODERN
from engine.tests.engine_support.targets import SETTINGS, make_audit_log


@pytest.mark.anyio
@pytest.mark.parametrize("confirm", [False, True], ids=["first-call", "confirm"])
@pytest.mark.parametrize("era", [LEGACY, MODERN])
async def test_a_store_that_is_away_lets_nothing_through(
    era: str, confirm: bool
) -> None:
    server = create_server(
        SETTINGS.model_copy(update={"state": "redis://127.0.0.1:1/0"})
    )
    STORE.save(None, title="a")
    arguments = {"note_id": 1} | ({"confirm": True} if confirm else {})
    async with Client(server, mode=era) as client:
        answer = await client.call_tool("delete_note", arguments, raise_on_error=False)
    assert answer.is_error
    (block,) = answer.content
    text = getattr(block, "text", "")  # without the address of the store
    assert text == "approvals are temporarily unavailable; try again later"
    assert list(STORE.notes) == [1]


@pytest.mark.skipif(os.name == "nt", reason="needs modes")
def test_only_the_owner_can_read_a_folder_of_confirmations(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        create_server(SETTINGS.model_copy(update={"state": str(tmp_path / "state")}))
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "state").stat().st_mode) == 0o700


@pytest.mark.skipif(os.name == "nt", reason="needs modes")
def test_a_folder_in_which_anybody_could_approve_stops_the_start(
    tmp_path: Path,
) -> None:
    (tmp_path / "state").mkdir()
    (tmp_path / "state").chmod(0o777)
    with pytest.raises(StartError, match="anyone could approve; run `chmod o-w "):
        create_server(SETTINGS.model_copy(update={"state": str(tmp_path / "state")}))


def make_store(where: str) -> PendingStore:
    """Return a store of the server's policy."""
    return PendingStore(TWO_STEP, where, 600, make_audit_log())


@pytest.mark.anyio
@pytest.mark.parametrize("where", ["memory", "folder"])
async def test_all_that_is_pending_has_one_budget_of_bytes(
    where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pending, "MAX_BYTES", 100_000)
    store = make_store("memory" if where == "memory" else str(tmp_path / "state"))
    for number in range(60):  # as many callers
        await store.put(f"page-{number}", {"sealed": "x" * 9_000})
        await store.put(f"link-{number}", {"key": str(number)})
    size = 0
    for number in range(60):
        page = await store.get(f"page-{number}")
        if page is not None:
            size += len(str(page))
    assert 50_000 < size < 100_000
    assert await store.get("page-0") is None
    assert await store.get("page-59") == {"sealed": "x" * 9_000}


@pytest.mark.anyio
async def test_taken_and_expired_entries_free_their_space(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pending, "MAX_BYTES", 35_000)
    monkeypatch.setattr(pending, "CULL_EVERY", 2)
    store = make_store("memory")
    await store.put("first", {"sealed": "x" * 9_000})
    for number in range(9):
        await store.put(f"taken-{number}", {"sealed": "x" * 9_000})
        await store.take(f"taken-{number}")
        await store.put(f"over-{number}", {"sealed": "x" * 9_000}, 0.001)
        await anyio.sleep(0.002)
    assert await store.get("first")


@pytest.mark.anyio
async def test_an_entry_written_while_another_request_found_none_stays_and_counts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pending, "MAX_BYTES", 15_000)
    entry = {"sealed": "x" * 9_000}
    store = make_store("memory")
    get = store.store.get

    async def find_none(name: str, *, collection: str) -> None:
        assert await get(name, collection=collection) is None
        await store.put(name, entry)

    with monkeypatch.context() as patch:
        patch.setattr(store.store, "get", find_none)
        assert await store.take("preview") is None
    assert await store.get("preview") == entry
    await store.put("next", entry)
    assert await store.get("preview") is None


@pytest.mark.anyio
async def test_expired_entries_leave_the_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pending, "CULL_EVERY", 2)
    store = make_store(str(tmp_path / "state"))
    for number in range(2):
        await store.put(f"over-{number}", {"sealed": "x"}, 0.001)
        await anyio.sleep(0.002)
    await store.put("pending", {"sealed": "x"})
    files = [path.stem for path in tmp_path.rglob("*.json")]
    assert "pending" in files
    assert "over-1" not in files


@pytest.mark.anyio
async def test_an_entry_that_would_push_out_the_others_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pending, "MAX_ENTRY", 10_000)
    store = make_store("memory")
    with pytest.raises(ToolError, match=r"take 2\d,\d{3} bytes.*; send less at once$"):
        await store.put("page", {"sealed": "x" * 20_000})


@pytest.mark.anyio
async def test_an_entry_that_is_written_anew_takes_its_space_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pending, "MAX_BYTES", 35_000)
    store = make_store("memory")
    await store.put("first", {"sealed": "x" * 9_000})
    for _ in range(9):
        await store.put("again", {"sealed": "x" * 9_000})
    assert await store.get("first")


@pytest.mark.anyio
async def test_an_entry_that_cannot_be_removed_is_not_taken(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def fail(*_: object, **options: object) -> bool:
        raise OSError("redis://user:secret@example.com is away")

    store = make_store("memory")
    await store.put("asked", {"a": 1})
    monkeypatch.setattr(store.store, "delete", fail)
    with pytest.raises(ToolError, match="are temporarily unavailable") as refused:
        await store.take("asked")
    assert "secret" not in str(refused.value)
    (record,) = caplog.records
    assert record.name.endswith(".confirmation")
    assert "is away" in record.getMessage()


def test_an_address_of_no_store_stops_the_start(tmp_path: Path) -> None:
    with pytest.raises(StartError, match=r"'http://.*: use memory, a folder, or a "):
        make_store("http://127.0.0.1/0")
    assert [*tmp_path.iterdir()] == []


def test_a_missing_redis_package_is_named_with_its_remedy(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "redis.asyncio", None)
    with pytest.raises(StartError, match="uv sync --extra redis"):
        make_store("redis://127.0.0.1/0")


def test_a_state_folder_that_cannot_be_made_is_refused_with_a_remedy(
    tmp_path: Path,
) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StartError, match="use memory or a writable folder"):
        make_store(str(tmp_path / "file" / "state"))


def test_redis_is_reached_over_tls_where_the_address_says_so() -> None:
    store: Any = make_store("rediss://127.0.0.1:1/0").store
    pool = store._client.connection_pool
    assert pool.connection_class.__name__ == "SSLConnection"


@pytest.mark.skipif(os.name == "nt", reason="needs modes")
def test_a_folder_that_only_its_owner_writes_holds_confirmations(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "deep" / "state"
    make_store(str(folder))
    folder.chmod(0o755)
    make_store(str(folder))


@pytest.mark.anyio
async def test_an_exchange_leaves_nothing_where_there_is_no_entry() -> None:
    store = make_store("memory")
    assert await store.exchange("preview-a", "done-a", {"applied": "a"}) is None
    assert await store.get("done-a") is None
    await store.put("preview-a", {"asked": "a"})
    entry = await store.exchange("preview-a", "done-a", {"applied": "a"})
    assert entry == {"asked": "a"}
    assert await store.get("preview-a") is None
    assert await store.get("done-a") == {"applied": "a"}

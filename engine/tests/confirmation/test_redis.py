"""A Redis that is away in the middle of a call: nothing runs unasked, nothing runs twice, and the error is one line."""

import shutil
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from fastmcp import FastMCP
from listening import free_port, running

from copier_fastmcp_engine.confirmation import pending
from copier_fastmcp_engine.confirmation.pending import COLLECTION, PendingStore
from copier_fastmcp_engine.declarations import delete
from copier_fastmcp_engine.guard import guard_of
from copier_fastmcp_engine.redis_client import connect_redis
from engine.tests.engine_support.calls import ACCEPT, CANNOT_ASK, call, message_of
from engine.tests.engine_support.notes.server import TWO_STEP, notes_settings
from engine.tests.engine_support.raw import ELICITS, Raw, connect
from engine.tests.engine_support.targets import (
    DONE,
    Name,
    make_audit_log,
    make_target_server,
)

PROGRAM = shutil.which("redis-server")
pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(not PROGRAM, reason="no redis-server here"),
]
AWAY = "approvals are temporarily unavailable; try again later"


@contextmanager
def redis_on(port: int, folder: Path, *more: str) -> Iterator[Any]:
    """A Redis on a port until the block ends, with more options where some are needed."""
    assert PROGRAM
    options = ["--port", str(port), "--bind", "127.0.0.1", "--save", "", *more]
    with running([PROGRAM, *options, "--dir", str(folder)], port) as process:
        yield process


@pytest.fixture
def port() -> Iterator[int]:
    """A port for a Redis that comes and goes."""
    with free_port() as number:
        yield number


async def close(store: Any) -> None:
    """Close the connections of a store."""
    await store._client.aclose()


@asynccontextmanager
async def client_of(
    port: int,
    era: str,
    *functions: Callable[..., Any],
    can: Any = CANNOT_ASK,
) -> AsyncIterator[Raw]:
    """A client of a server that keeps its confirmations in that Redis."""
    pytest.importorskip("redis")
    settings = notes_settings(TWO_STEP, state=f"redis://127.0.0.1:{port}/0")
    server: FastMCP[Any] = make_target_server(600, *functions, settings=settings)
    async with connect(server, era, ACCEPT, can=can) as raw:
        yield raw
    await close(guard_of(server).gate.store)


async def test_between_a_preview_and_its_confirm_nothing_is_applied(
    port: int, era: str, tmp_path: Path
) -> None:
    async with client_of(port, era) as raw:
        with redis_on(port, tmp_path):
            assert await call(raw, "wipe", name="a") == "preview"
        message = await message_of(raw, "wipe", name="a", confirm=True)
        assert message["result"]["isError"]
        assert message["result"]["content"][0]["text"] == AWAY
        with redis_on(port, tmp_path):  # as empty as after a crash
            assert await call(raw, "wipe", name="a", confirm=True) == "error"
            assert DONE == []
            assert await call(raw, "wipe", name="a") == "preview"
            assert await call(raw, "wipe", name="a", confirm=True) == "applied"
    assert DONE == ["a"]


async def test_between_a_question_and_its_answer_nothing_is_applied(
    port: int, tmp_path: Path
) -> None:
    async with client_of(port, "2026-07-28", can=ELICITS) as raw:
        with redis_on(port, tmp_path):
            raw.answers = [None]
            question = await message_of(raw, "wipe", name="a")
        number = await raw.send(
            "tools/call",
            name="wipe",
            arguments={"name": "a"},
            requestState=question["result"]["requestState"],
            inputResponses={"confirmation": ACCEPT},
        )
        message = await raw.receive(number)
        assert message["result"]["content"][0]["text"] == AWAY
    assert DONE == []


async def test_a_store_lost_during_the_body_returns_its_result_once(
    port: int, era: str, tmp_path: Path
) -> None:
    stop: list[Any] = []

    @delete(title="Wipe slowly")
    async def wipe_slowly(name: Name) -> None:
        """Wipe one, while the store goes away."""
        DONE.append(name)
        stop[0].kill()
        stop[0].wait()

    async with client_of(port, era, wipe_slowly) as raw:
        with redis_on(port, tmp_path) as process:
            stop.append(process)
            assert await call(raw, "wipe_slowly", name="a") == "preview"
            applied = await call(raw, "wipe_slowly", name="a", confirm=True)
            assert applied == "applied"
            assert await call(raw, "wipe_slowly", name="a", confirm=True) == "error"
    assert DONE == ["a"]


async def test_calls_of_one_moment_wait_for_a_connection(
    port: int, tmp_path: Path
) -> None:
    pytest.importorskip("redis")
    where = f"redis://127.0.0.1:{port}/0"
    names = [f"preview-{number}" for number in range(300)]
    with redis_on(port, tmp_path):
        store = PendingStore(TWO_STEP, where, 600, make_audit_log())
        async with anyio.create_task_group() as group:
            for name in names:
                group.start_soon(store.put, name, {"asked": name})
        stored = [await store.get(name) for name in names]
        await close(store.store)
    assert stored == [{"asked": name} for name in names]


OPTIONS: dict[str, tuple[str, ...]] = {
    "new": (),
    "old": ("--rename-command", "GETDEL", ""),
    "without scripts": ("--rename-command", "EVAL", ""),
}


@pytest.fixture(params=list(OPTIONS.values()), ids=list(OPTIONS))
def entries_of(
    request: pytest.FixtureRequest, port: int, tmp_path: Path
) -> Iterator[str]:
    """The address of a Redis, also of one without a command that takes or exchanges an entry at once."""
    pytest.importorskip("redis")
    with redis_on(port, tmp_path, *request.param):
        yield f"redis://127.0.0.1:{port}/0"


async def test_of_takes_at_once_one_gets_the_entry(entries_of: str) -> None:
    stores = []
    for _ in range(2):
        stores.append(PendingStore(TWO_STEP, entries_of, 600, make_audit_log()))
    taken: list[object] = []

    async def take(store: PendingStore) -> None:
        taken.append(await store.take("preview-a"))

    await stores[0].put("preview-a", {"asked": "a"})
    async with anyio.create_task_group() as group:
        for number in range(40):
            group.start_soon(take, stores[number % 2])
    assert await stores[0].get("preview-a") is None
    for store in stores:
        await close(store.store)
    assert taken.count({"asked": "a"}) == 1
    assert taken.count(None) == 39


async def test_of_exchanges_at_once_one_gets_the_entry_and_leaves_its_own(
    entries_of: str,
) -> None:
    stores = []
    for _ in range(2):
        stores.append(PendingStore(TWO_STEP, entries_of, 600, make_audit_log()))
    taken: dict[int, object] = {}

    async def exchange(number: int) -> None:
        taken[number] = await stores[number % 2].exchange(
            "preview-a", "done-a", {"applied": number}
        )

    await stores[0].put("preview-a", {"asked": "a"})
    async with anyio.create_task_group() as group:
        for number in range(40):
            group.start_soon(exchange, number)
    winners = [number for number, entry in taken.items() if entry is not None]
    left = await stores[1].get("done-a")
    is_gone = await stores[1].get("preview-a") is None
    for store in stores:
        await close(store.store)
    assert [taken[number] for number in winners] == [{"asked": "a"}]
    assert left == {"applied": winners[0]}
    assert is_gone


async def test_an_exchange_takes_one_command(
    port: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(*_: object, **options: object) -> None:
        raise AssertionError("another call may come between two commands")

    pytest.importorskip("redis")
    with redis_on(port, tmp_path):
        where = f"redis://127.0.0.1:{port}/0"
        store = PendingStore(TWO_STEP, where, 600, make_audit_log())
        await store.put("preview-a", {"asked": "a"})
        monkeypatch.setattr(store.store, "take", fail)
        entry = await store.exchange("preview-a", "done-a", {"applied": "a"})
        left = await store.get("done-a")
        await close(store.store)
    assert (entry, left) == ({"asked": "a"}, {"applied": "a"})


@pytest.mark.parametrize(
    ("name", "size", "is_kept"),
    [
        ("preview-a", 9_000, True),
        ("preview-a", 20_000, False),
        ("preview-b", 20_000, True),
    ],
    ids=["in place of another", "too large for all", "of nothing"],
)
async def test_an_exchange_counts_the_space_of_both_entries(
    entries_of: str,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    size: int,
    is_kept: bool,
) -> None:
    monkeypatch.setattr(pending, "MAX_BYTES", 35_000)
    store = PendingStore(TWO_STEP, entries_of, 600, make_audit_log())
    for key in ("first", "second", "preview-a"):
        await store.put(key, {"sealed": "x" * 9_000})
    await store.exchange(name, "done-a", {"sealed": "x" * size})
    first, second = await store.get("first"), await store.get("second")
    await close(store.store)
    assert (first is not None) is is_kept
    assert second


async def test_what_an_exchange_leaves_is_gone_when_its_time_is_over(
    entries_of: str,
) -> None:
    store = PendingStore(TWO_STEP, entries_of, 0.3, make_audit_log())
    await store.put("preview-a", {"asked": "a"})
    assert await store.exchange("preview-a", "done-a", {"applied": "a"})
    assert await store.get("done-a") == {"applied": "a"}
    await anyio.sleep(0.4)
    assert await store.get("done-a") is None
    await close(store.store)


async def test_an_entry_is_read_and_removed_in_one_command(
    entries_of: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(*_: object, **options: object) -> None:
        raise AssertionError("another replica may write in between")

    store = PendingStore(TWO_STEP, entries_of, 600, make_audit_log())
    await store.put("preview-a", {"asked": "a"})
    with monkeypatch.context() as patch:
        patch.setattr(store.store, "get", fail)
        assert await store.take("preview-a") == {"asked": "a"}
    assert await store.get("preview-a") is None
    await close(store.store)


async def test_an_entry_is_gone_when_its_time_is_over(entries_of: str) -> None:
    store = PendingStore(TWO_STEP, entries_of, 600, make_audit_log())
    await store.put("preview-a", {"asked": "a"}, 0.05)
    await anyio.sleep(0.1)
    assert await store.take("preview-a") is None
    await close(store.store)


async def test_replicas_of_two_releases_share_their_entries(entries_of: str) -> None:
    redis_store = pytest.importorskip("key_value.aio.stores.redis")
    earlier = redis_store.RedisStore(client=connect_redis(entries_of))
    store = PendingStore(TWO_STEP, entries_of, 600, make_audit_log())
    await earlier.put("preview-a", {"asked": "a"}, collection=COLLECTION, ttl=600)
    assert await store.take("preview-a") == {"asked": "a"}
    await store.put("preview-b", {"asked": "b"})
    assert await earlier.get("preview-b", collection=COLLECTION) == {"asked": "b"}
    await close(earlier)
    await close(store.store)

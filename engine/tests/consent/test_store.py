"""The rows of consent: each is taken once, counted up to its limit, held by one caller, and sealed to its place."""

import os
import stat
import time
from pathlib import Path
from typing import Any

import anyio
import pytest
from fastmcp.exceptions import ToolError

from copier_fastmcp_engine.consent import store as consent_store
from copier_fastmcp_engine.consent.rows import SqliteRows
from copier_fastmcp_engine.consent.store import Cipher, Store
from engine.tests.engine_support.cloud.settings import POLICY
from engine.tests.engine_support.granting import NO_REDIS, SECRET, redis

pytestmark = pytest.mark.anyio
OLD = "o" * 32
NEW = "n" * 32


@pytest.fixture
def store() -> Store:
    """A store in memory."""
    return Store(POLICY, "memory", ":memory:", [SECRET])


async def run_at_once(times: int, work: Any, *arguments: Any) -> list[Any]:
    """Return the results of the same call, made several times at once."""
    results: list[Any] = []

    async def run() -> None:
        results.append(await work(*arguments))

    async with anyio.create_task_group() as tasks:
        for _ in range(times):
            tasks.start_soon(run)
    return results


async def test_one_of_several_simultaneous_callers_takes_a_row(store: Store) -> None:
    await store.put("states", "a", {"x": 1}, 60)
    taken = await run_at_once(8, store.take, "states", "a")
    rows = [row for row in taken if row is not None]
    assert rows == [{"x": 1}]
    assert await store.get("states", "a") is None


async def test_a_row_that_no_secret_of_ours_opens_is_left_to_others(
    tmp_path: Path,
) -> None:
    """As to a replica that has a newer secret already."""
    path = str(tmp_path / "c.db")
    ours = Store(POLICY, "memory", path, [OLD])
    other = Store(POLICY, "memory", path, [NEW])
    await other.put("states", "a", {"x": 1}, 60)
    assert await ours.take("states", "a") is None
    assert await other.take("states", "a") == {"x": 1}


async def test_one_of_several_simultaneous_callers_drops_a_row(store: Store) -> None:
    await store.put("open", "a", {}, 60)
    dropped = await run_at_once(8, store.drop, "open", "a")
    assert dropped.count(True) == 1
    assert dropped.count(False) == 7


async def test_a_row_that_is_over_is_neither_taken_nor_dropped(store: Store) -> None:
    await store.put("open", "a", {}, 0.01)
    await anyio.sleep(0.02)
    assert await store.get("open", "a") is None
    assert await store.drop("open", "a") is False
    assert await store.take("open", "a") is None


async def test_a_row_without_an_end_stays(store: Store) -> None:
    await store.put("grants", "a", {"x": 1})
    await store.put("grants", "b", {"x": 2})
    assert await store.get("grants", "a") == {"x": 1}


async def test_events_are_counted_up_to_their_limit(store: Store) -> None:
    counted = await run_at_once(5, store.count, "starts", "ann", 3, 60)
    assert counted.count(True) == 3
    assert counted.count(False) == 2
    assert await store.count("starts", "bob", 3, 60)
    assert await store.count("openings", "ann", 3, 60)


async def test_counted_events_are_forgotten_after_their_period(store: Store) -> None:
    assert await store.count("starts", "ann", 1, 0.5)
    assert not await store.count("starts", "ann", 1, 0.5)
    await anyio.sleep(0.6)
    assert await store.count("starts", "ann", 1, 0.5)


async def test_a_turn_is_held_by_one_caller(store: Store) -> None:
    order: list[str] = []

    async def work() -> None:
        async with store.turn("ann"):
            order.append("in")
            await anyio.sleep(0.01)
            order.append("out")

    await run_at_once(3, work)
    assert order == ["in", "out"] * 3


async def test_a_turn_is_not_waited_for_without_end(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(consent_store, "TURN", 0.1)
    looks = []
    add = store.add

    async def count_looks(*row: Any) -> bool:
        looks.append(row)
        return await add(*row)

    began = time.monotonic()
    async with store.turn("ann"), store.turn("bob"):
        monkeypatch.setattr(store, "add", count_looks)
        with pytest.raises(ToolError, match="try again later"):
            async with store.turn("ann"):
                pass
    assert 0.1 <= time.monotonic() - began < 5
    assert 2 <= len(looks) <= 4
    async with store.turn("ann"):
        pass


async def test_a_turn_ends_where_its_caller_is_cancelled(store: Store) -> None:
    with anyio.move_on_after(0.05):
        async with store.turn("ann"):
            await anyio.sleep(10)
    with anyio.fail_after(5):
        async with store.turn("ann"):
            pass


@NO_REDIS
async def test_rows_in_redis_expire_and_are_taken_once(tmp_path: Path) -> None:
    pytest.importorskip("redis")
    with redis(tmp_path) as address:
        first = Store(POLICY, address, ":memory:", [SECRET])
        second = Store(POLICY, address, ":memory:", [SECRET])
        await first.put("states", "a", {"x": 1}, 60)
        assert await second.get("states", "a") == {"x": 1}
        assert await second.take("states", "a") == {"x": 1}
        assert await first.take("states", "a") is None
        assert await first.add("turns", "a", 0.05)
        assert not await second.add("turns", "a", 0.05)
        await anyio.sleep(0.1)
        assert await second.add("turns", "a", 60)
        for store in (first, second):
            rows: Any = store._rows
            await rows._client.aclose()


@pytest.mark.skipif(os.name != "posix", reason="file modes are of POSIX")
def test_the_folder_of_a_store_is_made_for_its_owner(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "c.db"
    SqliteRows(POLICY, str(path))
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_a_store_in_memory_leaves_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    SqliteRows(POLICY, ":memory:")
    assert list(tmp_path.iterdir()) == []


def test_the_newest_secret_seals_and_an_older_one_still_opens() -> None:
    old = Cipher([OLD])
    new = Cipher([NEW])
    both = Cipher([NEW, OLD])
    sealed_by_old = old.seal("grants/a", {"x": 1})
    sealed_by_both = both.seal("grants/a", {})
    assert both.open("grants/a", sealed_by_old) == {"x": 1}
    assert old.open("grants/a", sealed_by_both) is None
    assert new.open("grants/a", sealed_by_old) is None


@pytest.mark.parametrize("sealed", ["", "no hex", "00", "00" * 40])
def test_what_no_secret_sealed_is_not_opened(sealed: str) -> None:
    assert Cipher([NEW]).open("grants/a", sealed) is None


def test_a_value_opens_at_its_place_alone() -> None:
    cipher = Cipher([NEW])
    sealed = cipher.seal("grants/a", {"x": 1})
    assert cipher.open("grants/a", sealed) == {"x": 1}
    assert cipher.open("grants/b", sealed) is None
    assert cipher.seal("grants/a", {"x": 1}) != sealed


def test_without_a_secret_each_process_has_one_of_its_own() -> None:
    cipher = Cipher([])
    other_process = Cipher([])
    sealed = cipher.seal("grants/a", {})
    assert cipher.open("grants/a", sealed) == {}
    assert other_process.open("grants/a", sealed) is None

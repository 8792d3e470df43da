"""A hundred thousand pending confirmations: what they cost, and that the newest can still be confirmed."""

import gc
import time
import tracemalloc

import pytest

from copier_fastmcp_engine.confirmation import pending
from copier_fastmcp_engine.confirmation.pending import PendingStore
from engine.tests.engine_support.calls import CANNOT_ASK, call
from engine.tests.engine_support.notes.server import TWO_STEP
from engine.tests.engine_support.raw import MODERN, connect
from engine.tests.engine_support.targets import DONE, make_audit_log, make_target_server

pytestmark = [pytest.mark.anyio, pytest.mark.nightly]
MANY = 100_000


@pytest.mark.parametrize("characters", [0, 2_000])
async def test_entries_stay_within_the_memory_budget(
    characters: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A tenth of the budget and of the entries: Python is much slower while its memory is traced."""
    monkeypatch.setattr(pending, "MAX_BYTES", pending.MAX_BYTES // 10)
    gc.collect()
    tracemalloc.start()
    store = PendingStore(TWO_STEP, "memory", 600, make_audit_log())
    await fill(store, MANY // 10, characters)
    taken, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    print(f"{taken / 1e6:.1f} MB of {pending.MAX_BYTES / 1e6:.1f}")
    assert taken < pending.MAX_BYTES
    assert await store.get(f"preview-{MANY // 10 - 1:064}")


async def fill(store: PendingStore, count: int, characters: int) -> None:
    """Put so many entries into a store."""
    entry = {"asked": "0" * 64, "answers": {}, "has_form": False}
    if characters:
        entry["sealed"] = "x" * characters
    for number in range(count):
        await store.put(f"preview-{number:064}", entry)


async def test_of_many_entries_the_newest_are_kept() -> None:
    store = PendingStore(TWO_STEP, "memory", 600, make_audit_log())
    start = time.process_time()
    await fill(store, MANY, 0)
    seconds = (time.process_time() - start) / MANY
    names = [f"preview-{number:064}" for number in range(0, MANY, 1000)]
    stored = [name for name in names if await store.get(name)]
    count = len(stored) * 1000
    print(f"{MANY:,} entries: {seconds * 1e6:.0f} us each, about {count:,} kept")
    assert seconds < 0.005
    assert names[-1] in stored
    assert names[0] not in stored


async def test_a_server_with_many_pending_confirmations_applies_the_newest() -> None:
    async with connect(make_target_server(), MODERN, can=CANNOT_ASK) as raw:
        start = time.perf_counter()
        for number in range(2_000):
            assert await call(raw, "wipe", name=str(number)) == "preview"
        print(f"{(time.perf_counter() - start) / 2_000 * 1e3:.1f} ms a preview")
        assert await call(raw, "wipe", name="1999", confirm=True) == "applied"
        assert await call(raw, "wipe", name="0", confirm=True) == "applied"
    assert DONE == ["1999", "0"]

"""Mistakes that only many records, another time, another page or a moment of patience bring to light."""

import asyncio
import queue
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from copier_fastmcp_engine.testing.plugin.leftovers import (
    BUSY,
    IDLE,
    _count_free_workers,
    _find_pools,
    _find_threads,
)
from copier_fastmcp_engine.testing.plugin.module_state import ModuleState

from .test_probe import Store, StubSuite

pytestmark = pytest.mark.anyio
Body = Callable[..., Any]


async def arrange(store: Store, note_id: int = 5) -> dict[str, Any]:
    store.add(note_id)
    return {"note_id": note_id}


async def arrange_text(store: Store, note_id: int = 5) -> dict[str, Any]:
    store.add(note_id)
    return {"note_id": note_id, "text": "banana"}


def suite_of(folder: Path, behavior: str, body: Body, **parameters: Any) -> StubSuite:
    arranges = arrange_text if "text" in parameters else arrange
    suite = StubSuite(folder, arranges, body, **parameters)
    suite.declare(behavior)
    return suite


async def find(suite: StubSuite) -> str:
    """Return what the proof finds, or nothing."""
    try:
        await suite.prove()
    except pytest.fail.Exception as failure:
        return str(failure)
    return ""


def prune(store: Store, limit: int) -> None:
    while len(store.notes) > limit:
        del store.notes[next(iter(store.notes))]


@pytest.mark.parametrize("limit", [3, 5, 10, 20, 50])
async def test_a_read_that_keeps_a_few_records_is_found(
    tmp_path: Path, limit: int
) -> None:
    def body(store: Store, note_id: int) -> None:
        prune(store, limit)

    finding = await find(suite_of(tmp_path, "read", body))
    assert "with many other records it says read-only, but a call changed" in finding


async def test_a_read_among_many_records_passes(tmp_path: Path) -> None:
    def body(store: Store, note_id: int) -> None:
        sorted(store.notes)

    assert await find(suite_of(tmp_path, "read", body)) == ""


TEXT = {"type": "string"}


@pytest.mark.parametrize("limit", [3, 20, 50])
async def test_an_append_that_keeps_the_last_lines_is_found(
    tmp_path: Path, limit: int
) -> None:
    def body(store: Store, note_id: int, text: str) -> None:
        lines = store.notes[f"note/{note_id}"].setdefault("lines", [])
        lines.append(text)
        del lines[:-limit]

    finding = await find(suite_of(tmp_path, "append", body, text=TEXT))
    assert "more calls it says not destructive, but" in finding


async def test_an_append_that_keeps_all_lines_passes(tmp_path: Path) -> None:
    def body(store: Store, note_id: int, text: str) -> None:
        store.notes[f"note/{note_id}"].setdefault("lines", []).append(text)

    assert await find(suite_of(tmp_path, "append", body, text=TEXT)) == ""


async def test_an_overwritten_text_within_the_new_one_is_found(tmp_path: Path) -> None:
    """The arranged text is `a`, and the appended one is `banana`."""

    def body(store: Store, note_id: int, text: str) -> None:
        note = store.notes[f"note/{note_id}"]
        note["text"] = text
        note["count"] = note.get("count", 0) + 1

    finding = await find(suite_of(tmp_path, "append", body, text=TEXT))
    assert "with text='qjz' it says not destructive, but lost note/5.text" in finding


@pytest.fixture
def clocked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """A module of the project that asks for the time in several ways."""
    module = ModuleType("clocked")
    module.__file__ = str(tmp_path / "src/clocked.py")
    source = """
import time
import datetime as dates
from datetime import UTC, date, datetime
from time import gmtime, strftime

class Clock:
    now = time.time
    read = staticmethod(time.time)

def years():
    assert strftime("%Y", gmtime(0)) == "1970"
    for moment in (gmtime(), time.localtime(), time.strptime(time.ctime())):
        yield moment.tm_year + moment.tm_mon / 12
    yield float(strftime("%Y")) + float(time.strftime("%m")) / 12
    yield Clock.now() / 31557600 + 1970
    yield Clock.read() / 31557600 + 1970
    yield time.time() / 31557600 + 1970
    for day in (datetime.now(UTC), datetime.now(), dates.datetime.today(), date.today()):
        assert isinstance(day, (datetime, date))
        assert isinstance(datetime(2026, 1, 1), datetime)
        yield day.year + day.month / 12

def expire(store, note_id):
    if time.time() > store.notes.get("slot", {"ends": 0})["ends"]:
        store.notes.pop("slot", None)
"""
    exec(source, vars(module))
    monkeypatch.setitem(sys.modules, "clocked", module)
    return module


async def test_an_expiring_record_is_found(tmp_path: Path, clocked: ModuleType) -> None:
    async def arrange_slot(store: Store, note_id: int = 5) -> dict[str, Any]:
        store.notes["slot"] = {"ends": time.time() + 3600}
        return await arrange(store, note_id)

    suite = suite_of(tmp_path, "read", clocked.expire)
    suite.module_state = ModuleState(tmp_path / "src")
    suite.module.arrange = arrange_slot
    finding = await find(suite)
    assert (
        "with a clock 400 days ahead it says read-only, but a call changed" in finding
    )


async def test_every_clock_of_a_module_is_ahead(
    tmp_path: Path, clocked: ModuleType
) -> None:
    from copier_fastmcp_engine.testing.plugin.shifted_clock import clock_ahead

    present = [*clocked.years()]
    with clock_ahead([clocked]):
        ahead = [*clocked.years()]
    assert all(1 < b - a < 1.3 for a, b in zip(present, ahead, strict=True))
    assert [*clocked.years()] == pytest.approx(present, abs=0.1)


async def test_the_next_page_is_read(tmp_path: Path) -> None:
    def body(store: Store, note_id: int, cursor: str = "") -> dict[str, Any]:
        if cursor == "page-2":
            store.notes["seen"] = {"at": cursor}
        return {"next_cursor": "page-2"}

    finding = await find(suite_of(tmp_path, "read", body, cursor={"type": "string"}))
    assert "a call changed seen.at" in finding


async def test_each_optional_argument_is_passed_once(tmp_path: Path) -> None:
    names = [f"o{n:02}" for n in range(20)]

    def body(store: Store, note_id: int, **options: str) -> None:
        if options.get(names[-1]):
            store.notes["seen"] = {"at": "1"}

    options = {name: {"type": "string"} for name in names}
    finding = await find(suite_of(tmp_path, "read", body, **options))
    assert "o19='probe' it says read-only" in finding


def later(store: Store, note_id: int) -> None:
    store.notes[f"note/{note_id}"]["seen"] = True


def read_with_timer(store: Store, note_id: int) -> None:
    asyncio.get_running_loop().call_later(0.15, later, store, note_id)


async def slow(store: Store, note_id: int) -> None:
    await asyncio.sleep(0.15)
    later(store, note_id)


TASKS: set[Any] = set()


def read_with_task(store: Store, note_id: int) -> None:
    TASKS.add(asyncio.get_running_loop().create_task(slow(store, note_id)))


POOL = ThreadPoolExecutor(1)
QUEUE: "queue.Queue[Any]" = queue.Queue()


def sleep_and_write(store: Store, note_id: int) -> None:
    time.sleep(0.15)
    later(store, note_id)


def work() -> None:
    while (job := QUEUE.get()) is not None:
        sleep_and_write(*job)


def read_with_pool(store: Store, note_id: int) -> None:
    POOL.submit(sleep_and_write, store, note_id)


def read_with_worker(store: Store, note_id: int) -> None:
    QUEUE.put((store, note_id))


def _are_idle(threads: set[threading.Thread]) -> bool:
    states = _find_threads(Path(__file__))
    return all(states.get(thread) == IDLE for thread in threads)


@pytest.fixture
def worker() -> Iterator[set[threading.Thread]]:
    """Two threads that wait for work from before the first call on."""
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    POOL.submit(int).result()
    # The pool's thread holds its work for a moment longer than the result
    threads = {thread, *POOL._threads}
    deadline = time.monotonic() + 10
    while not _are_idle(threads):
        assert time.monotonic() < deadline
        time.sleep(0.001)
    yield threads
    QUEUE.put(None)
    thread.join()


async def test_a_read_that_marks_as_seen_is_not_said_to_change_nothing(
    tmp_path: Path,
) -> None:
    finding = await find(suite_of(tmp_path, "read", later))
    assert "a call changed note/5.seen; " in finding
    assert "changed nothing" not in finding


def grow(store: Store, note_id: int) -> None:
    store.add(100 + len(store.notes))


async def test_a_repeated_call_that_adds_names_the_place_first(tmp_path: Path) -> None:
    (tmp_path / "test_ensure_note.py").touch()
    suite = suite_of(tmp_path, "ensure", grow)
    suite.truth["idempotent"] = True
    finding = await find(suite)
    assert "it says idempotent, but a second call changed note/10" in finding
    assert "the behavior 'create' would be true; " in finding


@pytest.mark.parametrize(
    "body", [read_with_timer, read_with_task, read_with_pool, read_with_worker]
)
@pytest.mark.usefixtures("worker")
async def test_a_delayed_write_is_found(tmp_path: Path, body: Body) -> None:
    suite = suite_of(tmp_path, "read", body)
    suite.project.source = Path(__file__).parent
    finding = await find(suite)
    assert "it says read-only, but a call changed note/5.seen" in finding


def test_work_that_was_just_handed_over_is_seen(
    worker: set[threading.Thread],
) -> None:
    store = Store()
    store.add(1)
    earlier = _count_free_workers()
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1)  # the threads have no turn before they are looked at
    try:
        future = POOL.submit(time.sleep, 0.15)
        assert _find_pools(earlier) == {POOL: BUSY}
        QUEUE.put((store, 1))
        states = _find_threads(Path(__file__))
        assert BUSY in {states[thread] for thread in worker - POOL._threads}
    finally:
        sys.setswitchinterval(interval)
    future.result()
    deadline = time.monotonic() + 10
    while _find_pools(earlier) or not _are_idle(worker):
        assert time.monotonic() < deadline
        time.sleep(0.001)
    assert "seen" in store.notes["note/1"]


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The seconds of each `asyncio.sleep` in a test."""
    noted = []
    sleep = asyncio.sleep

    async def note_pause(seconds: float) -> None:
        noted.append(seconds)
        await sleep(seconds)

    monkeypatch.setattr(asyncio, "sleep", note_pause)
    return noted


async def test_a_worker_that_waits_delays_nothing(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    worker: set[threading.Thread],
    pauses: list[float],
) -> None:
    suite = suite_of(tmp_path, "read", lambda store, note_id: None)
    suite.project.source = Path(__file__).parent
    # Other tests of this process may have left threads, such as a page's timer
    monkeypatch.setattr(threading, "enumerate", lambda: [*worker])
    assert await find(suite) == ""
    assert set(pauses) == {0}


async def test_a_timer_of_an_earlier_call_delays_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pauses: list[float]
) -> None:
    suite = suite_of(tmp_path, "read", lambda store, note_id: None)
    timer = threading.Timer(60, print)
    timer.start()
    monkeypatch.setattr(threading, "enumerate", lambda: [timer])
    try:
        assert await find(suite) == ""
    finally:
        timer.cancel()
    assert set(pauses) == {0}


async def test_a_timer_in_a_thread_that_a_call_starts_is_named(tmp_path: Path) -> None:
    timers = []

    def body(store: Store, note_id: int) -> None:
        timer = threading.Timer(60, later, (store, note_id))
        timer.start()
        timers.append(timer)

    finding = await find(suite_of(tmp_path, "read", body))
    assert "a thread still runs 2 s after the call; await it" in finding
    for timer in timers:
        timer.cancel()


async def test_a_timer_far_ahead_is_named(tmp_path: Path) -> None:
    handles = []

    def body(store: Store, note_id: int) -> None:
        loop = asyncio.get_running_loop()
        handles.append(loop.call_later(60, later, store, note_id))

    suite = suite_of(tmp_path, "read", body)
    suite.project.source = Path(__file__).parent
    finding = await find(suite)
    assert "a timer (call_later) still runs 2 s after the call; await it" in finding
    assert finding.endswith("(call-finishes)")
    for handle in handles:
        handle.cancel()


async def test_a_timer_that_calls_a_method_of_data_is_named(tmp_path: Path) -> None:
    handles = []

    def body(store: Store, note_id: int) -> None:
        loop = asyncio.get_running_loop()
        handles.append(loop.call_later(60, store.notes.clear))

    finding = await find(suite_of(tmp_path, "read", body))
    assert "a timer (call_later) still runs 2 s after the call" in finding
    for handle in handles:
        handle.cancel()


async def test_a_read_that_calls_a_tool_that_writes_is_found(tmp_path: Path) -> None:
    """Although nothing is there to be changed."""
    import contextlib

    suite = suite_of(tmp_path, "read", lambda store, note_id: None)
    called = [SimpleNamespace(name="delete_note")]
    suite.watching_calls = lambda: contextlib.nullcontext(called)
    suite.writes = lambda tool: True
    finding = await find(suite)
    assert "it says read-only, but called delete_note, which writes; declare" in finding
    suite.module.effects = {"tools": "why"}
    suite.proof = {"effects": {"tools": "why"}}
    assert await find(suite) == ""

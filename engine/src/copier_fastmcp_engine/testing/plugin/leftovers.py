"""What a call left running: a snapshot taken while it works proves nothing."""

import asyncio
import functools
import inspect
import re
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import FrameType
from typing import Any

LIBRARIES = re.compile(r"site-packages[/\\](anyio|fastmcp|mcp)[/\\]")
PAUSE = 0.01  # seconds between two looks
LONGEST = 2.0  # seconds in which what a call started has to end
SETTLE = 0.3  # seconds that are granted to what always runs, as a poller does
DATA = (bytearray, deque, dict, list, set)  # whose methods a timer may call
IDLE, BUSY, TIMED = "idle", "busy", "timed"  # TIMED: it wakes up by itself
States = dict[Any, str]


class Leftovers:
    """Threads, tasks and timers of a project, compared with those before a call."""

    def __init__(self, source: Path) -> None:
        """Note what runs before a call.

        Args:
            source: The folder of the project's code.
        """
        self.source = source
        self.free_workers = _count_free_workers()
        self.before = self._find_running()

    async def wait(self) -> str:
        """Wait for what a call left running.

        Returns:
            What still runs after 2 s; nothing where nothing does.
        """
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        begun = time.monotonic()
        while True:
            busy = self._find_busy(time.monotonic() - begun)
            if not busy:
                await asyncio.sleep(0)
                return ""
            if time.monotonic() - begun > LONGEST:
                return _describe(busy[0])
            await asyncio.sleep(PAUSE)

    def _find_busy(self, waited: float) -> list[Any]:
        """Return what has to end before a snapshot is taken."""
        busy = []
        for item, state in self._find_running().items():
            earlier = self.before.get(item)
            if state == IDLE or (earlier in (BUSY, TIMED) and waited > SETTLE):
                continue
            if earlier == IDLE and state == TIMED and waited > SETTLE:
                continue
            is_timer = isinstance(item, threading.Timer)
            if is_timer and earlier and item.interval > LONGEST:
                continue  # it was not this call that started it
            busy.append(item)
        return busy

    def _find_running(self) -> States:
        return {
            **_find_threads(self.source),
            **_find_pools(self.free_workers),
            **_find_tasks(),
            **_find_timers(self.source),
        }


def _describe(item: Any) -> str:
    if isinstance(item, (threading.Thread, ThreadPoolExecutor)):
        return "a thread"
    return "a task" if isinstance(item, asyncio.Task) else "a timer (call_later)"


def _is_below(file: str, source: Path) -> bool:
    return file.startswith(str(source)) and "site-packages" not in file


def _find_threads(source: Path) -> States:
    """Return the threads that run code of a project, and threads that wait for work in a pool."""
    states: States = {}
    frames = sys._current_frames()
    for thread in threading.enumerate():
        frame = frames.get(thread.ident or 0)
        if thread is threading.main_thread() or frame is None:
            continue
        outer: FrameType | None = frame
        while outer and not _is_below(outer.f_code.co_filename, source):
            outer = outer.f_back
        if outer or isinstance(thread, threading.Timer):
            is_timer = isinstance(thread, threading.Timer)
            states[thread] = BUSY if is_timer else _judge_frame(frame)
        elif _is_pool_worker(frame):
            states[thread] = _judge_pool(frame)
    return states


def _judge_frame(frame: FrameType) -> str:
    """Return what the innermost frame of a thread does."""
    code = frame.f_code
    variables = frame.f_locals
    if code.co_name == "wait" and code.co_filename == threading.__file__:
        if variables.get("timeout") is not None:
            return TIMED
        waiter = variables.get("waiter")
        waiters = getattr(variables.get("self"), "_waiters", ())
        is_notified = waiter is not None and waiter not in waiters
        return BUSY if is_notified else IDLE
    return BUSY


def _is_pool_worker(frame: FrameType) -> bool:
    path = frame.f_code.co_filename
    return frame.f_code.co_name == "_worker" and "concurrent" in path


def _judge_pool(frame: FrameType) -> str:
    """Return whether the worker of a pool has something to do."""
    queue = frame.f_locals.get("work_queue")
    if frame.f_locals.get("work_item") is not None:
        return BUSY
    return IDLE if queue is None or queue.empty() else BUSY


def _count_free_workers() -> dict[ThreadPoolExecutor, int]:
    """Return how many workers of each pool wait for work that no call has submitted yet."""
    counts = {}
    for frame in sys._current_frames().values():
        if not _is_pool_worker(frame):
            continue
        refer = frame.f_locals.get("executor_reference")
        pool = refer and refer()
        if isinstance(pool, ThreadPoolExecutor):
            semaphore = getattr(pool, "_idle_semaphore", None)
            counts[pool] = getattr(semaphore, "_value", 0)
    return counts


def _find_pools(earlier: Mapping[ThreadPoolExecutor, int]) -> States:
    """Return the pools that have fewer free workers than earlier.

    From Python 3.13 on, a queue hands work to a waiting thread, so that neither of them shows it for a moment.
    """
    states: States = {}
    for pool, count in _count_free_workers().items():
        if count < earlier.get(pool, 0):
            states[pool] = BUSY
    return states


def _find_tasks() -> States:
    """Return the tasks that are not the server's own."""
    states: States = {}
    for task in asyncio.all_tasks():
        code = getattr(task.get_coro(), "cr_code", None)
        if code and not LIBRARIES.search(code.co_filename):
            states[task] = _judge_task(task)
    return states


def _judge_task(task: "asyncio.Task[Any]") -> str:
    """Return what a task waits for."""
    awaited: Any = task.get_coro()
    innermost = awaited
    while inspect.iscoroutine(awaited):
        innermost = awaited
        awaited = awaited.cr_await
    code = getattr(innermost, "cr_code", None)
    file = Path(code.co_filename).name if code else ""
    if innermost is not task.get_coro() and file in ("queues.py", "locks.py"):
        return IDLE
    return TIMED if code and code.co_name == "sleep" else BUSY


def _find_timers(source: Path) -> States:
    """Return the calls that a project has scheduled for later in the event loop."""
    states: States = {}
    scheduled = getattr(asyncio.get_running_loop(), "_scheduled", ())
    for handle in list(scheduled):
        callback = getattr(handle, "_callback", None)
        if callback is None or handle.cancelled():
            continue
        function = _unwrap(callback)
        code = getattr(function, "__code__", None)
        is_own = code and _is_below(code.co_filename, source)
        if is_own or isinstance(getattr(function, "__self__", None), DATA):
            states[handle] = BUSY
    return states


def _unwrap(callback: Callable[..., Any]) -> Any:
    """Return the function behind partial applications and methods."""
    while isinstance(callback, functools.partial):
        callback = callback.func
    return getattr(callback, "__func__", callback)

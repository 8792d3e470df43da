"""Threads and tasks that a call left running: a snapshot taken while they work proves nothing."""

import asyncio
import re
import sys
import threading
from pathlib import Path
from typing import Any

LIBRARIES = re.compile(r"site-packages[/\\](anyio|fastmcp|mcp)[/\\]")
ATTEMPTS = 200
PAUSE = 0.01  # seconds between two attempts


def find_running(source: Path) -> set[Any]:
    """Return the threads that run code of a project, and the tasks that are not the server's own.

    Args:
        source: The folder of the project's code.
    """
    running: set[Any] = set()
    frames = sys._current_frames()
    for thread in threading.enumerate():
        if thread is threading.main_thread():
            continue
        frame = frames.get(thread.ident or 0)
        while frame and not _is_below(frame.f_code.co_filename, source):
            frame = frame.f_back
        if frame or isinstance(thread, threading.Timer):
            running.add(thread)
    for task in asyncio.all_tasks():
        code = getattr(task.get_coro(), "cr_code", None)
        if code and not LIBRARIES.search(code.co_filename):
            running.add(task)
    return running


def _is_below(file: str, source: Path) -> bool:
    return file.startswith(str(source)) and "site-packages" not in file


async def wait_for_leftovers(source: Path, before: set[Any]) -> str:
    """Wait for what a call left running.

    Args:
        source: The folder of the project's code.
        before: What ran before the call.

    Returns:
        What still runs after 2 s; nothing where nothing does.
    """
    left: set[Any] = set()
    for _ in range(ATTEMPTS):
        left = find_running(source) - before
        if not left:
            await asyncio.sleep(0)
            return ""
        await asyncio.sleep(PAUSE)
    return "a task" if isinstance(next(iter(left)), asyncio.Task) else "a thread"

"""What a server's process says when it starts and at each call, and how signals end it. Managed by the template."""

import io
import json
import logging
import os
import re
import select
import signal
import sys
import time
from collections.abc import Awaitable, Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path
from types import FrameType

from fastmcp.tools import ToolResult
from fastmcp.tools.base import InputRequiredToolResult

from .declarations import Declaration
from .settings import PolicySettings

logger = logging.getLogger(__name__)
KEPT = ("database", "api", "state", "audit")  # how settings end that name a place
WORDS = ("", "memory", ":memory:", "stdout", "stderr")  # of theirs, those that are no path
# What an address with a password, or a list of NAME=VALUE with a secret, has
SECRET = re.compile(r"(?i)//.*@|(key|pass|pwd|secret|token|credential)\w*\s*=")


def tell_start(settings: PolicySettings, transport: str) -> None:
    """Log where things lie, an address without its password."""
    named = [it for it in type(settings).model_fields if it.rpartition("_")[2] in KEPT]
    kept = {name: place(str(getattr(settings, name) or "")) for name in named}
    known = {name: where for name, where in kept.items() if where}
    logger.info(json.dumps({"event": "start", "transport": transport, **known}))
    for line in unknown(settings, os.environ):
        logger.warning(line)


def unknown(settings: PolicySettings, environ: Mapping[str, str]) -> Iterator[str]:
    """Variables that set nothing, a line each: NOTES_READONLY for NOTES_READ_ONLY would let everybody write."""
    prefix = str(settings.model_config["env_prefix"]).upper()
    known = {it.upper() for it in type(settings).model_fields}
    for name in sorted(name for name in environ if name.upper().startswith(prefix)):
        setting = name.upper().removeprefix(prefix).partition("__")[0]
        if setting not in known and environ[name]:
            close = get_close_matches(setting, known, 1)
            mend = f"; is {prefix}{close[0]} meant?" if close else ""
            yield f"{name}: this server has no such setting{mend}"


async def told(
    run: Awaitable[ToolResult], name: str, now: str, known: Declaration | None
) -> ToolResult:
    """Run a tool, and log its call by a name, perhaps one that it had before `now`; never an argument's value.

    The line is a warning, and says what to use, where the name or the tool is deprecated.
    """
    started, outcome = time.perf_counter(), "error"
    try:
        result = await run
        asked = isinstance(result, InputRequiredToolResult)
        outcome = "asked" if asked else "error" if getattr(result, "is_error", False) else "ok"
        return result
    finally:
        ms = round((time.perf_counter() - started) * 1000, 1)
        entry = {"tool": name, "behavior": known.behavior if known else "unknown", "ms": ms}
        use = (known and known.deprecated) or (now if now != name else None)
        entry |= {"deprecated": use} if use else {}
        level = logging.WARNING if use else logging.INFO
        logger.log(level, json.dumps({"event": "tool_call", "outcome": outcome, **entry}))


def place(where: str) -> str:
    """A place as a setting names it, made whole; no password."""
    if "://" in where:
        address, _, query = where.partition("?")
        known = address.partition("//")[0] if "@" in query else address  # a password may hold a ?
        return re.sub("//.*@", "//", known)
    if SECRET.search(where):  # as drivers of databases take it
        return "…"
    return where if where in WORDS else str(Path(os.path.expanduser(where)).absolute())


def because(error: Exception, where: str) -> str:
    """What went wrong with a place, on one line; only of which kind it is where it may repeat a password."""
    known = SECRET.search(where) or ("://" in where and place(where) != where)
    hides = known and not isinstance(error, ImportError)  # which is about a package
    text = "" if hides else f": {' '.join(str(error).split())}"
    return type(error).__name__ + text


class _Input(io.RawIOBase):
    """What a file descriptor holds, until `end` is called."""

    def __init__(self, descriptor: int) -> None:
        self._from = descriptor
        self._woken, self._wake = os.pipe()

    def readable(self) -> bool:
        """Yes."""
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        """Wait for bytes, or for the end."""
        ready, _, _ = select.select([self._from, self._woken], [], [])
        data = b"" if self._woken in ready else os.read(self._from, len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def end(self, number: int, _: FrameType | None) -> None:
        """End the input at a signal; the same signal again ends the process."""
        signal.signal(number, signal.SIG_DFL)
        os.write(self._wake, b".")


def stops_at_once() -> None:
    """Have Ctrl-C and SIGTERM end a server over stdio as its client does, where the system can (not on Windows).

    A thread that reads standard input cannot be interrupted, so Python would wait for the client's next line. Here it
    waits for a signal too, and then reads the end of the input.
    """
    if sys.platform == "win32":
        return
    descriptor = os.dup(0)
    with open(os.devnull, "rb") as nothing:  # what tools and their children would read
        os.dup2(nothing.fileno(), 0, inheritable=True)
    source = _Input(descriptor)
    sys.stdin = io.TextIOWrapper(io.BufferedReader(source), encoding="utf-8")
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, source.end)

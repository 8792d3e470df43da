"""Standard input of a stdio server: signals end it at once, as its client does."""

import io
import os
import select
import signal
import sys
from types import FrameType

ENDING = (signal.SIGINT, signal.SIGTERM)


class _Input(io.RawIOBase):
    """What a file descriptor holds, until one of the signals that end it."""

    def __init__(self, descriptor: int) -> None:
        self._from = descriptor
        self._woken, self._wake = os.pipe()
        self._ended = False

    def readable(self) -> bool:
        """Return True: it can be read."""
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        """Wait for bytes, or for the end."""
        while not self._ended:
            ready, _, _ = select.select([self._from, self._woken], [], [])
            if self._woken in ready:
                numbers = os.read(self._woken, len(buffer))
                self._ended = any(number in ENDING for number in numbers)
                continue
            data = os.read(self._from, len(buffer))
            buffer[: len(data)] = data
            return len(data)
        return 0

    def listen(self) -> None:
        """End the input at a signal; the same signal again ends the process."""
        # Python runs `_end` in the main thread, which may be about to sleep; the system writes to this pipe at once
        os.set_blocking(self._wake, False)
        signal.set_wakeup_fd(self._wake, warn_on_full_buffer=False)
        for number in ENDING:
            signal.signal(number, self._end)

    def _end(self, number: int, _: FrameType | None) -> None:
        signal.signal(number, signal.SIG_DFL)
        os.write(self._wake, bytes([number]))


def stop_at_once() -> None:
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
    reader = io.BufferedReader(source)
    sys.stdin = io.TextIOWrapper(reader, encoding="utf-8")
    source.listen()

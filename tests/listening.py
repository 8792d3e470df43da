"""Programs that listen on a local port: finding a port, waiting for the program, a Redis."""

import contextlib
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

# Seconds for what takes one or two, on a machine that has much else to do
PATIENCE = int(os.environ.get("PATIENCE", "120"))


@contextlib.contextmanager
def free_port() -> Iterator[int]:
    """A port on which nobody listens, and which this machine gives to nobody else until the block ends."""
    with socket.socket() as held:
        if (
            sys.platform == "linux"
        ):  # where who says the same may listen on it meanwhile
            held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        held.bind(("127.0.0.1", 0))
        port: int = held.getsockname()[1]
        if sys.platform != "linux":
            held.close()
        yield port


def listens(
    port: int, process: "subprocess.Popen[Any]", log: Path | None = None
) -> None:
    """Wait until a program listens; AssertionError with its log if it ends or takes too long."""
    last = time.monotonic() + PATIENCE
    while True:
        if process.poll() is not None or time.monotonic() > last:
            raise AssertionError(
                log.read_text() if log else f"nobody listens on {port}"
            )
        with (
            contextlib.suppress(OSError),
            socket.create_connection(("127.0.0.1", port), 1),
        ):
            return
        time.sleep(0.05)


@contextlib.contextmanager
def running(
    words: Sequence[str], port: int, log: Path | None = None, **settings: Any
) -> Iterator["subprocess.Popen[bytes]"]:
    """A program that listens on a port, from when it does until the block ends; what it says is added to its log."""
    with (log or Path(os.devnull)).open("ab") as log_file:
        process = subprocess.Popen(
            words,
            stdin=subprocess.DEVNULL,
            stdout=log_file,
            stderr=log_file,
            **settings,
        )
    try:
        listens(port, process, log)
        yield process
    finally:
        process.terminate()
        process.wait(PATIENCE)


@contextlib.contextmanager
def redis(folder: Path) -> Iterator[str]:
    """The address of a Redis of our own; where there is none, the test is skipped."""
    program = shutil.which("redis-server")
    if program is None:
        pytest.skip("redis-server is not installed (apt-get install redis-server)")
    with free_port() as port:
        words = [
            "--port",
            str(port),
            "--bind",
            "127.0.0.1",
            "--save",
            "",
            "--dir",
            str(folder),
        ]
        with running([program, *words], port):
            yield f"redis://127.0.0.1:{port}/0"

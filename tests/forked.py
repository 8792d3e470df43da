"""Servers over stdio that fork from the process that tests them: the hundredth costs no import of FastMCP.

A client starts a small program that hands its standard streams on; a process that was forked before any test ran forks
again, and the server runs there.
"""

import json
import os
import select
import signal
import socket
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

RELAY = """
import json, os, socket, sys
with socket.socket(socket.AF_UNIX) as there:
    there.connect(sys.argv[1])
    socket.send_fds(there, [json.dumps(dict(os.environ)).encode() + b"\\n"], [0, 1, 2])
    there.recv(1)
"""


@contextmanager
def forking(serve: Callable[[], None]) -> Iterator[list[str]]:
    """The words of a program that serves over stdio, each time in a process of its own.

    Args:
        serve: The server, run with the variables of the program.
    """
    with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX) as here:
        here.bind(address := str(Path(folder, "s")))
        here.listen()
        watched, held = os.pipe()  # closed with this process, however it ends
        if not (child := os.fork()):
            os.close(held)
            _wait(here, watched, serve)
        os.close(watched)
        try:
            yield [sys.executable, "-ISc", RELAY, address]
        finally:
            os.close(held)
            os.waitpid(child, 0)


def _wait(here: socket.socket, watched: int, serve: Callable[[], None]) -> None:
    """Fork for each program that connects, until the tests are over."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while watched not in select.select([here.fileno(), watched], [], [])[0]:
        there, _ = here.accept()
        if not os.fork():
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            os.close(watched)
            _become(there)
            code = 1
            try:
                serve()
                code = 0
            finally:
                os._exit(code)
        there.close()
    os._exit(0)


def _become(there: socket.socket) -> None:
    """Take on the streams and the variables of a program, and end when it is ended."""
    told, streams, *_ = socket.recv_fds(there, 65_536, 3)
    while not told.endswith(b"\n"):
        told += there.recv(65_536)
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    sys.stdin, sys.stdout, sys.stderr = open(0), open(1, "w"), open(2, "w")  # noqa: SIM115
    os.environ.clear()
    os.environ.update(json.loads(told))

    def watch() -> None:
        there.recv(1)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()

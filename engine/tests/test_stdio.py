"""Signals of a server over stdio, whichever thread of it they reach."""

import json
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import pytest

pytestmark = pytest.mark.skipif(
    sys.platform == "win32", reason="Windows has no signals of this kind"
)
PATIENCE = 30
SERVER = """
import signal
import threading

from fastmcp import FastMCP

from copier_fastmcp_engine.stdio import stop_at_once

mcp = FastMCP("signals")
seen = []
signal.signal(signal.SIGUSR1, lambda number, frame: seen.append(number))


def send(number: int) -> None:
    signal.pthread_kill(threading.get_ident(), number)


@mcp.tool
def send_from_thread(number: int) -> None:
    # By then the call is answered, and the main thread waits for the next one
    threading.Timer(0.5, send, [number]).start()


@mcp.tool
def count_seen() -> int:
    return len(seen)


stop_at_once()
mcp.run("stdio", show_banner=False)
"""


class Client:
    """A client that keeps the input of its server open."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        """Say hello."""
        self.process = process
        self.requests = 0
        hello = {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "raw", "version": "1"},
        }
        self.ask("initialize", hello)
        self.send({"method": "notifications/initialized"})

    def send(self, message: Mapping[str, object]) -> None:
        """Send a message."""
        assert self.process.stdin
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        self.process.stdin.flush()

    def ask(self, method: str, params: Mapping[str, object]) -> dict[str, object]:
        """The result of a request."""
        self.requests += 1
        self.send({"id": self.requests, "method": method, "params": params})
        assert self.process.stdout
        for line in self.process.stdout:
            answer = json.loads(line)
            if answer.get("id") == self.requests:
                result: dict[str, object] = answer["result"]
                return result
        raise AssertionError("the server has ended")

    def call(self, name: str, **arguments: object) -> dict[str, object]:
        """The result of a tool."""
        return self.ask("tools/call", {"name": name, "arguments": arguments})


@contextmanager
def start_client() -> Iterator[Client]:
    """Start the server, and end it in any case."""
    process = subprocess.Popen(
        [sys.executable, "-c", SERVER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    with process:
        try:
            yield Client(process)
        finally:
            process.kill()


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_a_signal_that_another_thread_takes_ends_it(name: str) -> None:
    with start_client() as client:
        client.call("send_from_thread", number=int(signal.Signals[name]))
        assert client.process.wait(PATIENCE) == 0


def test_the_signal_of_an_author_does_not_end_it() -> None:
    with start_client() as client:
        client.call("send_from_thread", number=int(signal.Signals["SIGUSR1"]))
        with pytest.raises(subprocess.TimeoutExpired):
            client.process.wait(2)
        assert client.call("count_seen")["structuredContent"] == {"result": 1}

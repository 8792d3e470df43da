"""Two replicas of a server behind a balancer: each confirmation is applied once, whoever answers it."""

import contextlib
import itertools
import json
import shutil
import socket
import socketserver
import sqlite3
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from wire import http


class Balancer(socketserver.ThreadingTCPServer):
    """Hands each connection to the next replica."""

    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, ports: list[int]) -> None:
        """Listen on a free port."""
        super().__init__(("127.0.0.1", 0), Relay)
        self.next_port = itertools.cycle(ports)
        self.served: list[int] = []


class Relay(socketserver.BaseRequestHandler):
    """Copies bytes both ways."""

    def handle(self) -> None:
        """Serve one connection."""
        assert isinstance(self.server, Balancer)
        port = next(self.server.next_port)
        self.server.served.append(port)
        with socket.create_connection(("127.0.0.1", port)) as there:
            up = threading.Thread(target=copy, args=(self.request, there), daemon=True)
            up.start()
            copy(there, self.request)


def copy(source: socket.socket, to: socket.socket) -> None:
    """Copy until the source ends."""
    with contextlib.suppress(OSError):
        while data := source.recv(65536):
            to.sendall(data)
        to.shutdown(socket.SHUT_WR)


def post(address: str, arguments: dict[str, Any], can: dict[str, Any], **more: Any) -> Any:
    """Call send_note in the newest era, by hand and on a new connection: what it came to, and the result."""
    about = {
        "protocolVersion": "2026-07-28",
        "clientInfo": {"name": "raw", "version": "1"},
        "clientCapabilities": can,
    }
    meta = {f"io.modelcontextprotocol/{name}": value for name, value in about.items()}
    params = {"name": "send_note", "arguments": arguments, "_meta": meta, **more}
    answer = httpx2.post(
        address,
        json={"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params},
        headers={
            "Accept": "application/json, text/event-stream",
            "MCP-Protocol-Version": "2026-07-28",
            "Mcp-Method": "tools/call",
            "Mcp-Name": "send_note",
        },
        timeout=30,
    )
    text = answer.text
    if answer.headers["content-type"].startswith("text/event-stream"):
        text = next(line[6:] for line in text.splitlines() if line.startswith("data: {"))
    return json.loads(text)["result"]


@pytest.fixture
def redis(tmp_path: Path) -> Iterator[str]:
    """The address of a Redis of our own."""
    program = shutil.which("redis-server")
    if program is None:
        pytest.skip("redis-server is not installed (apt-get install redis-server)")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    words = ["--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", str(tmp_path)]
    process = subprocess.Popen([program, *words], stdout=subprocess.DEVNULL)
    for _ in range(100):
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            break
        time.sleep(0.05)
    yield f"redis://127.0.0.1:{port}/0"
    process.terminate()
    process.wait(10)


@pytest.mark.parametrize("state", ["redis", "folder"])
def test_two_replicas_apply_once(
    state: str,
    project: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
) -> None:
    where = request.getfixturevalue("redis") if state == "redis" else str(tmp_path / "state")
    monkeypatch.setenv("NOTES_MCP_STATE", where)
    monkeypatch.setenv("NOTES_MCP_STATE_KEYS", json.dumps(["k" * 32, "before" * 8]))
    monkeypatch.setenv("NOTES_MCP_DATABASE", str(tmp_path / "notes.db"))

    def sent() -> int:
        with contextlib.closing(sqlite3.connect(tmp_path / "notes.db")) as db:
            return int(db.execute("SELECT count(*) FROM records").fetchone()[0])

    homes = [tmp_path / "one", tmp_path / "two"]
    for home in homes:
        home.mkdir()
    with http(project, homes[0]) as one, http(project, homes[1]) as two:
        ports = [int(address.split(":")[2].split("/")[0]) for address in (one, two)]
        balancer = Balancer(ports)
        threading.Thread(target=balancer.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{balancer.server_address[1]}/mcp"
        form: dict[str, Any] = {"elicitation": {}}
        asked = post(address, {"note_id": 1}, form)
        yes = {"confirmation": {"action": "accept", "content": {"confirm": True}}}
        answer = {"requestState": asked["requestState"], "inputResponses": yes}
        assert sent() == 0
        applied = post(address, {"note_id": 1}, form, **answer)
        assert applied["structuredContent"]["outcome"] == "applied"
        assert balancer.served == ports
        for _ in ports:
            assert "requestState" in post(address, {"note_id": 1}, form, **answer)
        assert sent() == 1
        confirm = {"note_id": 2, "confirm": True}
        calls = [{"note_id": 2}, confirm, confirm, confirm]
        outcomes = [post(address, call, {})["structuredContent"]["outcome"] for call in calls]
        assert outcomes == ["preview", "applied", "preview", "applied"]
        assert balancer.served == ports * 4
        assert sent() == 3
        balancer.shutdown()
        balancer.server_close()

"""Two replicas of a server behind a balancer: each confirmation is applied once, whoever answers it."""

import contextlib
import itertools
import json
import re
import socket
import socketserver
import sqlite3
import ssl
import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import httpx2
import listening
import pytest
from support import render
from wire import http

# Read once, and not for each of eight hundred connections; none is over TLS.
CERTIFICATES = ssl.create_default_context()


class Balancer(socketserver.ThreadingTCPServer):
    """Hands each connection to the next replica."""

    daemon_threads = True
    allow_reuse_address = True
    # Five, the default, is less than what connects at once; a connection that does not fit is reset.
    request_queue_size = 512

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
        with socket.create_connection(("127.0.0.1", port)) as upstream:
            up = threading.Thread(
                target=copy, args=(self.request, upstream), daemon=True
            )
            up.start()
            copy(upstream, self.request)


def copy(source: socket.socket, to: socket.socket) -> None:
    """Copy until the source ends."""
    with contextlib.suppress(OSError):
        while data := source.recv(65536):
            to.sendall(data)
        to.shutdown(socket.SHUT_WR)


def post(
    address: str, arguments: dict[str, Any], can: dict[str, Any], **fields: Any
) -> Any:
    """Call send_note in the newest era, by hand and on a new connection: what it came to, and the result."""
    about = {
        "protocolVersion": "2026-07-28",
        "clientInfo": {"name": "raw", "version": "1"},
        "clientCapabilities": can,
    }
    meta = {f"io.modelcontextprotocol/{name}": value for name, value in about.items()}
    params = {"name": "send_note", "arguments": arguments, "_meta": meta, **fields}
    answer = httpx2.post(
        address,
        json={"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params},
        headers={
            "Accept": "application/json, text/event-stream",
            "MCP-Protocol-Version": "2026-07-28",
            "Mcp-Method": "tools/call",
            "Mcp-Name": "send_note",
        },
        timeout=listening.PATIENCE,
        verify=CERTIFICATES,
    )
    text = answer.text
    if answer.headers["content-type"].startswith("text/event-stream"):
        text = next(
            line[6:] for line in text.splitlines() if line.startswith("data: {")
        )
    return json.loads(text)["result"]


@pytest.fixture
def redis(tmp_path: Path) -> Iterator[str]:
    """The address of a Redis of our own."""
    with listening.redis(tmp_path) as address:
        yield address


YES = {"confirmation": {"action": "accept", "content": {"confirm": True}}}
NO = {"confirmation": {"action": "decline"}}
FORM: dict[str, Any] = {"elicitation": {}}


@contextlib.contextmanager
def run_replicas(
    project: Path, home: Path, state: str
) -> Iterator[tuple[Balancer, str]]:
    """Two servers with one state and one database, and the address of what stands before them."""
    environ = {
        "NOTES_MCP_STATE": state,
        "NOTES_MCP_STATE_KEYS": json.dumps(["k" * 32, "before" * 8]),
        "NOTES_MCP_DATABASE": str(home / "notes.db"),
    }
    with pytest.MonkeyPatch.context() as patch, contextlib.ExitStack() as stack:
        for name, value in environ.items():
            patch.setenv(name, value)
        addresses = []
        for name in ("one", "two"):
            (home / name).mkdir()
            addresses.append(stack.enter_context(http(project, home / name)))
        balancer = Balancer(
            [int(address.split(":")[2].split("/")[0]) for address in addresses]
        )
        threading.Thread(target=balancer.serve_forever, daemon=True).start()
        stack.callback(balancer.server_close)
        stack.callback(balancer.shutdown)
        yield balancer, f"http://127.0.0.1:{balancer.server_address[1]}/mcp"


def count_sends(home: Path) -> Counter[int]:
    """Count how often each note was sent."""
    with contextlib.closing(sqlite3.connect(home / "notes.db")) as db:
        rows = db.execute("SELECT * FROM records").fetchall()
    note_ids = []
    for row in rows:
        if match := re.search(r'"note_id": ?(\d+)', str(row)):
            note_ids.append(int(match[1]))
    return Counter(note_ids)


def outcome(result: Any) -> str:
    """The word of an envelope, or `asked`, or `error`."""
    default = "asked" if "requestState" in result else "error"
    return str(result.get("structuredContent", {}).get("outcome", default))


@pytest.mark.parametrize("state", ["redis", "folder"])
def test_two_replicas_apply_once(
    state: str, project: Path, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    where = (
        request.getfixturevalue("redis")
        if state == "redis"
        else str(tmp_path / "state")
    )
    with run_replicas(project, tmp_path, where) as (balancer, address):
        response = post(address, {"note_id": 1}, FORM)
        answer = {"requestState": response["requestState"], "inputResponses": YES}
        assert not count_sends(tmp_path)
        assert outcome(post(address, {"note_id": 1}, FORM, **answer)) == "applied"
        assert len(set(balancer.served)) == 2
        for _ in range(2):
            assert outcome(post(address, {"note_id": 1}, FORM, **answer)) == "asked"
        assert count_sends(tmp_path) == {1: 1}
        confirm = {"note_id": 2, "confirm": True}
        results = []
        for call in ({"note_id": 2}, confirm, confirm, confirm):
            results.append(post(address, call, {}))
        assert [outcome(result) for result in results] == [
            "preview",
            "applied",
            "error",
            "error",
        ]
        refusal = "send_note was applied before with these arguments, and is not applied twice"
        assert [result["content"][0]["text"] for result in results[2:]] == [refusal] * 2
        assert count_sends(tmp_path) == {1: 1, 2: 1}


# What one of the two hundred does, by its number, and what its calls come to.
FLOWS = {
    "yes": ["asked", "applied"],
    "no": ["asked", "declined"],
    "yes-twice-at-once": ["asked", "applied", "asked"],
    "steps": ["preview", "applied", "error"],
    "three-confirms-at-once": ["preview", "applied", "error", "error"],
    "unprepared": ["error", "error"],
    "other-arguments": ["preview", "error"],
}


def run_flow(address: str, number: int) -> list[str]:
    """Call for one number in the way that is its turn; what the calls came to, those at once in order."""
    kind, note = [*FLOWS][number % len(FLOWS)], {"note_id": number}
    confirm = note | {"confirm": True}
    if kind.startswith(("yes", "no")):
        response = post(address, note, FORM)
        answer = {"requestState": response["requestState"]}
        answer["inputResponses"] = NO if kind == "no" else YES
        calls = [partial(post, address, note, FORM, **answer)] * (
            2 if "at-once" in kind else 1
        )
        first = [outcome(response)]
    else:
        if kind == "other-arguments":
            confirm = {"note_id": number + 1000, "confirm": True}
        first = [] if kind == "unprepared" else [outcome(post(address, note, {}))]
        times = {
            "steps": 1,
            "other-arguments": 1,
            "unprepared": 2,
            "three-confirms-at-once": 3,
        }
        calls = [partial(post, address, confirm, {})] * times[kind]
    with ThreadPoolExecutor(len(calls)) as pool:
        outcomes = []
        for done in [pool.submit(call) for call in calls]:
            outcomes.append(outcome(done.result()))
        came = sorted(outcomes)
    if kind == "steps":
        came.append(outcome(post(address, confirm, {})))
    return first + came


@pytest.mark.nightly
def test_two_hundred_mixed_confirmations_at_once(
    redis: str, project: Path, tmp_path: Path
) -> None:
    numbers = range(1, 201)
    with run_replicas(project, tmp_path, redis) as (balancer, address):
        with ThreadPoolExecutor(40) as pool:
            came = dict(
                zip(numbers, pool.map(partial(run_flow, address), numbers), strict=True)
            )
        assert len(set(balancer.served)) == 2
    expected = {number: FLOWS[[*FLOWS][number % len(FLOWS)]] for number in numbers}
    assert {n: came[n] for n in numbers if came[n] != expected[n]} == {}
    applied = [number for number in numbers if "applied" in expected[number]]
    assert count_sends(tmp_path) == dict.fromkeys(applied, 1)


def test_two_replicas_share_a_page(template: Path, redis: str, tmp_path: Path) -> None:
    paged = {"profile": "custom", "confirm_fallback": "page"}
    project = render(template, tmp_path / "paged", paged)
    with run_replicas(project, tmp_path, redis) as (balancer, address):
        waiting = post(address, {"note_id": 1}, {})
        assert outcome(waiting) == "waiting"
        (link,) = re.findall(r"http://\S+link=[\w-]+", waiting["content"][0]["text"])
        origin = address.removesuffix("/mcp")
        assert link.startswith(f"{origin}/confirm?link=")
        with httpx2.Client(timeout=listening.PATIENCE) as browser:
            fields = dict(
                re.findall(r'name="(\w+)" value="([^"]*)"', browser.get(link).text)
            )
            headers = {"Origin": origin}
            answers = []
            for word in ("approve", "decline"):
                answers.append(
                    browser.post(
                        f"{origin}/confirm",
                        data=fields | {"answer": word},
                        headers=headers,
                    )
                )
        assert [answer.status_code for answer in answers] == [200, 410]
        results = [post(address, {"note_id": 1}, {}) for _ in range(3)]
        assert [outcome(result) for result in results] == ["applied", "error", "error"]
        assert len(set(balancer.served)) == 2
    assert count_sends(tmp_path) == {1: 1}

"""Two hundred clients over HTTP on this machine, against the same tools written by hand with FastMCP, in turns.

Each client creates a note, reads it and deletes it, without a pause, so that both servers are as busy as they can be and a
call mostly waits for the others. By hand nothing is gated; ours shows a preview first and is called again. At the end
every note that a server said it created or deleted is looked for in its database, and each write in the audit trail.
usage: python -m benchmarks.load [SLICES of ten seconds for each server]
"""

import asyncio
import contextlib
import dataclasses
import json
import os
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from listening import free_port, running
from support import clone_template, render

from benchmarks import figures
from benchmarks.serve import write_by_hand

CLIENTS, SECONDS = 200, 10.0
TOOLS = "get_note, create_note, delete_note"
PAGE, TICKS = float(os.sysconf("SC_PAGE_SIZE")), float(os.sysconf("SC_CLK_TCK"))
# Here for replicas alone: a project has it by its extra `redis`.
WITHOUT_UVLOOP = "import sys; sys.modules['uvloop'] = None; "
SETTLED = 3  # seconds without a call, after which memory is looked at again
ROWS = (
    "calls answered",
    "errors",
    "writes lost",
    "writes not in the audit trail",
    "memory after the first 2 s and at the end, MiB",
)
META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "load", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
Times = dict[str, list[float]]


@dataclasses.dataclass
class Served:
    """A server of ours or by hand, and what clients saw of it."""

    gated: bool
    folder: Path
    process: subprocess.Popen[bytes]
    port: int
    # Milliseconds of each call, by its kind.
    times: Times = dataclasses.field(default_factory=dict)
    errors: list[str] = dataclasses.field(default_factory=list)
    # Notes that were created, and not deleted since.
    remaining: set[str] = dataclasses.field(default_factory=set)
    deleted: set[str] = dataclasses.field(default_factory=set)

    @property
    def calls(self) -> int:
        """How many calls were answered."""
        return sum(map(len, self.times.values()))

    @property
    def busy(self) -> float:
        """Milliseconds of a processor that it has used."""
        text = Path(f"/proc/{self.process.pid}/stat").read_text()
        _, _, fields = text.rpartition(")")
        user, system = fields.split()[11:13]
        return (int(user) + int(system)) / TICKS * 1000

    @property
    def memory(self) -> float:
        """What it holds, in MiB."""
        pages = Path(f"/proc/{self.process.pid}/statm").read_text().split()[1]
        return int(pages) * PAGE / 2**20

    def lost(self) -> list[str]:
        """Writes that were answered and are not in the database, or that are there unanswered."""
        with contextlib.closing(sqlite3.connect(self.folder / "notes.db")) as db:
            present = {str(row[0]) for row in db.execute("SELECT id FROM records")}
        return sorted(present ^ self.remaining)

    def unrecorded(self) -> int:
        """How many answered writes have no line in the audit trail."""
        applied = 0
        for file in self.folder.glob("trail.jsonl*"):  # a full one has its own name
            for line in file.read_text(encoding="utf-8").splitlines():
                applied += json.loads(line)["outcome"] == "applied"
        return len(self.remaining) + 2 * len(self.deleted) - applied


@contextlib.contextmanager
def serving(
    project: Path, *, hand: bool = False, audit: bool = False
) -> Iterator[Served]:
    """A server over HTTP with a database of its own, until the block ends."""
    with tempfile.TemporaryDirectory() as place, free_port() as port:
        folder = Path(place)
        run = ["run", "--http", "--port", str(port)]
        words = ["-c", f"{WITHOUT_UVLOOP}from notes_mcp.cli import main; main()", *run]
        if hand:
            text = write_by_hand(project).read_text()
            script = project / "by_hand_http.py"
            stdio, http = '"stdio", ', f'"http", host="127.0.0.1", port={port}, '
            assert stdio in text
            script.write_text(text.replace(stdio, http))
            words = [str(script)]
        environ = os.environ | {
            "PYTHONPATH": str(project / "src"),
            "HOME": str(folder),
            "NOTES_MCP_DATABASE": str(folder / "notes.db"),
            "NOTES_MCP_AUDIT": str(folder / "trail.jsonl") if audit else "",
        }
        settings = [sys.executable, *words]
        with running(settings, port, folder / "log", env=environ) as started:
            yield Served(not hand, folder, started, port)


class Client:
    """One connection that stays, and calls in the newest era."""

    def __init__(self, server: Served) -> None:
        """Of one server, not connected yet."""
        self.server = server

    async def __aenter__(self) -> "Client":
        """Connect."""
        self.read, self.write = await asyncio.open_connection(
            "127.0.0.1", self.server.port
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        """Leave."""
        self.write.close()
        with contextlib.suppress(OSError):
            await self.write.wait_closed()

    async def call(
        self, kind: str, tool: str, arguments: Mapping[str, object]
    ) -> dict[str, Any]:
        """The structured content of a result; RuntimeError: it is an error."""
        params = {"name": tool, "arguments": arguments, "_meta": META}
        request = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        body = json.dumps(request).encode()
        head = (
            f"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{self.server.port}\r\n"
            "Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"
            f"MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: {tool}\r\n"
            f"Content-Length: {len(body)}\r\n\r\n"
        )
        started = time.perf_counter()
        self.write.write(head.encode() + body)
        text = await self._answer()
        taken = (time.perf_counter() - started) * 1000
        answer = json.loads(text[text.index("{") : text.rindex("}") + 1])
        result = answer.get("result", {"isError": True})
        if result.get("isError"):
            raise RuntimeError(text)
        self.server.times.setdefault(kind, []).append(taken)
        content: dict[str, Any] = result["structuredContent"]
        return content

    async def delete(self, note_id: int) -> None:
        """Delete a note, where the server is gated after a preview; RuntimeError: it was not deleted."""
        arguments: dict[str, object] = {"note_id": note_id}
        if self.server.gated:
            preview = await self.call("delete_note, preview", "delete_note", arguments)
            if preview["outcome"] != "preview":
                raise RuntimeError(str(preview))
            arguments["confirm"] = True
        result = await self.call("delete_note, apply", "delete_note", arguments)
        if self.server.gated and result["outcome"] != "applied":
            raise RuntimeError(str(result))

    async def _answer(self) -> str:
        """The body of an answer, whole or in chunks."""
        head = (await self.read.readuntil(b"\r\n\r\n")).decode().lower()
        if "content-length:" in head:
            length = int(head.split("content-length:")[1].split("\r\n")[0])
            return (await self.read.readexactly(length)).decode()
        parts = []
        while size := int(await self.read.readline(), 16):
            parts.append(await self.read.readexactly(size))
            await self.read.readline()
        await self.read.readline()
        return b"".join(parts).decode()


async def run_client(server: Served, until: float) -> None:
    """A client: create, read, delete, again and again, once at least; what is begun is ended."""
    try:
        async with Client(server) as client:
            while True:
                fields = {"title": "A note", "content": "What it says"}
                note = await client.call("create_note", "create_note", fields)
                name = str(note["id"])
                if name in server.remaining or name in server.deleted:
                    raise RuntimeError(f"{name} was made twice")
                server.remaining.add(name)
                await client.call("get_note", "get_note", {"note_id": int(name)})
                await client.delete(int(name))
                server.remaining.discard(name)
                server.deleted.add(name)
                if time.monotonic() > until:
                    break
    except (
        OSError,
        RuntimeError,
        KeyError,
        ValueError,
        asyncio.IncompleteReadError,
    ) as error:
        server.errors.append(f"{type(error).__name__}: {error}")


async def flood(server: Served, clients: int, seconds: float) -> None:
    """So many clients at once, for so long."""
    until = time.monotonic() + seconds
    async with asyncio.TaskGroup() as group:
        for _ in range(clients):
            group.create_task(run_client(server, until))


def quantile(times: list[float], part: float) -> float:
    """The time that a part of the calls stays below."""
    return statistics.quantiles(times, n=1000)[round(part * 1000) - 1]


def run_benchmark(
    slices: int, clients: int = CLIENTS, seconds: float = SECONDS
) -> Iterator[figures.Answer]:
    """The times of each kind of call, then what was lost and what memory was held."""
    with tempfile.TemporaryDirectory() as work, contextlib.ExitStack() as stack:
        template = clone_template(Path(work, "template"))
        project = render(template, Path(work, "project"), {"tools": TOOLS})
        servers = {
            "ours": stack.enter_context(serving(project)),
            "ours, with an audit trail": stack.enter_context(
                serving(project, audit=True)
            ),
            "by hand": stack.enter_context(serving(project, hand=True)),
        }
        began: dict[str, float] = {}
        used: dict[str, float] = {}
        for turn in range(slices + 1):
            for name, server in servers.items():
                slice_seconds = seconds if turn else min(2.0, seconds)
                asyncio.run(flood(server, clients, slice_seconds))
                if not turn:  # it has everything in memory that it needs
                    began[name], used[name] = server.memory, server.busy
                    server.times.clear()
        time.sleep(SETTLED)
        cost: dict[str, float] = {}
        for name, server in servers.items():
            cost[name] = (server.busy - used[name]) / server.calls
        for name in [*servers][:2]:
            yield figures.Figure(
                what=f"{name}: processor for a call",
                unit="ms",
                ours=cost[name],
                floor=cost["by hand"],
                beside="by hand",
            )
        hand = servers["by hand"].times
        for name in [*servers][:2]:
            for kind in servers[name].times:
                floor = hand.get(kind, hand["delete_note, apply"])
                for part in (0.5, 0.99):
                    yield figures.Figure(
                        what=f"{name}: {kind}, p{part * 100:.0f}",
                        unit="ms",
                        ours=quantile(servers[name].times[kind], part),
                        floor=quantile(floor, part),
                        beside="by hand, not gated" if "delete" in kind else "by hand",
                    )
        columns = [["", *ROWS]]
        for name, server in servers.items():
            is_audited = name == "ours, with an audit trail"
            columns.append(
                [
                    name,
                    str(server.calls),
                    str(len(server.errors)),
                    str(len(server.lost())),
                    str(server.unrecorded()) if is_audited else "",
                    f"{began[name]:.0f} -> {server.memory:.0f}",
                ]
            )
        yield figures.Table.of_columns(*columns)


if __name__ == "__main__":
    figures.run(run_benchmark, turns=6)

"""Two hundred clients over HTTP on two replicas that share a Redis, against the same by hand with FastMCP, in turns.

Each client creates a note, reads it, asks for its deletion and confirms that, every few seconds; each call goes to the
other replica, so that one shows the preview and the other one applies it. The server by hand keeps its previews in the
same Redis, as a person would write it. Ours serves with uvloop, which its extra `redis` installs; by hand the loop is
that of FastMCP, asyncio's. Neither is saturated: a call waits for its server, not for two hundred others. The aim is
for all calls of all slices; the spread of the slices shows how quiet the machine was. At the end every note that a
server said it created or deleted is looked for in the database.
usage: python -m benchmarks.replicas [SLICES of ten seconds for each pair]
"""

import asyncio
import contextlib
import json
import os
import random
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import listening
from support import clone_template, render

from benchmarks import figures
from benchmarks.load import CLIENTS, Client, Served, Times, quantile
from benchmarks.serve import write_by_hand

SECONDS = 10.0
PERIOD = 5.0  # seconds between two rounds of a client, of four calls each
RATIO = 1.1
SHARED_TOOLS = "get_note, create_note"
STDIO = 'mcp.run("stdio", show_banner=False)\n'
HAND_MADE = '''import redis.asyncio
from fastmcp.exceptions import ToolError

PENDING = redis.asyncio.Redis.from_pool(
    redis.asyncio.BlockingConnectionPool.from_url(os.environ["NOTES_MCP_STATE"])
)


class Deletion(BaseModel):
    outcome: str = Field(description="preview or applied")
    deleted: bool = Field(description="Whether the note existed")


@mcp.tool(title="Delete Note", annotations=ToolAnnotations(title="Delete Note", destructiveHint=True))
async def delete_note(
    note_id: Annotated[int, Field(description="The ID of the note to delete", ge=1)],
    confirm: Annotated[bool, Field(description="Whether the preview was approved")] = False,
) -> Deletion:
    """Delete a note permanently, after a preview."""
    if not confirm:
        await PENDING.set(f"preview:{note_id}", "1", ex=600)
        return Deletion(outcome="preview", deleted=False)
    if not await PENDING.getdel(f"preview:{note_id}"):
        raise ToolError("preview it first")
    return Deletion(outcome="applied", deleted=await backend().delete("note", note_id))


'''


@dataclass
class Pair:
    """Two replicas, and what clients saw of both."""

    replicas: list[Served] = field(default_factory=list)
    times: Times = field(default_factory=dict)  # of this slice
    slices: list[Times] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    remaining: set[str] = field(default_factory=set)  # created, and not deleted
    deleted: set[str] = field(default_factory=set)

    def end_slice(self) -> None:
        """Keep the times of this slice, and begin another one."""
        self.slices.append(dict(self.times))
        self.times.clear()

    def pooled(self, kinds: Iterable[str]) -> list[float]:
        """The milliseconds of all calls of some kinds."""
        pool = []
        for times in self.slices:
            for kind in kinds:
                pool.extend(times[kind])
        return pool

    def quantiles(self, part: float) -> list[float]:
        """The milliseconds that a part of the calls of a slice stays below, for each slice."""
        limits = []
        for times in self.slices:
            pool = [
                taken for taken_by_kind in times.values() for taken in taken_by_kind
            ]
            limits.append(quantile(pool, part))
        return limits


@contextlib.contextmanager
def serving_twice(project: Path, words: list[str], redis: str) -> Iterator[Pair]:
    """Two replicas over HTTP with one database and one Redis, until the block ends.

    Args:
        project: The project whose package they import.
        words: What follows `python` in their command lines, before the port.
        redis: The address of the Redis.
    """
    with tempfile.TemporaryDirectory() as place, contextlib.ExitStack() as stack:
        folder = Path(place)
        environ = os.environ | {
            "PYTHONPATH": str(project / "src"),
            "HOME": place,
            "NOTES_MCP_DATABASE": str(folder / "notes.db"),
            "NOTES_MCP_STATE": redis,
            "NOTES_MCP_STATE_KEYS": json.dumps(["k" * 32]),
        }
        pair = Pair()
        for number in range(2):
            port = stack.enter_context(listening.free_port())
            command = [sys.executable, *words, str(port)]
            log = folder / f"log-{number}"
            program = listening.running(command, port, log, env=environ)
            process = stack.enter_context(program)
            replica = Served(
                True,
                folder,
                process,
                port,
                pair.times,
                pair.errors,
                pair.remaining,
                pair.deleted,
            )
            pair.replicas.append(replica)
        yield pair


async def run_round(clients: list[Client], pair: Pair) -> None:
    """Create, read and delete one note, each call on the other replica.

    Raises:
        RuntimeError: A call was refused, or came to something else.
    """
    first, second = clients
    fields = {"title": "A note", "content": "What it says"}
    note = await first.call("create_note", "create_note", fields)
    name = str(note["id"])
    pair.remaining.add(name)
    arguments: dict[str, Any] = {"note_id": int(name)}
    await second.call("get_note", "get_note", arguments)
    preview = await first.call("delete_note, preview", "delete_note", arguments)
    arguments["confirm"] = True
    applied = await second.call("delete_note, apply", "delete_note", arguments)
    outcomes = (preview["outcome"], applied["outcome"])
    if outcomes != ("preview", "applied"):
        raise RuntimeError(f"note {name}: {outcomes}")
    pair.remaining.discard(name)
    pair.deleted.add(name)


async def run_client(pair: Pair, number: int, seconds: float) -> None:
    """A client of both replicas, for so long; a round that is begun is ended."""
    end = time.monotonic() + seconds
    due = time.monotonic() + random.Random(number).uniform(0, min(PERIOD, seconds))
    one, two = pair.replicas
    try:
        while due < end:
            await asyncio.sleep(max(0, due - time.monotonic()))
            # Anew each time: a server closes a connection that is idle for as long as the pause
            async with Client(one) as first, Client(two) as second:
                await run_round([first, second], pair)
            one, two = two, one
            due += PERIOD
    except (OSError, RuntimeError, KeyError, ValueError, EOFError) as error:
        pair.errors.append(f"{type(error).__name__}: {error}")


async def run_clients(pair: Pair, clients: int, seconds: float) -> None:
    """So many clients at once, for so long."""
    await asyncio.gather(*(run_client(pair, n, seconds) for n in range(clients)))


def write_http_server(project: Path) -> Path:
    """Write the same server by hand; its last argument is the port."""
    text = write_by_hand(project).read_text()
    assert STDIO in text
    run = 'import sys\n\nmcp.run("http", host="127.0.0.1", port=int(sys.argv[-1]), show_banner=False)\n'
    script = project / "by_hand_replica.py"
    script.write_text(text.replace(STDIO, HAND_MADE + run))
    return script


def list_figures(pairs: dict[str, Pair]) -> Iterator[figures.Figure]:
    """Yield the times of ours beside those by hand: of all calls, then of each kind."""
    ours, hand = pairs["ours"], pairs["by hand"]
    for part in (0.5, 0.99):
        yield figures.Figure.of_turns(
            ours.quantiles(part),
            hand.quantiles(part),
            what=f"all calls, p{part * 100:.0f} of a slice",
            unit="ms",
            beside="by hand",
        )
    kinds = list(ours.slices[0])
    rows = [("all calls", kinds), *((kind, [kind]) for kind in kinds)]
    for what, some in rows:
        yield figures.Figure(
            what=f"{what}, p99 of all slices",
            unit="ms",
            ours=quantile(ours.pooled(some), 0.99),
            floor=quantile(hand.pooled(some), 0.99),
            beside="by hand",
            ratio_at_most=RATIO if some is kinds else None,
        )


def run_benchmark(
    slices: int, clients: int = CLIENTS, seconds: float = SECONDS
) -> Iterator[figures.Answer]:
    """The times of all calls and of each kind, then what was lost."""
    with contextlib.ExitStack() as stack:
        work = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        redis = stack.enter_context(listening.redis(work))
        template = clone_template(work / "template")
        tools = f"{SHARED_TOOLS}, delete_note"
        project = render(template, work / "ours", {"tools": tools})
        hand = render(template, work / "hand", {"tools": SHARED_TOOLS})
        run = ["-c", "from notes_mcp.cli import main; main()", "run", "--http"]
        commands = {
            "ours": (project, [*run, "--port"]),
            "by hand": (hand, [str(write_http_server(hand))]),
        }
        pairs = {}
        for name, (folder, words) in commands.items():
            served = serving_twice(folder, words, redis)
            pairs[name] = stack.enter_context(served)
        for turn in range(slices + 1):
            names = list(pairs) if turn % 2 else list(reversed(pairs))
            for name in names:
                asyncio.run(run_clients(pairs[name], clients, seconds))
                if turn:
                    pairs[name].end_slice()
                else:  # it has everything in memory that it needs
                    pairs[name].times.clear()
        yield from list_figures(pairs)
        calls = []
        errors = []
        lost = []
        for pair in pairs.values():
            calls.append(str(len(pair.pooled(pair.slices[0]))))
            errors.append(str(len(pair.errors)))
            lost.append(str(len(pair.replicas[0].lost())))
            for error in pair.errors[:3]:
                print(error, file=sys.stderr)
        yield figures.Table(
            [
                ["", *pairs],
                ["calls answered", *calls],
                ["errors", *errors],
                ["writes lost", *lost],
            ]
        )


if __name__ == "__main__":
    figures.run(run_benchmark, turns=9)

"""The generated server against a hand-written FastMCP server with the same tools, and what `--help` takes.

Both serve the same bodies on the same backend over stdio, and are asked in turns; the other has no policy: no registry,
no gate, no log line.
usage: python -m benchmarks.serve [TURNS]
"""

import asyncio
import contextlib
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from fastmcp import Client
from fastmcp.client.transports import StdioTransport
from support import clone_template, render

from benchmarks import figures

TOOLS = "search_notes, get_note, create_note, ensure_note, append_note, update_note, archive_note"
CALLS = 300  # in each turn
MANY = 1000
LISTS = 3  # of so many tools, in each turn
# What `--help` may take, as a multiple of a command line without commands: what was measured, and 15 % more.
HELP_RATIOS = {"notes-mcp": 1.26, "copier-fastmcp": 0.21}
EMPTY_APP = "import cyclopts; cyclopts.App(name='empty')(['--help'])"
HEAD = """import os
from typing import Annotated

from fastmcp import FastMCP
from mcp_types import ToolAnnotations
from notes_mcp.backend import backend, connect
from notes_mcp.settings import Settings
from pydantic import BaseModel, Field

connect(Settings())
mcp = FastMCP("notes-mcp")
"""
DECORATOR = """@mcp.tool(title="T", annotations=ToolAnnotations(title="T", readOnlyHint=False,
    destructiveHint=False, idempotentHint=False, openWorldHint=True))
async def"""


def write_by_hand(project: Path) -> Path:
    """The same tools in one file, as a person writes FastMCP: its decorators, hints by hand."""
    parts = [HEAD]
    for path in sorted((project / "src/notes_mcp/tools").glob("[a-z]*.py")):
        text = path.read_text()
        body = text[text.index("class ") :]
        body, count = re.subn(
            r"@[a-z]+\((?:[^()]|\([^()]*\))*\)\nasync def", DECORATOR, body
        )
        assert count == 1, path
        parts.append(body)
    script = project / "by_hand.py"
    script.write_text("\n".join([*parts, 'mcp.run("stdio", show_banner=False)\n']))
    return script


Work = Callable[[Client[Any]], Awaitable[object]]


async def time_work(
    clients: Sequence[Client[Any]], work: Work, turns: int, times: int
) -> list[list[float]]:
    """The median milliseconds of the same work of several clients in each turn.

    Args:
        clients: The clients, which work one after the other at each time.
        work: What they do.
        turns: How many medians each has.
        times: How often each works in a turn.
    """
    medians: list[list[float]] = [[] for _ in clients]
    for _ in range(turns):
        taken: list[list[float]] = [[] for _ in clients]
        for _ in range(times):
            for client, mine in zip(clients, taken, strict=True):
                started = time.perf_counter()
                await work(client)
                mine.append((time.perf_counter() - started) * 1000)
        for mine, own_medians in zip(taken, medians, strict=True):
            own_medians.append(statistics.median(mine))
    return medians


@contextlib.asynccontextmanager
async def start_client(
    words: list[str], environ: dict[str, str]
) -> AsyncIterator[Client[Any]]:
    """A client of a server that is started with these words."""
    with Path(os.devnull).open("w") as log:
        transport = StdioTransport(sys.executable, words, env=environ, log_file=log)
        async with Client[Any](transport) as client:
            yield client


def time_first_list(words: list[str], environ: dict[str, str]) -> float:
    """Milliseconds from the start to the first tools/list."""

    async def time_list() -> float:
        began = time.perf_counter()
        async with start_client(words, environ) as client:
            await client.list_tools()
            return (time.perf_counter() - began) * 1000

    return asyncio.run(time_list())


async def compare_servers(
    kinds: Sequence[list[str]],
    environ: dict[str, str],
    work: Work,
    turns: int,
    times: int,
) -> list[list[float]]:
    """The median milliseconds of each turn in which servers of several kinds answer; all of them run."""
    async with contextlib.AsyncExitStack() as stack:
        clients: list[Client[Any]] = []
        for words in kinds:
            client = await stack.enter_async_context(start_client(words, environ))
            clients.append(client)
        return await time_work(clients, work, turns, times)


def time_python(words: list[str], environ: dict[str, str]) -> float:
    """The seconds of a Python that succeeds."""
    started = time.perf_counter()
    subprocess.run(
        [sys.executable, *words], env=environ, check=True, capture_output=True
    )
    return time.perf_counter() - started


def run_benchmark(turns: int) -> Iterator[figures.Answer]:
    """A figure each for start, list, call and help."""
    with tempfile.TemporaryDirectory() as place:
        template = clone_template(Path(place, "template"))
        project = render(template, Path(place, "project"), {"tools": TOOLS})
        environ = os.environ | {
            "PYTHONPATH": str(project / "src"),
            "NOTES_MCP_DATABASE": ":memory:",
        }
        command = ["-c", "from notes_mcp.cli import main; main()"]
        kinds = [[*command, "run"], [str(write_by_hand(project))]]
        starts = [partial(time_first_list, words, environ) for words in kinds]
        figures.measure_in_turns(1, *starts)  # which compiles the bytecode
        aims = [
            (
                "start to the first tools/list",
                1.05,
                figures.time_in_turns(turns, *starts),
            )
        ]
        calls: list[tuple[str, float, Work]] = [
            ("tools/list", 1.05, lambda client: client.list_tools()),
            ("tools/call", 1.1, lambda client: client.call_tool("search_notes", {})),
        ]
        for what, aim, work in calls:
            rows = asyncio.run(compare_servers(kinds, environ, work, turns, CALLS))
            aims.append((what, aim, rows))
        names = ["search_notes"]
        for number in range(MANY - 1):
            names.append(f"get_note{number}")
        many = render(template, Path(place, "many"), {"tools": ", ".join(names)})
        listed = asyncio.run(
            compare_servers(
                [[*command, "run"], [str(write_by_hand(many))]],
                environ | {"PYTHONPATH": str(many / "src")},
                lambda client: client.list_tools(),
                turns,
                LISTS,
            )
        )
        aims.append((f"tools/list of {MANY:,} tools", 1.0, listed))
        for what, aim, (own_milliseconds, floor) in aims:
            yield figures.Figure.of_turns(
                own_milliseconds,
                floor,
                what=what,
                unit="ms",
                beside="by hand",
                ratio_at_most=aim,
            )
        makers = ["-c", "from copier_fastmcp.cli import main; main()"]
        for name, words in (("notes-mcp", command), ("copier-fastmcp", makers)):
            own_seconds, floor = figures.time_in_turns(
                turns * 2,
                partial(time_python, [*words, "--help"], environ),
                partial(time_python, ["-c", EMPTY_APP], environ),
            )
            yield figures.Figure.of_turns(
                own_seconds,
                floor,
                what=f"{name} --help",
                unit="s",
                beside="a command line without commands",
                ratio_at_most=HELP_RATIOS[name],
            )


if __name__ == "__main__":
    figures.run(run_benchmark, turns=9)

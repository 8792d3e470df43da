"""The generated server against a hand-written FastMCP server with the same tools, and what `--help` takes.

Both serve the same bodies on the same backend over stdio; the other has no policy: no registry, no gate, no log line.
usage: python -m benchmarks.serve [TURNS]
"""

import asyncio
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from fastmcp import Client
from fastmcp.client.transports import StdioTransport
from support import clone_template, render

from benchmarks import figures

TOOLS = "search_notes, get_note, create_note, ensure_note, append_note, update_note, archive_note"
CALLS = 300
MANY = 1000
HELPED = 0.3  # seconds that `--help` may take
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


def by_hand(project: Path) -> Path:
    """The same tools in one file, as a person writes FastMCP: its decorators, hints by hand."""
    parts = [HEAD]
    for path in sorted((project / "src/notes_mcp/tools").glob("[a-z]*.py")):
        text = path.read_text()
        body = text[text.index("class ") :]
        body, count = re.subn(r"@[a-z]+\((?:[^()]|\([^()]*\))*\)\nasync def", DECORATOR, body)
        assert count == 1, path
        parts.append(body)
    script = project / "by_hand.py"
    script.write_text("\n".join([*parts, 'mcp.run("stdio", show_banner=False)\n']))
    return script


async def timed(work: Callable[[], Any], calls: int) -> float:
    """The median milliseconds of many calls."""
    taken = []
    for _ in range(calls):
        started = time.perf_counter()
        await work()
        taken.append(time.perf_counter() - started)
    return statistics.median(taken) * 1000


async def served(
    words: list[str], environ: dict[str, str], calls: int = CALLS
) -> tuple[float, float, float]:
    """Milliseconds from the start to the first tools/list, of one tools/list, of one tools/call."""
    with Path(os.devnull).open("w") as log:
        started = time.perf_counter()
        transport = StdioTransport(sys.executable, words, env=environ, log_file=log)
        async with Client[Any](transport) as client:
            await client.list_tools()
            began = (time.perf_counter() - started) * 1000
            listed = await timed(client.list_tools, calls)
            reading: tuple[str, dict[str, Any]] = ("search_notes", {})
            return began, listed, await timed(lambda: client.call_tool(*reading), calls)


def seconds(words: list[str], environ: dict[str, str]) -> float:
    """The seconds of a Python that succeeds."""
    started = time.perf_counter()
    subprocess.run([sys.executable, *words], env=environ, check=True, capture_output=True)
    return time.perf_counter() - started


def measured(turns: int) -> Iterator[figures.Answer]:
    """A figure each for start, list, call and help."""
    with tempfile.TemporaryDirectory() as work:
        template = clone_template(Path(work, "template"))
        project = render(template, Path(work, "project"), {"tools": TOOLS})
        environ = os.environ | {
            "PYTHONPATH": str(project / "src"),
            "NOTES_MCP_DATABASE": ":memory:",
        }
        command = ["-c", "from notes_mcp.cli import main; main()"]
        theirs = [str(by_hand(project))]
        kinds: tuple[tuple[str, float, list[float], list[float]], ...] = (
            ("start to the first tools/list", 1.05, [], []),
            ("tools/list", 1.05, [], []),
            ("tools/call", 1.1, [], []),
        )
        for turn in range(turns + 1):  # the first compiles the bytecode
            both = [asyncio.run(served(words, environ)) for words in ([*command, "run"], theirs)]
            for (_, _, ours, floor), mine, other in zip(kinds, *both, strict=True):
                if turn:
                    ours.append(mine)
                    floor.append(other)
        for what, aim, ours, floor in kinds:
            yield figures.Figure(
                what=what,
                unit="ms",
                ours=statistics.median(ours),
                floor=statistics.median(floor),
                beside="by hand",
                ratio_at_most=aim,
            )
        names = ", ".join(["search_notes", *(f"get_note{n}" for n in range(MANY - 1))])
        many = render(template, Path(work, "many"), {"tools": names})
        environ |= {"PYTHONPATH": str(many / "src")}
        listed: tuple[list[float], list[float]] = ([], [])
        for _ in range(min(turns, 3)):
            for found, words in zip(listed, ([*command, "run"], [str(by_hand(many))]), strict=True):
                found.append(asyncio.run(served(words, environ, 7))[1])
        yield figures.Figure(
            what=f"tools/list of {MANY:,} tools",
            unit="ms",
            ours=min(listed[0]),
            floor=min(listed[1]),
            beside="by hand",
            ratio_at_most=1.0,
        )
        makers = ["-c", "from copier_fastmcp.cli import main; main()"]
        for name, words in (("notes-mcp", command), ("copier-fastmcp", makers)):
            mine, other = figures.in_turns(
                turns * 2,
                partial(seconds, [*words, "--help"], environ),
                partial(seconds, ["-c", "pass"], environ),
            )
            yield figures.Figure(
                what=f"{name} --help",
                unit="s",
                ours=mine,
                floor=other,
                beside="a Python that does nothing",
                at_most=HELPED,
            )


if __name__ == "__main__":
    figures.run(measured, turns=9)

"""What the gate costs a call that nobody confirmed, against the same server and the same tool without it.

Calls over memory, in turns, timed within the server: how long a client reads its answer is not the gate's.
usage: python -m benchmarks.gate [CALLS]
"""

import asyncio
import logging
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import AsyncExitStack
from pathlib import Path

from fastmcp import Client, FastMCP
from fastmcp.server.middleware import CallNext, Middleware, MiddlewareContext
from fastmcp.tools import Tool, ToolResult
from mcp_types import CallToolRequestParams
from pydantic import BaseModel
from support import clone_template, render

from benchmarks import figures
from benchmarks.engine_package import ENGINE, on_the_package

ERAS = ("legacy", "2026-07-28")
WARM = 100


class Watch(Middleware):
    """Takes the milliseconds of each call."""

    taken: float

    async def on_call_tool(
        self,
        context: MiddlewareContext[CallToolRequestParams],
        call_next: CallNext[CallToolRequestParams, ToolResult],
    ) -> ToolResult:
        """Time one call."""
        started = time.perf_counter()
        result = await call_next(context)
        Watch.taken = (time.perf_counter() - started) * 1000
        return result


class Gone(BaseModel):
    """What the probe answers."""

    deleted: bool


async def probe(note_id: int) -> Gone:
    """Do nothing, so that what is measured is all around it."""
    return Gone(deleted=True)


def servers() -> dict[str, FastMCP]:
    """The generated server with one tool: behind the gate, declared without it, and as FastMCP has it."""
    from notes_mcp.policy import POLICY, delete
    from notes_mcp.server import create_server
    from notes_mcp.settings import Settings

    from copier_fastmcp_engine.declarations import Exemption
    from copier_fastmcp_engine.tools import build_tool

    exempt: Exemption = {"hint": "confirm", "value": False, "why": "to measure without"}
    tools = {
        "gated": build_tool(
            POLICY, probe, delete(title="Probe", confirm="Delete note {note_id}?")
        ),
        "declared": build_tool(
            POLICY, probe, delete(title="Probe", confirm=False, exceptions=[exempt])
        ),
        "plain": Tool.from_function(probe),
    }
    project: dict[str, FastMCP] = {}
    for name, tool in tools.items():
        server = create_server(Settings(database=":memory:", state="memory"))
        project[name] = FastMCP("plain") if name == "plain" else server
        project[name].add_tool(tool)
        project[name].add_middleware(Watch())
    return project


async def medians(era: str, calls: int) -> dict[str, float]:
    """The median milliseconds of a call of each server."""
    taken: dict[str, list[float]] = {}
    async with AsyncExitStack() as stack:
        clients = {
            name: await stack.enter_async_context(Client(server, mode=era))
            for name, server in servers().items()
        }
        for number in range(calls + WARM):
            for name, client in clients.items():
                await client.call_tool("probe", {"note_id": number})
                if number >= WARM:
                    taken.setdefault(name, []).append(Watch.taken)
    return {name: statistics.median(times) for name, times in taken.items()}


def run_benchmark(calls: int) -> Iterator[figures.Answer]:
    """Two figures for each era."""
    logging.disable()
    with tempfile.TemporaryDirectory() as work:
        rendered = render(clone_template(Path(work, "template")), Path(work, "project"))
        project = on_the_package(rendered)
        sys.path[:0] = [str(project / "src"), str(ENGINE)]
        for era in ERAS:
            values = asyncio.run(medians(era, calls))
            for what, floor, floor_name in (
                ("gated", "declared", "declared, without the gate"),
                ("declared", "plain", "FastMCP's own tool"),
            ):
                yield figures.Figure(
                    what=f"a {what} tool, {era} era",
                    unit="ms",
                    ours=values[what],
                    floor=values[floor],
                    beside=floor_name,
                )


if __name__ == "__main__":
    figures.run(run_benchmark, turns=2000)

"""What the gate costs a call that nobody confirmed, against the same server and the same tool without it.

Calls over memory, interleaved; prints medians and their difference. usage: python benchmarks/gate.py [CALLS]
"""

import asyncio
import logging
import statistics
import sys
import tempfile
import time
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

from fastmcp import Client, FastMCP
from fastmcp.server.middleware import CallNext, Middleware, MiddlewareContext
from fastmcp.tools import Tool, ToolResult
from mcp_types import CallToolRequestParams

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
from support import clone_template, render


class Watch(Middleware):
    """Takes the time of each call within the server: how long a client reads its answer is not the gate's."""

    taken: float

    async def on_call_tool(
        self,
        context: MiddlewareContext[CallToolRequestParams],
        call_next: CallNext[CallToolRequestParams, ToolResult],
    ) -> ToolResult:
        """Time one call."""
        start = time.perf_counter()
        result = await call_next(context)
        Watch.taken = (time.perf_counter() - start) * 1000
        return result


def servers() -> dict[str, FastMCP]:
    """The generated server with one tool: behind the gate, declared without it, and as FastMCP has it."""
    from notes_mcp.policy import delete  # type: ignore[import-not-found]
    from notes_mcp.policy.registry import build_tool  # type: ignore[import-not-found]
    from notes_mcp.server import create_server  # type: ignore[import-not-found]
    from notes_mcp.settings import Settings  # type: ignore[import-not-found]
    from pydantic import BaseModel

    class Gone(BaseModel):
        deleted: bool

    def declared(**said: Any) -> Any:
        async def probe(note_id: int) -> Gone:
            """Do nothing, so that what is measured is all around it."""
            return Gone(deleted=True)

        return delete(title="Probe", **said)(probe)

    why = {"hint": "confirm", "value": False, "why": "to measure without"}
    gated = declared(confirm="Delete note {note_id}?")
    open_ = declared(confirm=False, exceptions=[why])
    tools = {
        "gated": build_tool(gated, gated.__declaration__),
        "ungated": build_tool(open_, open_.__declaration__),
        "plain": Tool.from_function(open_),
    }
    found = {}
    for name, tool in tools.items():
        found[name] = create_server(Settings(database=":memory:", state="memory"))
        found[name].add_tool(tool)
        found[name].add_middleware(Watch())
    return found


async def measure(era: str, calls: int) -> dict[str, float]:
    """The median milliseconds of a call of each server."""
    taken: dict[str, list[float]] = {}
    async with AsyncExitStack() as stack:
        clients = {
            name: await stack.enter_async_context(Client(server, mode=era))
            for name, server in servers().items()
        }
        for number in range(calls + 100):
            for name, client in clients.items():
                await client.call_tool("probe", {"note_id": number})
                if number >= 100:
                    taken.setdefault(name, []).append(Watch.taken)
    return {name: statistics.median(times) for name, times in taken.items()}


def main(calls: int) -> None:
    """Print the table."""
    logging.disable()
    with tempfile.TemporaryDirectory() as work:
        project = render(clone_template(Path(work, "template")), Path(work, "project"))
        sys.path.insert(0, str(project / "src"))
        for era in ("legacy", "2026-07-28"):
            found = asyncio.run(measure(era, calls))
            for name, without in (("gated", "ungated"), ("ungated", "plain")):
                a, b = found[name], found[without]
                print(
                    f"{era}: {name} tool {a:.3f} ms, {without} {b:.3f} ms, the difference {a - b:+.3f} ms"
                )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 2000)

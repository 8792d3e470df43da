"""What overrides of texts cost: the same server with a description laid over every tool, and without.

tools/list and tools/call go through an in-memory client, in turns. usage: python -m benchmarks.metadata [TURNS]
"""

import asyncio
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from fastmcp import Client, FastMCP
from pydantic import BaseModel, Field
from support import clone_template, render

from benchmarks import figures
from benchmarks.engine_package import ENGINE, on_the_package

CALLS = 10


class Answer(BaseModel):
    """What every tool answers."""

    text: str = Field(description="What was said")


async def say(
    text: Annotated[str, Field(description="What to say")] = "hello",
) -> Answer:
    """Say it."""
    return Answer(text=text)


def build_server(count: int) -> FastMCP:
    """A server of `count` tools, each built and served as the generated server does it."""
    from notes_mcp.policy import POLICY, read
    from notes_mcp.settings import Settings

    from copier_fastmcp_engine.audit_log import AuditLog
    from copier_fastmcp_engine.confirmation.pending import PendingStore
    from copier_fastmcp_engine.guard import Guard
    from copier_fastmcp_engine.tools import build_tool

    settings = Settings(state="memory")
    mcp: FastMCP = FastMCP("bench")
    audit_log = AuditLog(POLICY, settings.audit, settings.state_keys)
    gate = PendingStore(POLICY, settings.state, settings.confirm_seconds, audit_log)
    Guard(mcp, POLICY, gate, settings).install()
    tool = build_tool(POLICY, say, read(title="Say"))
    for number in range(count):
        mcp.add_tool(tool.model_copy(update={"name": f"say_{number:04}"}))
    return mcp


def write_overrides(path: Path, count: int) -> Path:
    """A metadata file with one override a tool."""
    lines = ["version: 1", "tools:"]
    for number in range(count):
        lines.append(f"  say_{number:04}: {{description: Say it {number}}}")
    path.write_text("\n".join(lines))
    path.chmod(0o600)
    return path


def time_override(mcp: FastMCP, path: Path) -> float:
    """Lay a file over a server; the milliseconds that it took."""
    from notes_mcp.policy import POLICY

    from copier_fastmcp_engine.metadata.overrides import override

    started = time.perf_counter()
    override(POLICY, mcp, path)
    return (time.perf_counter() - started) * 1000


def time_override_of_server(count: int, path: Path) -> float:
    """The milliseconds of laying a file over a new server."""
    return time_override(build_server(count), path)


class Times:
    """Milliseconds of tools/list and of tools/call, by method."""

    def __init__(self) -> None:
        """Begin without any."""
        self.lists: list[float] = []
        self.calls: list[float] = []

    async def measure(self, client: Client[Any]) -> None:
        """Add one tools/list and one tools/call."""
        started = time.perf_counter()
        await client.list_tools()
        listed = time.perf_counter()
        for _ in range(CALLS):
            await client.call_tool("say_0007", {})
        called = time.perf_counter()
        self.lists.append((listed - started) * 1000)
        self.calls.append((called - listed) * 1000 / CALLS)

    def compute_medians(self) -> dict[str, float]:
        """The medians by method."""
        return {
            "tools/list": statistics.median(self.lists),
            "tools/call": statistics.median(self.calls),
        }


async def compare_medians(
    count: int, turns: int, path: Path
) -> tuple[dict[str, float], dict[str, float]]:
    """The medians of list and call, with overrides and without."""
    with_texts = build_server(count)
    without = build_server(count)
    time_override(with_texts, path)
    times, floor_times = Times(), Times()
    async with Client(with_texts) as client, Client(without) as floor_client:
        tools = await client.list_tools()
        assert tools[0].description == "Say it 0"
        for _ in range(turns):
            await times.measure(client)
            await floor_times.measure(floor_client)
    return times.compute_medians(), floor_times.compute_medians()


def run_benchmark(turns: int) -> Iterator[figures.Answer]:
    """Figures for 100 and 1,000 tools."""
    with tempfile.TemporaryDirectory() as work:
        rendered = render(clone_template(Path(work, "template")), Path(work, "project"))
        project = on_the_package(rendered)
        sys.path[:0] = [str(project / "src"), str(ENGINE)]
        for count in (100, 1000):
            path = write_overrides(Path(work, f"{count}.yaml"), count)
            medians, floor = asyncio.run(compare_medians(count, turns, path))
            for method, median in medians.items():
                yield figures.Figure(
                    what=f"{method}, {count:,} tools",
                    unit="ms",
                    ours=median,
                    floor=floor[method],
                    beside="without overrides",
                    ratio_at_most=1.1,
                )
            laid, none = figures.measure_in_turns(
                5,
                partial(time_override_of_server, count, path),
                partial(time_override_of_server, count, Path("none")),
            )
            yield figures.Figure(
                what=f"reading and laying over {count:,}",
                unit="ms",
                ours=laid,
                floor=none,
                beside="no file",
                at_most=50 if count == 1000 else None,
            )


if __name__ == "__main__":
    figures.run(run_benchmark, turns=35)

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


def server(count: int) -> FastMCP:
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


def overrides(path: Path, count: int) -> Path:
    """A metadata file with one override a tool."""
    lines = [
        f"  say_{number:04}: {{description: Say it {number}}}"
        for number in range(count)
    ]
    path.write_text("\n".join(["version: 1", "tools:", *lines]))
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
    return time_override(server(count), path)


async def time_calls(client: Client[Any]) -> tuple[float, float]:
    """Milliseconds of one tools/list and one tools/call."""
    started = time.perf_counter()
    await client.list_tools()
    listed = time.perf_counter() - started
    started = time.perf_counter()
    for _ in range(CALLS):
        await client.call_tool("say_0007", {})
    return listed * 1000, (time.perf_counter() - started) * 1000 / CALLS


async def compare_medians(
    count: int, turns: int, path: Path
) -> tuple[list[float], list[float]]:
    """The medians of list and call, with overrides and without."""
    with_texts, without = server(count), server(count)
    time_override(with_texts, path)
    taken: tuple[list[tuple[float, float]], list[tuple[float, float]]] = ([], [])
    async with Client(with_texts) as client, Client(without) as floor_client:
        assert (await client.list_tools())[0].description == "Say it 0"
        for _ in range(turns):
            taken[0].append(await time_calls(client))
            taken[1].append(await time_calls(floor_client))
    first, second = (
        [statistics.median(kind) for kind in zip(*runs, strict=True)] for runs in taken
    )
    return first, second


def run_benchmark(turns: int) -> Iterator[figures.Answer]:
    """Figures for 100 and 1,000 tools."""
    with tempfile.TemporaryDirectory() as work:
        rendered = render(clone_template(Path(work, "template")), Path(work, "project"))
        project = on_the_package(rendered)
        sys.path[:0] = [str(project / "src"), str(ENGINE)]
        for count in (100, 1000):
            path = overrides(Path(work, f"{count}.yaml"), count)
            medians, floor = asyncio.run(compare_medians(count, turns, path))
            for kind, what in enumerate(("tools/list", "tools/call")):
                yield figures.Figure(
                    what=f"{what}, {count:,} tools",
                    unit="ms",
                    ours=medians[kind],
                    floor=floor[kind],
                    beside="without overrides",
                    ratio_at_most=1.1,
                )
            laid, none = figures.in_turns(
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

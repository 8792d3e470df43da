"""What overrides of texts cost: the same server with and without them, in one run, interleaved.

Every tool has its description overridden. Prints, at 100 and 1,000 tools, the medians of tools/list and
tools/call through an in-memory client and their ratio (at most 1.1 is wanted), and what reading, checking and
laying over adds to the start (at most 50 ms for 1,000). usage: python benchmarks/metadata.py [RUNS]
"""

import asyncio
import importlib
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Annotated, Any

from fastmcp import Client, FastMCP
from pydantic import BaseModel, Field

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tests"))
from support import clone_template, render  # noqa: E402


class Answer(BaseModel):
    """What every tool answers."""

    text: str = Field(description="What was said")


async def say(text: Annotated[str, Field(description="What to say")] = "hello") -> Answer:
    """Say it."""
    return Answer(text=text)


def server(count: int, serving: Any, declarations: Any) -> FastMCP:
    """A server of `count` tools, each built as the generated server builds it."""
    mcp = FastMCP("bench")
    tool = serving.build_tool(say, declarations.read(title="Say"))
    for n in range(count):
        mcp.add_tool(tool.model_copy(update={"name": f"say_{n:04}"}))
    return mcp


def file(path: Path, count: int) -> Path:
    """A metadata file with one override a tool."""
    lines = [f"  say_{n:04}: {{description: Say it {n}}}" for n in range(count)]
    path.write_text("\n".join(["version: 1", "tools:", *lines]))
    path.chmod(0o600)
    return path


async def measure(client: Client[Any]) -> tuple[float, float]:
    """Milliseconds of one tools/list and one tools/call."""
    start = time.perf_counter()
    await client.list_tools()
    listed = time.perf_counter() - start
    start = time.perf_counter()
    for _ in range(10):
        await client.call_tool("say_0007", {})
    return listed * 1000, (time.perf_counter() - start) * 100


async def compare(count: int, runs: int, metadata: Any, made: Any, path: Path) -> None:
    """Print the ratios and what the start costs at one number of tools."""
    starts = []
    for _ in range(runs):
        mcp = made(count)
        start = time.perf_counter()
        metadata.override(mcp, Path("none"))
        none = time.perf_counter() - start
        mcp = made(count)
        start = time.perf_counter()
        metadata.override(mcp, path)
        starts.append((time.perf_counter() - start - none) * 1000)
    async with Client(made(count)) as plain, Client(mcp) as overridden:
        assert (await overridden.list_tools())[0].description == "Say it 0"
        both: tuple[list[tuple[float, float]], ...] = ([], [])
        for _ in range(runs * 5):
            both[0].append(await measure(plain))
            both[1].append(await measure(overridden))
    for n, name in enumerate(("tools/list", "tools/call")):
        a, b = (statistics.median(run[n] for run in measured) for measured in both)
        print(f"{count} tools, {name}: {b:.2f} ms, without {a:.2f} ms, ratio {b / a:.2f}")
    print(f"{count} overrides at start: {statistics.median(starts):.1f} ms")


def main(runs: int) -> None:
    """Print the figures."""
    with tempfile.TemporaryDirectory() as work:
        project = render(clone_template(Path(work, "template")), Path(work, "project"))
        sys.path.insert(0, str(project / "src"))
        policy = "notes_mcp.policy"
        serving = importlib.import_module(f"{policy}.serving")
        declarations = importlib.import_module(f"{policy}.declarations")
        metadata = importlib.import_module(f"{policy}.metadata")
        for count in (100, 1000):
            path = file(Path(work, f"{count}.yaml"), count)

            def made(count: int) -> FastMCP:
                return server(count, serving, declarations)

            asyncio.run(compare(count, runs, metadata, made, path))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 7)

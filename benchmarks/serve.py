"""The generated server against a hand-written FastMCP server with the same tools inline, in one run.

Both use the same bodies and backend; the other has no policy: no registry, no gate, no log line. Interleaved
runs over stdio; prints medians and their ratio. usage: python benchmarks/serve.py [RUNS]
"""

import asyncio
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import copier
from fastmcp import Client
from fastmcp.client.transports import StdioTransport

ROOT = Path(__file__).parent.parent
TOOLS = "search_notes, get_note, create_note, ensure_note, append_note, update_note, archive_note"
CALLS = 300


def by_hand(project: Path) -> Path:
    """The same tools in one file, as a person writes FastMCP: decorators of FastMCP, hints by hand."""
    lines = [
        "import os",
        "import sys",
        "from typing import Annotated",
        "from fastmcp import FastMCP",
        "from mcp_types import ToolAnnotations",
        "from pydantic import BaseModel, Field",
        "from notes_mcp.backend import backend, connect",
        "from notes_mcp.settings import Settings",
        "connect(Settings())",
        'mcp = FastMCP("notes-mcp")',
    ]
    for path in sorted((project / "src/notes_mcp/tools").glob("[a-z]*.py")):
        body = path.read_text().split("import ", 1)[1]
        body = body[body.index("class ") :]
        body = re.sub(
            r"@[a-z]+\((?:[^()]|\([^()]*\))*\)\nasync",
            '@mcp.tool(title="T", annotations=ToolAnnotations(title="T", readOnlyHint=False, '
            "destructiveHint=False, idempotentHint=False, openWorldHint=True))\nasync",
            body,
        )
        lines.append(body)
    lines.append('mcp.run("stdio", show_banner=False)')
    script = project / "by_hand.py"
    script.write_text("\n".join(lines))
    return script


async def measure(arguments: list[str], env: dict[str, str]) -> dict[str, float]:
    """Milliseconds: start to the first tools/list, one tools/list, one tools/call."""
    with Path(os.devnull).open("w") as log:
        start = time.perf_counter()
        transport = StdioTransport(sys.executable, arguments, env=env, log_file=log)
        async with Client[Any](transport) as client:
            await client.list_tools()
            began = time.perf_counter() - start
            lists, calls = [], []
            for _ in range(CALLS):
                start = time.perf_counter()
                await client.list_tools()
                lists.append(time.perf_counter() - start)
            for _ in range(CALLS):
                start = time.perf_counter()
                await client.call_tool("search_notes", {"query": "milk"})
                calls.append(time.perf_counter() - start)
    return {
        "start to first tools/list": began * 1000,
        "tools/list": statistics.median(lists) * 1000,
        "tools/call": statistics.median(calls) * 1000,
    }


def main(runs: int) -> None:
    """Print the table."""
    with tempfile.TemporaryDirectory() as work:
        template = Path(work, "template")
        subprocess.run(["git", "clone", "-q", str(ROOT), str(template)], check=True)
        project = Path(work, "project")
        copier.run_copy(
            str(template),
            project,
            data={"tools": TOOLS},
            defaults=True,
            skip_tasks=True,
            quiet=True,
            vcs_ref="HEAD",
        )
        env = dict(os.environ, PYTHONPATH=str(project / "src"), NOTES_MCP_DATABASE=":memory:")
        ours = ["-c", "from notes_mcp.cli import main; main()", "run"]
        theirs = [str(by_hand(project))]
        subprocess.run([sys.executable, "-m", "compileall", "-q", str(project)], check=False)
        figures: dict[str, list[dict[str, float]]] = {"ours": [], "by hand": []}
        for _ in range(runs):
            figures["by hand"].append(asyncio.run(measure(theirs, env)))
            figures["ours"].append(asyncio.run(measure(ours, env)))
        for name in figures["ours"][0]:
            a = statistics.median(run[name] for run in figures["ours"])
            b = statistics.median(run[name] for run in figures["by hand"])
            print(f"{name}: {a:.2f} ms, by hand {b:.2f} ms, ratio {a / b:.2f}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 7)

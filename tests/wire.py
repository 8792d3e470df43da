"""Generated servers as real processes, asked by a real client over stdio and HTTP."""

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import forked
import warm
from fastmcp import Client
from fastmcp.client.elicitation import ElicitResult
from fastmcp.client.transports import StdioTransport
from listening import free_port, running
from mcp_types import Tool

ERAS = ["legacy", "2026-07-28"]
HINTS = ["readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"]


def command(project: Path, *words: str) -> list[str]:
    """The generated command line, run by this interpreter."""
    package = next((project / "src").iterdir()).name
    return [sys.executable, "-c", f"from {package}.cli import main; main()", *words]


def environ(project: Path, home: Path) -> dict[str, str]:
    """An environment in which a server finds its package and an empty home."""
    return warm.clean_environment() | {
        "PYTHONPATH": str(project / "src"),
        "HOME": str(home),
        "XDG_DATA_HOME": str(home / "data"),
    }


def stdio(
    project: Path, home: Path, era: str, *flags: str, **options: Any
) -> Client[StdioTransport]:
    """A client of one protocol era that starts the server as its child."""
    program, *words = forked.python(command(project, "run", *flags)[1:])
    transport = StdioTransport(
        program,
        words,
        env=environ(project, home),
        cwd=str(project),
        keep_alive=False,
        log_file=home / "stderr",
    )
    return Client(transport, mode=era, **options)


@contextlib.contextmanager
def http(project: Path, home: Path, *options: str) -> Iterator[str]:
    """The address of a server on a free loopback port, for as long as the block runs."""
    with free_port() as port:
        words = forked.python(
            command(project, "run", "--http", "--port", str(port), *options)[1:]
        )
        process = {"env": environ(project, home), "cwd": project}
        with running(words, port, home / "stderr", **process):
            yield f"http://127.0.0.1:{port}/mcp"


async def agree(*arguments: object) -> ElicitResult[dict[str, bool]]:
    """Confirm every question."""
    return ElicitResult(action="accept", content={"confirm": True})


def hints_of(tool: Tool) -> dict[str, bool]:
    """The hints on the wire; one that is not there is absent."""
    served = tool.annotations.model_dump(by_alias=True) if tool.annotations else {}
    return {hint: served[hint] for hint in HINTS if served.get(hint) is not None}

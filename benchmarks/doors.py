"""What a person gets who has an idea, or an API, from here and from elsewhere, in one run.

An idea: four tools of notes from `copier-fastmcp new`, beside `create-mcp` 0.2.0, which makes three of its own. An API: twelve
of GitHub's operations (its document is the npm package @octokit/openapi), beside FastMCP's `from_openapi`. Each is made
from nothing in an empty folder, with a warm package cache; then a client says no when it is asked before a deletion, in
each protocol era, and it is counted whether something was deleted nevertheless. usage: python -m benchmarks.doors [TURNS]
"""

import asyncio
import contextlib
import http.server
import json
import re
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from fastmcp import Client
from fastmcp.client.elicitation import ElicitResult
from fastmcp.client.transports import StdioTransport
from mcp.shared.exceptions import MCPError
from support import clone_template

from benchmarks import ROOT, figures
from benchmarks.beside import HINTS, UV, build_environment, fetch_tools, run

DOCUMENT = "@octokit/openapi@23.0.2"
OPERATIONS = [
    "issues/list-for-repo",
    "issues/create",
    "issues/get",
    "issues/update",
    "issues/list-comments",
    "issues/create-comment",
    "issues/delete-comment",
    "issues/add-labels",
    "issues/remove-label",
    "issues/lock",
    "search/issues-and-pull-requests",
    "repos/get",
]
ERAS = {"up to 2025-11-25": "legacy", "2026-07-28": "2026-07-28"}
# All that its guide asks for: a client, the twelve operations, nothing else.
SCRIPT = f"""\
import json
import os
import re

import httpx2
from fastmcp import FastMCP
from fastmcp.server.providers.openapi import MCPType, RouteMap

with open("api.github.com.json") as file:
    document = json.load(file)
wanted = {json.dumps(OPERATIONS, indent=4)[:-1].rstrip()},
]
for path in document["paths"].values():
    for method in list(path):
        if isinstance(path[method], dict) and path[method].get("operationId") not in wanted:
            del path[method]
client = httpx2.AsyncClient(base_url=os.environ["API"])
maps = [RouteMap(mcp_type=MCPType.TOOL)]
FastMCP.from_openapi(document, client, name="github", route_maps=maps).run(show_banner=False)
"""


@dataclass
class Door:
    """A way to a server, and what it came to."""

    name: str
    make: Callable[[Path], None]
    command: list[str]
    written: str
    suite: list[str] | None = None
    environment: dict[str, str] = field(default_factory=dict)
    folder: Path = Path()


DELETED: list[str] = []  # what reached the API


class Api(http.server.BaseHTTPRequestHandler):
    """An API that deletes anything, as far as anybody can tell."""

    def do_DELETE(self) -> None:
        """Remember that it was asked to."""
        DELETED.append(self.path)
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextlib.contextmanager
def api() -> Iterator[str]:
    """The address of the API."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Api)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


def make_project(template: Path, *words: str | Path) -> Callable[[Path], None]:
    """`copier-fastmcp new` in a folder, with installing and pinning."""

    def make(folder: Path) -> None:
        start: list[str | Path] = [
            UV,
            "tool",
            "run",
            "--quiet",
            "--from",
            ROOT,
            "copier-fastmcp",
        ]
        answers = [
            "new",
            folder,
            *words,
            "--unattended",
            "--install",
            "--template",
            template,
        ]
        done = run(*start, *answers, folder=folder.parent)
        assert done.returncode == 0, done.stderr

    return make


def create_mcp(folder: Path) -> None:
    """`create-mcp` in a folder, as its README says."""
    start = [UV, "tool", "run", "--quiet", "create-mcp@0.2.0", folder.name]
    start += ["-p", "db", "-t", "stdio", "--no-precommit", "--no-git", "-y"]
    done = run(*start, folder=folder.parent)
    assert done.returncode == 0, done.stderr


def from_openapi(document: Path) -> Callable[[Path], None]:
    """A script and the document in a folder."""

    def make(folder: Path) -> None:
        folder.mkdir()
        shutil.copy(document, folder)
        (folder / "server.py").write_text(SCRIPT)

    return make


def build_doors(template: Path, document: Path, address: str) -> list[Door]:
    """All of them."""
    tools = "add_note, list_notes, get_note, delete_note"
    chosen: list[str] = []
    for operation in OPERATIONS:
        chosen += ["--operation", operation]
    suite = [".venv/bin/python", "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    serve = [UV, "run", "--quiet"]
    alone = [*serve, "--no-project", "--with", "fastmcp>=4.1,<5", "python", "server.py"]
    mine = {"NOTES_MCP_DATABASE": ":memory:"}
    script = str(len(SCRIPT.splitlines()))
    github = make_project(
        template, "--from", document, *chosen, "--server-name", "github-mcp"
    )
    return [
        Door("copier-fastmcp", make_project(template, "--tools", tools, "--domain", "notes"),
             [*serve, "notes-mcp", "run"], "0", suite, mine),
        Door("create-mcp 0.2.0", create_mcp, [*serve, "notes"], "0", suite,
             {"MCP_DATABASE_PATH": "x.db"}),
        Door("copier-fastmcp, API", github, [*serve, "github-mcp", "run"], "0", suite,
             {"GITHUB_MCP_API": address}),
        Door("from_openapi", from_openapi(document), alone, script, None, {"API": address}),
    ]  # fmt: skip


def time_opening(door: Door, place: Path) -> float:
    """The seconds from nothing to the first tools/list; what was made stays."""
    door.folder = place / re.sub(r"\W+", "-", door.name) / "notes"
    shutil.rmtree(door.folder.parent, ignore_errors=True)
    door.folder.parent.mkdir()
    began = time.perf_counter()
    door.make(door.folder)
    fetch_tools(door.command, door.folder, door.environment)
    return time.perf_counter() - began


async def decline_deletion(door: Door, mode: str) -> str:
    """What becomes of a deletion when the person says no."""
    confirmations: list[str] = []

    async def no(message: str, *_: object) -> ElicitResult[Any]:
        confirmations.append(message)
        return ElicitResult(action="decline")

    transport = StdioTransport(
        door.command[0],
        door.command[1:],
        env=build_environment() | door.environment,
        cwd=str(door.folder),
        keep_alive=False,
        log_file=door.folder / "client.log",
    )
    async with Client[Any](transport, mode=mode, elicitation_handler=no) as client:
        name = ""
        for tool in await client.list_tools():
            if re.search("delete.*(note|comment)", tool.name):
                name = tool.name
                break
        if not name:
            return "no tool deletes"
        arguments = {"owner": "o", "repo": "r", "comment_id": 1}
        if name == "delete_note":
            words = {"title": "Milk", "content": "Two bottles"}
            created = await client.call_tool("add_note", words)
            arguments = {"note_id": (created.structured_content or {})["id"]}
        DELETED.clear()
        await client.call_tool(name, arguments, raise_on_error=False)
        deleted = bool(DELETED)
        if name == "delete_note":
            outcomes = await client.call_tool(
                "get_note", arguments, raise_on_error=False
            )
            deleted = outcomes.is_error
    asked = "asked" if confirmations else "not asked"
    return f"{asked}, deleted" if deleted else f"{asked}, kept"


def describe_decline(door: Door, mode: str) -> str:
    """The same, also of a server that does not speak the era."""
    try:
        return asyncio.run(decline_deletion(door, mode))
    except MCPError as error:
        return f"not spoken ({error})"


def run_suite(door: Door) -> tuple[str, str]:
    """How many tests come along and pass, and the seconds that they take."""
    if door.suite is None:
        return "none", ""
    began = time.perf_counter()
    done = run(*door.suite, folder=door.folder)
    took = f"{time.perf_counter() - began:.1f}"
    if done.returncode != 0:
        return "fails", took
    return f"{count_passed(done.stdout)} pass", took


def count_passed(output: str) -> int:
    """How many tests passed: by pytest's summary, else by its dots."""
    counts = re.findall(r"(\d+) passed", output)
    if counts:
        return int(counts[-1])
    passed = 0
    for line in output.splitlines():
        if re.match(r"^[.sx]+( +\[|$)", line):
            passed += line.count(".")
    return passed


def build_column(door: Door, seconds: float) -> list[str]:
    """A column of the table."""
    tools = fetch_tools(door.command, door.folder, door.environment)
    listing = {"tools": tools}
    text = json.dumps(listing, ensure_ascii=False, separators=(",", ":"))
    size = len(text.encode())
    hinted = 0
    for tool in tools:
        hinted += (tool.get("annotations") or {}).keys() >= HINTS
    cells = [door.written, f"{seconds:.1f}", str(len(tools)), f"{size:,}"]
    cells.append(f"{hinted}/{len(tools)}")
    for mode in ERAS.values():
        cells.append(describe_decline(door, mode))
    return [*cells, *run_suite(door)]


def run_benchmark(turns: int) -> Iterator[figures.Answer]:
    """One table, a column for each way."""
    heads = ["", "lines of code to write", "seconds to the first tools/list", "tools"]
    heads += ["bytes of tools/list", "all four hints"]
    heads += [f"a deletion that is declined, {era}" for era in ERAS]
    heads += ["tests that come along", "seconds of these"]
    with tempfile.TemporaryDirectory() as folder, api() as address:
        place = Path(folder)
        template = clone_template(place / "template")
        done = run("npm", "pack", "--silent", DOCUMENT, folder=place)
        assert done.returncode == 0, done.stderr
        packed = place / done.stdout.strip().splitlines()[-1]
        shutil.unpack_archive(packed, place / "github")
        (document,) = (place / "github").rglob("api.github.com.json")
        doors = build_doors(template, document, address)
        openings = [partial(time_opening, door, place) for door in doors]
        times = figures.measure_in_turns(turns, *openings)
        columns = [heads]
        for door, seconds in zip(doors, times, strict=True):
            columns.append([door.name, *build_column(door, seconds)])
        yield figures.Table.of_columns(*columns)


if __name__ == "__main__":
    figures.run(run_benchmark, turns=3)

"""A generated server mounted in another one: it keeps its own gate, and the other's policy holds for the rest."""

import json
import os
from pathlib import Path

from support import Renders, python

PROGRAM = """
import asyncio, json
from pathlib import Path
from fastmcp import Client
from fastmcp.client.elicitation import ElicitResult
import statuspro_mcp.extend as seam
from notes_mcp.server import shipped_server
from statuspro_mcp.server import create_server
from statuspro_mcp.settings import Settings

inner = shipped_server()
seam.extend = lambda mcp: mcp.mount(inner, namespace="notes")
outer = create_server(Settings(metadata=Path("none")))


async def person(*_):
    ASKED.append(1)
    return ElicitResult(action="accept", content={"confirm": True})


async def calls(name, *each, **options):
    ASKED.clear()
    said = []
    async with Client(outer, **options) as client:
        for arguments in each:
            result = await client.call_tool(name, arguments, raise_on_error=False)
            said.append("error" if result.is_error else result.structured_content.get("outcome"))
    return [len(ASKED), *said]


async def main():
    note, one, yes = {"title": "a", "content": "b"}, {"note_id": 1}, {"confirm": True}
    for mode in ("legacy", "2026-07-28"):
        asks = {"mode": mode, "elicitation_handler": person}
        print(json.dumps([
            await calls("notes_create_note", note, note | yes, mode=mode),
            await calls("notes_create_note", note | yes, **asks),
            await calls("notes_delete_note", one, one | yes, one | yes, mode=mode),
            await calls("notes_delete_note", one, **asks),
        ]))


ASKED = []
asyncio.run(main())
"""


def test_each_policy_asks_once_for_what_it_asks_for(
    project: Path, example: Renders
) -> None:
    folders = os.pathsep.join(
        str(folder / "src") for folder in (project, example("orders"))
    )
    memory = {"NOTES_MCP_DATABASE": ":memory:", "STATUSPRO_MCP_DATABASE": ":memory:"}
    done = python(project, "-c", PROGRAM, PYTHONPATH=folders, **memory)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    created = [[0, "preview", "applied"], [1, "applied"]]  # as `confirm-all` has it
    deleted = [[0, "preview", "applied", "error"], [1, "applied"]]
    assert lines == [created + deleted] * 2, done.stderr

"""The client of `scripts/demo`: it runs in the generated project's environment and talks to its server over stdio."""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

from fastmcp import Client
from fastmcp.client.elicitation import ElicitResult
from fastmcp.client.transports import StdioTransport
from fastmcp.exceptions import ToolError
from rich.console import Console
from rich.table import Table

console = Console()
HINTS = {
    "readOnlyHint": "read-only",
    "destructiveHint": "destructive",
    "idempotentHint": "idempotent",
    "openWorldHint": "open world",
}


async def person(message: str, *arguments: object) -> ElicitResult[dict[str, bool]]:
    """Answer for the person in front of the client: by asking in the terminal with --ask, else yes."""
    console.print(f"  [bold]the server asks a person:[/] {message}", highlight=False)
    if "--ask" in sys.argv:
        answer = await asyncio.to_thread(input, "  yes or no? ")
        if answer.strip().lower() not in ("y", "yes"):
            return ElicitResult(action="decline")
    else:
        console.print("  the person answers: yes")
    return ElicitResult(action="accept", content={"confirm": True})


async def call(client: Client[Any], name: str, **arguments: object) -> dict[str, Any]:
    """Call a tool and show what went over the wire; a gated one has its result in an envelope."""
    console.print(f"\n[bold]{name}[/] {json.dumps(arguments)}", highlight=False)
    try:
        result = (await client.call_tool(name, arguments)).structured_content or {}
    except ToolError as error:
        console.print(f"  refused: {error}", highlight=False)
        return {}
    console.print(f"  {json.dumps(result)}", highlight=False)
    return result["result"] if "outcome" in result and result.get("result") else result


async def main(folder: Path) -> None:
    """List the tools as a table, then create, search, update with a stale etag, and delete."""
    program = next((folder / ".venv/bin").glob("*-mcp"))
    log = (folder / "demo.log").open("w")
    transport = StdioTransport(
        str(program), ["run"], env={"NOTES_MCP_DATABASE": ":memory:"}, log_file=log
    )
    async with Client(transport, elicitation_handler=person) as client:
        table = Table("tool", *HINTS.values())
        for tool in await client.list_tools():
            hints = (
                tool.annotations.model_dump(by_alias=True) if tool.annotations else {}
            )
            table.add_row(
                tool.name, *("yes" if hints.get(hint) else "no" for hint in HINTS)
            )
        console.print(table)
        note = await call(client, "create_note", title="Milk", content="Two bottles")
        await call(client, "search_notes", query="milk")
        await call(
            client,
            "update_note",
            note_id=note["id"],
            etag=note["etag"],
            content="Three bottles",
        )
        await call(
            client, "update_note", note_id=note["id"], etag=note["etag"], content="Four"
        )
        await call(client, "delete_note", note_id=note["id"])
    console.print(f"""
[bold]It is yours:[/] {folder}
  cd {folder} && git init
  uv run tests/policy/pin.py    # write docs/tools.md and annotations.lock.json
  scripts/check                 # format, lint, types and tests, which run every tool
  uv run {program.name} run --http   # serve http://127.0.0.1:8000/mcp
Write your own code in src/, one file for each tool.""")


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))

"""One deletion behind a gate written by hand and behind the policy's, called by three clients.

`scripts/render-docs` makes a picture of it, in the environment of a generated server. Both servers run for real, over
memory, and what is printed is what their clients got.
"""

import asyncio
import logging
from typing import Any

from fastmcp import Client, Context, FastMCP
from fastmcp.client.elicitation import ElicitResult
from fastmcp.exceptions import ToolError
from notes_mcp.server import create_server
from notes_mcp.settings import Settings
from rich.console import Console

CLIENTS = {
    "of 2025-11-25 that can ask": ("legacy", True),
    "of 2026-07-28 that can ask": ("2026-07-28", True),
    "that cannot ask": ("2026-07-28", False),
}
console = Console()
by_hand = FastMCP("by-hand")


@by_hand.tool
async def delete_note(note_id: int, context: Context) -> dict[str, str]:
    """Delete a note after a question, as it is written by hand."""
    answer = await context.elicit(f"Delete note {note_id}?", response_type=bool)
    return {"outcome": "applied" if answer.action == "accept" else "declined"}


async def outcome(server: FastMCP[Any], era: str, asks: bool) -> tuple[str, str]:
    """A color, and what one client got."""
    questions: list[str] = []

    async def person(message: str, *_: object) -> ElicitResult[dict[str, bool]]:
        questions.append(message)
        name = "value" if server is by_hand else "confirm"
        return ElicitResult(action="accept", content={name: True})

    handler: dict[str, Any] = {"elicitation_handler": person} if asks else {}
    async with Client(server, mode=era, **handler) as client:
        try:
            call = await client.call_tool("delete_note", {"note_id": 1})
        except ToolError as error:
            return "red", f"error: {error}"
    envelope = call.structured_content or {}
    if envelope["outcome"] == "preview":
        return "yellow", f"preview: {envelope['preview']['next']}"
    return (
        "green" if questions else "red"
    ), f"{'a' if questions else 'no'} person was asked; {envelope['outcome']}"


async def main() -> None:
    """Call both servers as each client."""
    logging.disable()
    for gate in ("await context.elicit(...), by hand", "@delete(...), by the policy"):
        console.print(f"[bold]{gate}[/]", highlight=False)
        for name, (era, asks) in CLIENTS.items():
            server = (
                by_hand
                if "hand" in gate
                else create_server(Settings(database=":memory:"))
            )
            if server is not by_hand:
                async with Client(server) as author:
                    await author.call_tool(
                        "create_note", {"title": "Milk", "content": "Eggs"}
                    )
            color, what = await outcome(server, era, asks)
            console.print(f"  a client {name}", highlight=False)
            console.print(f"    {what}", style=color, highlight=False, soft_wrap=True)
        console.print()


if __name__ == "__main__":
    asyncio.run(main())

"""The second half of `scripts/demo`: a server for an API, before the fake of that API that its own tests use.

demo_api.py FOLDER: list the tools and call some, over stdio; demo_api.py FOLDER serve: what it starts for that.
"""

import asyncio
import importlib
import sys
from pathlib import Path
from typing import Any

from demo_client import HINTS, call, console, person  # type: ignore[import-not-found]
from fastmcp import Client
from fastmcp.client.transports import StdioTransport
from rich.table import Table


def serve(folder: Path) -> None:
    """Serve the project over stdio, with its client of the API connected to the fake."""
    package = next(path.name for path in (folder / "src").iterdir() if path.is_dir())
    sys.path[:0] = [str(folder / "src"), str(folder), str(folder / "tests/policy")]
    fake = importlib.import_module("tests.policy.fake")
    settings = importlib.import_module(f"{package}.settings").Settings(
        api="http://fake.invalid", state="memory"
    )
    server = importlib.import_module(f"{package}.server").create_server(settings)
    fake.connect(settings)
    server.run(show_banner=False)


async def main(folder: Path) -> None:
    """List the tools as a table, then create, list, change, send and delete."""
    log = (folder / "demo.log").open("w")
    words = [__file__, str(folder), "serve"]
    transport = StdioTransport(sys.executable, words, log_file=log)
    async with Client[Any](transport, elicitation_handler=person) as client:
        table = Table("tool", *HINTS.values())
        for tool in await client.list_tools():
            hints = (
                tool.annotations.model_dump(by_alias=True) if tool.annotations else {}
            )
            table.add_row(
                tool.name, *("yes" if hints.get(hint) else "no" for hint in HINTS)
            )
        console.print(table)
        parcel = await call(client, "create_parcel", recipient="Ann", weight=2.5)
        await call(client, "list_parcels", limit=5)
        await call(client, "update_parcel", parcel_id=parcel["id"], note="Ring twice")
        await call(client, "delete_parcel", parcel_id=parcel["id"])
        await call(client, "get_parcel", parcel_id=parcel["id"])
    console.print(f"\n[bold]It is yours, too:[/] {folder}")


if __name__ == "__main__":
    if sys.argv[2:] == ["serve"]:
        serve(Path(sys.argv[1]))
    else:
        asyncio.run(main(Path(sys.argv[1])))

"""What each driver does with the reading list: list, create, read, decline a deletion, delete. Standard library only."""

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

Call = Callable[[str, dict[str, Any]], Awaitable[str]]
ARTICLE = {"title": "Gardens", "url": "https://example.com/gardens", "tags": []}


@dataclass
class Entry:
    """How a client starts the server, as `connect json` prints it."""

    command: str
    args: list[str]
    env: dict[str, str]


@dataclass
class User:
    """The user of a client: reads each form, then approves or declines."""

    approves: bool = False
    displayed: list[str] = field(default_factory=list)

    def fill_in(self, parameters: Any) -> dict[str, Any] | None:
        """Record a displayed form; return its values, or None to decline it."""
        # The SDK's version 1 names the attribute as on the wire, version 2 as in Python.
        version_1 = getattr(parameters, "requestedSchema", None)
        schema = version_1 or parameters.requested_schema
        fields = [field["title"] for field in schema["properties"].values()]
        self.displayed.append(f"{parameters.message} [{', '.join(fields)}]")
        return dict.fromkeys(schema["properties"], True) if self.approves else None


async def use(names: list[str], call: Call, user: User) -> dict[str, Any]:
    """Use the reading list through a client.

    Args:
        names: The names of the tools that the client lists.
        call: Calls a tool and returns the text of its result, or of its error.
        user: The user that the client asks, if it can.

    Returns:
        What happened, for the test to compare.
    """
    created = json.loads(await call("add_article", dict(ARTICLE)))
    identity = {"article_id": created["id"]}
    read = json.loads(await call("get_article", identity))
    first = await call("delete_article", identity)
    article = json.loads(await call("get_article", identity))
    user.approves = True
    arguments = identity if user.displayed else {**identity, "confirm": True}
    second = await call("delete_article", arguments)
    return {
        "tools": sorted(names),
        "read": read["title"],
        "first": first,
        "kept": article["title"],
        "second": second,
        "gone": await call("get_article", identity),
        "displayed": user.displayed,
    }


def run(drive: Callable[[Entry, bool, User], Awaitable[dict[str, Any]]]) -> None:
    """Run a driver, `python DRIVER.py asks|silent ENTRY`, and print what happened as the last line."""
    entry = Entry(**json.loads(sys.argv[2]))
    outcome = asyncio.run(drive(entry, sys.argv[1] == "asks", User()))
    print(json.dumps(outcome))

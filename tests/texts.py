"""A small server with resources, and every text that its clients read."""

import asyncio
import importlib
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import wire
from fastmcp import Client, FastMCP

ANSWERS = {
    "server_name": "lab-texts",
    "package_name": "lab_texts",
    "tools": [
        {
            "name": "get_meter",
            "params": [{"name": "meter_id", "type": "int"}, {"name": "unit"}],
        },
        "create_meter",
        {"name": "delete_meter", "scopes": ["meters:write"]},
    ],
    "resources": [
        {
            "uri": "lab://meters",
            "name": "Meters",
            "description": "Every meter, as JSON.",
        },
        {"uri": "lab://help", "name": "Help", "description": "How to measure."},
        {
            "uri": "lab://meters/{meter_id}",
            "name": "Meter",
            "description": "One meter.",
        },
    ],
}
Texts = dict[str, dict[str, Any]]
RESTART = "Restart the server for the change to take effect."
FULL = """\
version: 1
strict: true
tools:
  get_meter:
    title: "Read a meter"
    description: "Reads one meter."
    arguments:
      meter_id:
        description: "Which meter."
  create_meter:
    icons: ["https://example.com/meter.png"]
resources:
  lab://meters:
    name: "The meters"
    description: "All of them."
    use_when: "You need a meter's number."
    example: "Read this, then call get_meter."
resource_templates:
  lab://meters/{meter_id}:
    description: "A meter by number."
"""
COMPOSED = """\
All of them.

When to use: You need a meter's number.
Example: Read this, then call get_meter."""
LAID_OUT = """\
# mine
version: 1   # keep

tools:
  # about the meter
  get_meter:
      title: Old   # why old

      # about its words
      description: >-
        Folded
        words.
  # about another
  "create_meter": {title: New one}   # flow
# about resources
resources:
  lab://help:
    name: 'Help'
    use_when: |
      You are new.

# the end
"""


class Done(NamedTuple):
    """What a command left: its exit code, its output and its complaints."""

    code: object
    out: str
    err: str


Cli = Callable[..., Done]


def module(name: str) -> Any:
    """A module of the rendered server."""
    return importlib.import_module(f"lab_texts.{name}")


def write(path: Path, text: str | bytes) -> Path:
    """A file that only its owner writes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    path.chmod(0o600)
    return path


def comments(text: str) -> list[str]:
    """Every comment of a file, in order."""
    return re.findall(r"(?:^|\s)(#.*)$", text, re.MULTILINE)


def environ(lab: Path, home: Path) -> dict[str, str]:
    """The environment of a process that runs the server's own commands."""
    return wire.environ(lab, home) | {"LAB_TEXTS_DATABASE": ":memory:", "NO_COLOR": "1"}


def served(path: Path | None) -> FastMCP:
    """The server with a metadata file, on an empty store."""
    settings = module("settings").Settings(
        database=":memory:", metadata=path or Path("none")
    )
    mcp: FastMCP = module("server").create_server(settings)
    return mcp


def texts(mcp: FastMCP, era: str = "2026-07-28") -> Texts:
    """Every text that a client of one protocol era reads: of tools, resources, templates, list_resources."""

    async def work() -> Texts:
        async with Client(mcp, mode=era) as client:
            tools = {t.name: t for t in await client.list_tools()}
            resources = await client.list_resources()
            templates = await client.list_resource_templates()
            read: Texts = {
                "tools": {
                    name: {
                        "title": tool.title,
                        "annotated": tool.annotations and tool.annotations.title,
                        "description": tool.description,
                        "arguments": {
                            name: schema.get("description")
                            for name, schema in tool.input_schema["properties"].items()
                        },
                        "icons": tool.icons and [icon.src for icon in tool.icons],
                    }
                    for name, tool in tools.items()
                },
                "resources": {
                    str(r.uri): {"name": r.name, "description": r.description}
                    for r in resources
                },
                "resource_templates": {
                    t.uri_template: {"name": t.name, "description": t.description}
                    for t in templates
                },
            }
            if "list_resources" in tools:
                answer = (await client.call_tool("list_resources")).structured_content
                read["listed"] = answer or {}
            return read

    return asyncio.run(work())

"""A small server with resources, and every text that its clients read."""

import asyncio
import importlib
from pathlib import Path
from typing import Any

from fastmcp import Client, FastMCP

ANSWERS = {
    "server_name": "lab-texts",
    "package_name": "lab_texts",
    "tools": [
        {"name": "get_meter", "params": [{"name": "meter_id", "type": "int"}, {"name": "unit"}]},
        "create_meter",
        {"name": "delete_meter", "scopes": ["meters:write"]},
    ],
    "resources": [
        {"uri": "lab://meters", "name": "Meters", "description": "Every meter, as JSON."},
        {"uri": "lab://help", "name": "Help", "description": "How to measure."},
        {"uri": "lab://meters/{meter_id}", "name": "Meter", "description": "One meter."},
    ],
}
Texts = dict[str, dict[str, Any]]


def module(name: str) -> Any:
    """A module of the rendered server."""
    return importlib.import_module(f"lab_texts.{name}")


def write(path: Path, text: str | bytes) -> Path:
    """A file that only its owner writes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    path.chmod(0o600)
    return path


def served(path: Path | None) -> FastMCP:
    """The server with a metadata file, on an empty store."""
    made = module("settings").Settings(database=":memory:", metadata=path or Path("none"))
    mcp: FastMCP = module("server").create_server(made)
    return mcp


def texts(mcp: FastMCP, era: str = "2026-07-28") -> Texts:
    """Every text that a client of one protocol era reads: of tools, resources, templates, list_resources."""

    async def work() -> Texts:
        async with Client(mcp, mode=era) as client:
            tools = {t.name: t for t in await client.list_tools()}
            resources = await client.list_resources()
            templates = await client.list_resource_templates()
            found: Texts = {
                "tools": {
                    name: {
                        "title": tool.title,
                        "annotated": tool.annotations and tool.annotations.title,
                        "description": tool.description,
                        "arguments": {
                            name: of.get("description")
                            for name, of in tool.input_schema["properties"].items()
                        },
                        "icons": tool.icons and [icon.src for icon in tool.icons],
                    }
                    for name, tool in tools.items()
                },
                "resources": {
                    str(r.uri): {"name": r.name, "description": r.description} for r in resources
                },
                "resource_templates": {
                    t.uri_template: {"name": t.name, "description": t.description}
                    for t in templates
                },
            }
            if "list_resources" in tools:
                answer = (await client.call_tool("list_resources")).structured_content
                found["listed"] = answer or {}
            return found

    return asyncio.run(work())

"""Tools that the registry did not build, added to a server in different ways, and how a client calls them."""

import json
from pathlib import Path

import httpx2
import pytest
from fastmcp import FastMCP
from fastmcp.server.middleware.tool_injection import ToolInjectionMiddleware
from fastmcp.tools import Tool
from mcp_types import ToolAnnotations

from copier_fastmcp_engine.declarations import create, delete, read
from engine.tests.engine_support.raw import (
    ELICITS,
    LEGACY,
    MODERN,
    Message,
    connect,
    outcome,
)
from engine.tests.engine_support.targets import DONE, Name, Wiped, build_policy_tool

YES: Message = {"action": "accept", "content": {"confirm": True}}
NO: Message = {"action": "decline"}
TWO_STEPS = ["preview", "applied"]
QUESTIONS: list[str] = []  # what the person read in the last call
READS = ToolAnnotations(read_only_hint=True)
each_era = pytest.mark.parametrize("era", [LEGACY, MODERN])


def destroy(name: str) -> Message:
    """Destroy one, undeclared."""
    DONE.append(name)
    return {"destroyed": name}


async def call_tool(
    server: FastMCP, era: str, tool: str, answer: Message | None, **arguments: object
) -> Message:
    """Return the response to a call; without an answer the client cannot be asked."""
    async with connect(server, era, answer, can=ELICITS if answer else {}) as raw:
        number = await raw.send("tools/call", name=tool, arguments=arguments)
        message = await raw.receive(number)
    QUESTIONS[:] = raw.questions
    return message


async def call_in_two_steps(
    server: FastMCP, era: str, tool: str, through: str = "", **arguments: object
) -> list[str]:
    """Return the outcomes of a call without and with `confirm`, of a client that cannot be asked.

    Args:
        server: The server.
        era: The protocol era of the client.
        tool: The tool that is called.
        through: A tool that calls the tool, where the client calls it through another.
        arguments: The arguments of the call.
    """
    outcomes = []
    async with connect(server, era, can={}) as raw:
        for confirmation in ({}, {"confirm": True}):
            call: Message = {"name": tool, "arguments": arguments | confirmation}
            if through:
                call = {"name": through, "arguments": call}
            number = await raw.send("tools/call", **call)
            outcomes.append(outcome(await raw.receive(number)))
    return outcomes


async def fetch_definition(server: FastMCP, era: str, name: str) -> Message:
    """Return the definition of a tool that a client gets."""
    async with connect(server, era, can={}) as raw:
        message = await raw.receive(await raw.send("tools/list"))
    definitions = {}
    for definition in message["result"]["tools"]:
        definitions[definition["name"]] = dict(definition)
    return definitions[name]


def read_audit_log(file: Path) -> list[Message]:
    """Return the lines of an audit log, its oldest file first."""
    entries = []
    for path in [*sorted(file.parent.glob(f"{file.name}.*")), file]:
        for line in path.read_text().splitlines():
            entries.append(json.loads(line))
    return entries


def text_of(message: Message) -> str:
    """Return the first text of a result."""
    return str(message["result"]["content"][0]["text"])


def add_plain(server: FastMCP) -> str:
    """Add an undeclared tool to the server itself, late."""
    server.tool(destroy)
    return "destroy"


def add_mounted(server: FastMCP) -> str:
    """Mount a server with an undeclared tool."""
    child = FastMCP("child")
    child.tool(destroy)
    server.mount(child, namespace="child")
    return "child_destroy"


def add_read_only(server: FastMCP) -> str:
    """Add an undeclared tool that claims to be read-only."""
    server.tool(destroy, annotations=READS)
    return "destroy"


def add_injected(server: FastMCP) -> str:
    """Inject an undeclared tool with a middleware."""
    server.add_middleware(ToolInjectionMiddleware([Tool.from_function(destroy)]))
    return "destroy"


def add_transformed(server: FastMCP) -> str:
    """Transform a declared read into an undeclared tool."""

    async def destroying(title: str) -> Message:
        return destroy(title)

    look = build_policy_tool(zz_look)
    server.add_tool(Tool.from_tool(look, name="destroy", transform_fn=destroying))
    return "destroy"


def add_openapi(server: FastMCP) -> str:
    """Mount the server of an OpenAPI document, whose DELETE has no hint."""
    parameter = {
        "name": "name",
        "in": "path",
        "required": True,
        "schema": {"type": "string"},
    }
    operation = {
        "operationId": "destroy",
        "parameters": [parameter],
        "responses": {"200": {"description": "Gone."}},
    }
    document = {
        "openapi": "3.1.0",
        "info": {"title": "api", "version": "1"},
        "paths": {"/{name}": {"delete": operation}},
    }

    def answer(request: httpx2.Request) -> httpx2.Response:
        DONE.append(request.url.path.strip("/"))
        return httpx2.Response(200, json={})

    client = httpx2.AsyncClient(
        transport=httpx2.MockTransport(answer), base_url="http://api"
    )
    server.mount(FastMCP.from_openapi(document, client), namespace="api")
    return "api_destroy"


@read(title="Look")
async def zz_look(title: Name) -> Wiped:
    """Look at one."""
    return Wiped(name=title)


@create(title="Add", confirm=True)
async def zz_add(name: Name) -> Wiped:
    """Add one, asked for although it loses nothing."""
    DONE.append(name)
    return Wiped(name=name)


@delete(title="Raze")
def raze(name: str) -> Message:
    """Destroy one, with a declaration that no file of tools/ holds."""
    return destroy(name)


WAYS = [
    add_plain,
    add_mounted,
    add_read_only,
    add_injected,
    add_transformed,
    add_openapi,
]

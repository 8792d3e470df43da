"""Ways in which tools come to be served that the registry did not build, and how a client calls them."""

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
from engine.tests.engine_support.targets import DONE, Name, Wiped, built

YES: Message = {"action": "accept", "content": {"confirm": True}}
NO: Message = {"action": "decline"}
TWO_STEPS = ["preview", "applied"]
QUESTIONS: list[str] = []  # what the person read in the last call
READS = ToolAnnotations(read_only_hint=True)
each_era = pytest.mark.parametrize("era", [LEGACY, MODERN])


def destroy(name: str) -> Message:
    """Destroy one, without a word to the policy."""
    DONE.append(name)
    return {"destroyed": name}


async def called(
    server: FastMCP, era: str, tool: str, answer: Message | None, **arguments: object
) -> Message:
    """What a call comes to; without an answer the client cannot be asked."""
    async with connect(server, era, answer, can=ELICITS if answer else {}) as raw:
        message = await raw.receive(
            await raw.send("tools/call", name=tool, arguments=arguments)
        )
    QUESTIONS[:] = raw.questions
    return message


async def in_two_steps(
    server: FastMCP, era: str, tool: str, through: str = "", **arguments: object
) -> list[str]:
    """What a call comes to for a client that cannot be asked, and then with `confirm`, also through a proxy tool."""
    outcomes = []
    async with connect(server, era, can={}) as raw:
        for more in ({}, {"confirm": True}):
            call: Message = {"name": tool, "arguments": arguments | more}
            call = {"name": through, "arguments": call} if through else call
            outcomes.append(
                outcome(await raw.receive(await raw.send("tools/call", **call)))
            )
    return outcomes


async def wire(server: FastMCP, era: str, name: str) -> Message:
    """A tool as a client sees it."""
    async with connect(server, era, can={}) as raw:
        message = await raw.receive(await raw.send("tools/list"))
    (tool,) = [each for each in message["result"]["tools"] if each["name"] == name]
    return dict(tool)


def lines(file: Path) -> list[Message]:
    """What the trail holds, its oldest file first."""
    files = [*sorted(file.parent.glob(f"{file.name}.*")), file]
    return [
        json.loads(line) for each in files for line in each.read_text().splitlines()
    ]


def text(message: Message) -> str:
    """What a call says."""
    return str(message["result"]["content"][0]["text"])


def plain(server: FastMCP) -> str:
    """Late, in the server itself."""
    server.tool(destroy)
    return "destroy"


def mounted(server: FastMCP) -> str:
    """In a server that is mounted."""
    child = FastMCP("child")
    child.tool(destroy)
    server.mount(child, namespace="child")
    return "child_destroy"


def read_only(server: FastMCP) -> str:
    """One that says of itself that it reads."""
    server.tool(destroy, annotations=READS)
    return "destroy"


def injected(server: FastMCP) -> str:
    """By a middleware."""
    server.add_middleware(ToolInjectionMiddleware([Tool.from_function(destroy)]))
    return "destroy"


def transformed(server: FastMCP) -> str:
    """A function of its own in front of a read of ours."""

    async def destroying(title: str) -> Message:
        return destroy(title)

    own = built(zz_look)
    server.add_tool(Tool.from_tool(own, name="destroy", transform_fn=destroying))
    return "destroy"


def openapi(server: FastMCP) -> str:
    """From a document of an API, whose DELETE has no hint at all."""
    way = {"operationId": "destroy", "responses": {"200": {"description": "Gone."}}}
    document = {
        "openapi": "3.1.0",
        "info": {"title": "api", "version": "1"},
        "paths": {
            "/{name}": {
                "delete": way
                | {
                    "parameters": [
                        {
                            "name": "name",
                            "in": "path",
                            "required": True,
                            "schema": {"type": "string"},
                        }
                    ]
                }
            }
        },
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


WAYS = [plain, mounted, read_only, injected, transformed, openapi]

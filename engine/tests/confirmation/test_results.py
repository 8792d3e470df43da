"""The result of an approved tool, of each kind that FastMCP accepts: it is returned with the envelope."""

import base64
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import fastmcp
import pytest
from fastmcp import FastMCP
from fastmcp.tools import ToolResult
from fastmcp.utilities.types import Audio, File, Image
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]
from mcp_types import CallToolResult, TextContent
from pydantic import BaseModel, Field

from copier_fastmcp_engine.declarations import delete
from engine.tests.engine_support.notes.server import create_server
from engine.tests.engine_support.raw import LEGACY, MODERN, Message, connect, outcome
from engine.tests.engine_support.targets import (
    DONE,
    SETTINGS,
    build_policy_tool,
    declare,
    make_target_server,
)

FASTMCP = tuple(int(part) for part in fastmcp.__version__.split(".")[:2])
YES: Message = {"action": "accept", "content": {"confirm": True}}
BYTES = b"\x89\xff"
DATA = base64.b64encode(BYTES).decode()


class Renamed(BaseModel):
    """A result whose wire name is not the Python name."""

    from_: str = Field(alias="from", default="x")


async def model() -> Renamed:
    """Return a model."""
    return Renamed()


async def image() -> Image:
    """Return an image."""
    return Image(data=BYTES, format="png")


async def maybe_image() -> Image | None:
    """Return an image that may not be there."""
    return None


async def audio() -> Audio:
    """Return a sound."""
    return Audio(data=BYTES, format="wav")


async def file() -> File:
    """Return a file."""
    return File(data=BYTES, format="pdf", name="a")


async def raw() -> bytes:
    """Return bytes."""
    return BYTES


async def several() -> list[str | Image]:
    """Return several blocks."""
    return ["first", Image(data=BYTES, format="png")]


async def untyped_list() -> list:  # type: ignore[type-arg]
    """Return a list without a type."""
    return [Image(data=BYTES, format="png")]


async def tool_result() -> ToolResult:
    """Return a FastMCP result."""
    return ToolResult("told", {"a": 1}, {"mine": 1})


async def call_tool_result() -> CallToolResult:
    """Return a result of the protocol."""
    return CallToolResult(content=[TextContent(type="text", text="told")])


async def nothing() -> None:
    """Return nothing."""


async def text() -> str:
    """Return a text."""
    return "told"


async def number() -> int:
    """Return a number."""
    return 7


async def unannotated():  # type: ignore[no-untyped-def]
    """Return a mapping without an annotation."""
    return {"a": 1}


async def not_json() -> dict[str, Any]:
    """Return a value that JSON cannot represent."""
    return {"a": object()}


async def generate_async() -> AsyncIterator[int]:
    """Yield numbers from a coroutine."""
    yield 1
    yield 2


def generate() -> Iterator[int]:
    """Yield numbers from a function."""
    yield 1
    yield 2


# The result in the envelope, and the types of the content blocks after the line that names the outcome.
KINDS: dict[str, tuple[Callable[..., object], object, list[str]]] = {
    "model": (model, {"from_": "x"}, []),
    "image": (image, None, ["image"]),
    "maybe-image": (maybe_image, None, []),
    "audio": (audio, None, ["audio"]),
    "file": (file, None, ["resource"]),
    "bytes": (raw, None, []),
    "several": (several, None, ["image"]),
    "untyped-list": (untyped_list, None, ["image"]),
    "tool-result": (tool_result, {"a": 1}, []),
    "call-tool-result": (call_tool_result, None, []),
    "nothing": (nothing, None, []),
    "text": (text, "told", []),
    "number": (number, 7, []),
    "unannotated": (unannotated, {"a": 1}, []),
    "not-json": (not_json, None, []),
    "async-generator": (generate_async, None, []),
    "generator": (generate, None, []),
}
TOLD = {
    "bytes": DATA,
    "several": "first",
    "tool-result": "told",
    "call-tool-result": "told",
    "text": "told",
    "number": "7",
    "async-generator": "[1,2]",
    "generator": "[1,2]",
}
pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("era", [LEGACY, MODERN])]


async def call_and_approve(
    server: FastMCP, era: str, tool: str
) -> tuple[Message, Message]:
    """Return the definition of a tool, and the response to a call that the user approves."""
    async with connect(server, era, YES) as client:
        number = await client.send("tools/list")
        listing = await client.receive(number)
        number = await client.send("tools/call", name=tool, arguments={})
        message = await client.receive(number)
    definitions = {}
    for definition in listing["result"]["tools"]:
        definitions[definition["name"]] = definition
    return definitions[tool], message


@pytest.mark.parametrize("declared", [True, False], ids=["declared", "foreign"])
@pytest.mark.parametrize("kind", KINDS)
async def test_the_result_is_returned_with_the_envelope(
    kind: str, declared: bool, era: str
) -> None:
    function, result, blocks = KINDS[kind]
    server = create_server(SETTINGS)
    if declared:
        function = delete(title="Answer")(function)
        server.add_tool(build_policy_tool(function))
    else:
        child = FastMCP("child")
        child.tool(function)
        server.mount(child)
        declare(server, function.__name__, "delete")
    try:
        definition, message = await call_and_approve(server, era, function.__name__)
    finally:
        vars(function).pop("__declaration__", None)
    # FastMCP refuses such a result since 4.2
    if kind == "not-json" and not declared and FASTMCP >= (4, 2):
        assert outcome(message) == "error"
        return
    answer = message["result"]
    assert outcome(message) == "applied", message
    assert answer["structuredContent"]["result"] == result
    validator = Draft202012Validator(definition["outputSchema"])
    validator.validate(answer["structuredContent"])
    first, *blocks_after = answer["content"]
    assert first["text"].startswith(f"{function.__name__} was applied")
    assert first["text"].partition(": ")[2].startswith(TOLD.get(kind, ""))
    assert [block["type"] for block in blocks_after] == blocks
    meta = answer.get("_meta") or {}
    assert meta.get("mine") == (1 if kind == "tool-result" else None)
    assert "wrap_result" not in str(meta)


async def refused() -> ToolResult:
    """Return that it could not."""
    DONE.append("tried")
    return ToolResult("it would not go", is_error=True)


async def test_an_error_result_is_not_reported_as_applied(era: str) -> None:
    server = make_target_server()
    server.add_tool(build_policy_tool(delete(title="Refused")(refused)))
    _, message = await call_and_approve(server, era, "refused")
    assert message["result"]["isError"]
    assert message["result"]["content"][0]["text"] == "it would not go"
    assert "structuredContent" not in message["result"]
    assert DONE == ["tried"]

"""What an approved tool answers with, of whatever kind it is: told beside the envelope, which its schema describes."""

import base64
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

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
from engine.tests.engine_support.targets import DONE, SETTINGS, built, declare, serving

YES: Message = {"action": "accept", "content": {"confirm": True}}
BYTES = b"\x89\xff"
DATA = base64.b64encode(BYTES).decode()


class Renamed(BaseModel):
    """A result whose wire name is not the Python name."""

    from_: str = Field(alias="from", default="x")


async def model() -> Renamed:
    """Answer a model."""
    return Renamed()


async def image() -> Image:
    """Answer an image."""
    return Image(data=BYTES, format="png")


async def maybe_image() -> Image | None:
    """Answer an image that may not be there."""
    return None


async def audio() -> Audio:
    """Answer a sound."""
    return Audio(data=BYTES, format="wav")


async def file() -> File:
    """Answer a file."""
    return File(data=BYTES, format="pdf", name="a")


async def raw() -> bytes:
    """Answer bytes."""
    return BYTES


async def several() -> list[str | Image]:
    """Answer several blocks."""
    return ["first", Image(data=BYTES, format="png")]


async def whatever() -> list:  # type: ignore[type-arg]
    """Answer a list of whatever."""
    return [Image(data=BYTES, format="png")]


async def whole() -> ToolResult:
    """Answer a whole result."""
    return ToolResult("told", {"a": 1}, {"mine": 1})


async def of_the_protocol() -> CallToolResult:
    """Answer as the protocol has it."""
    return CallToolResult(content=[TextContent(type="text", text="told")])


async def nothing() -> None:
    """Answer nothing."""


async def text() -> str:
    """Answer a text."""
    return "told"


async def number() -> int:
    """Answer a number."""
    return 7


async def unsaid():  # type: ignore[no-untyped-def]
    """Answer what its author did not say."""
    return {"a": 1}


async def odd() -> dict[str, Any]:
    """Answer what JSON has no form for."""
    return {"a": object()}


async def each() -> AsyncIterator[int]:
    """Answer one after the other."""
    yield 1
    yield 2


def plainly() -> Iterator[int]:
    """Do the same without waiting."""
    yield 1
    yield 2


# What it answers in the envelope, and the kinds of its content after the line that says what was done.
KINDS: dict[str, tuple[Callable[..., object], object, list[str]]] = {
    "model": (model, {"from_": "x"}, []),
    "image": (image, None, ["image"]),
    "maybe-image": (maybe_image, None, []),
    "audio": (audio, None, ["audio"]),
    "file": (file, None, ["resource"]),
    "bytes": (raw, None, []),
    "several": (several, None, ["image"]),
    "list": (whatever, None, ["image"]),
    "whole": (whole, {"a": 1}, []),
    "of-the-protocol": (of_the_protocol, None, []),
    "nothing": (nothing, None, []),
    "text": (text, "told", []),
    "number": (number, 7, []),
    "unsaid": (unsaid, {"a": 1}, []),
    "odd": (odd, None, []),
    "each": (each, None, []),
    "plainly": (plainly, None, []),
}
TOLD = {
    "bytes": DATA,
    "several": "first",
    "whole": "told",
    "of-the-protocol": "told",
    "text": "told",
    "number": "7",
    "each": "[1,2]",
    "plainly": "[1,2]",
}
pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("era", [LEGACY, MODERN])]


async def agreed(server: FastMCP, era: str, tool: str) -> tuple[Message, Message]:
    """The definition of a tool, and what a call comes to when the person agrees."""
    async with connect(server, era, YES) as client:
        listed = (await client.receive(await client.send("tools/list")))["result"][
            "tools"
        ]
        number = await client.send("tools/call", name=tool, arguments={})
        message = await client.receive(number)
    (seen,) = [each for each in listed if each["name"] == tool]
    return seen, message


@pytest.mark.parametrize("ours", [True, False], ids=["ours", "foreign"])
@pytest.mark.parametrize("kind", KINDS)
async def test_it_is_told_beside_the_envelope(kind: str, ours: bool, era: str) -> None:
    function, result, blocks = KINDS[kind]
    server, child = create_server(SETTINGS), FastMCP("child")
    if ours:
        function = delete(title="Answer")(function)
        server.add_tool(built(function))
    else:
        child.tool(function)
        server.mount(child)
        declare(server, function.__name__, "delete")
    try:
        seen, message = await agreed(server, era, function.__name__)
    finally:
        vars(function).pop("__declaration__", None)
    if kind == "odd" and not ours:
        assert outcome(message) == "error"
        return
    answer = message["result"]
    assert outcome(message) == "applied", message
    assert answer["structuredContent"]["result"] == result
    Draft202012Validator(seen["outputSchema"]).validate(answer["structuredContent"])
    first, *more = answer["content"]
    assert first["text"].startswith(f"{function.__name__} was applied")
    assert first["text"].partition(": ")[2].startswith(TOLD.get(kind, ""))
    assert [block["type"] for block in more] == blocks
    assert (answer.get("_meta") or {}).get("mine") == (1 if kind == "whole" else None)
    assert "wrap_result" not in str(answer.get("_meta"))


async def refused() -> ToolResult:
    """Answer that it could not."""
    DONE.append("tried")
    return ToolResult("it would not go", is_error=True)


async def test_a_result_that_is_an_error_is_not_told_as_applied(era: str) -> None:
    server = serving()
    server.add_tool(built(delete(title="Refused")(refused)))
    _, message = await agreed(server, era, "refused")
    assert message["result"]["isError"]
    assert message["result"]["content"][0]["text"] == "it would not go"
    assert "structuredContent" not in message["result"]
    assert DONE == ["tried"]

"""Code mode: a client sends code, which calls tools from a sandbox; the gate stands before each of them."""

import pytest
from fastmcp import FastMCP
from fastmcp.experimental.transforms.code_mode import CodeMode

from engine.tests.engine_support.composing import (
    NO,
    YES,
    call_tool,
    destroy,
    text_of,
)
from engine.tests.engine_support.raw import LEGACY, MODERN, outcome
from engine.tests.engine_support.targets import DONE, make_target_server

pytest.importorskip("pydantic_monty")
pytestmark = pytest.mark.anyio
LOOK = "return await call_tool('list_wiped', {})"
WIPE = "return await call_tool('wipe', {'name': 'a'})"
DESTROY = "return await call_tool('destroy', {'name': 'a'})"
CAUGHT = """
try:
    await call_tool('wipe', {'name': 'a'})
except Exception:
    pass
await call_tool('wipe', {'name': 'b'})
return 'done'
"""


PREVIEW_AND_CONFIRM = """
await call_tool('wipe', {'name': 'a'})
return await call_tool('wipe', {'name': 'a', 'confirm': True})
"""


@pytest.fixture
def server() -> FastMCP:
    """A server in code mode, with a tool that nobody declared."""
    server = make_target_server()
    server.tool(destroy)
    server.add_transform(CodeMode())
    return server


async def test_code_calls_a_read(server: FastMCP, era: str) -> None:
    message = await call_tool(server, era, "execute", YES, code=LOOK)
    assert "isError" not in message["result"] or not message["result"]["isError"]


@pytest.mark.parametrize("code", [WIPE, DESTROY, CAUGHT])
@pytest.mark.parametrize("answer", [None, NO])
async def test_code_changes_nothing_without_a_yes(
    server: FastMCP, era: str, code: str, answer: dict[str, object] | None
) -> None:
    await call_tool(server, era, "execute", answer, code=code)
    assert DONE == []


@pytest.mark.parametrize("code", [WIPE, DESTROY])
async def test_a_user_who_is_asked_during_the_call_can_agree(
    server: FastMCP, code: str
) -> None:
    message = await call_tool(server, LEGACY, "execute", YES, code=code)
    assert DONE == ["a"], text_of(message)


@pytest.mark.parametrize("code", [WIPE, DESTROY])
async def test_a_question_that_is_a_result_never_reaches_the_code(
    server: FastMCP, code: str
) -> None:
    """The code took it for an empty success (2026-07-28)."""
    message = await call_tool(server, MODERN, "execute", YES, code=code)
    assert message["result"]["isError"]
    assert "call it by itself" in text_of(message)
    assert DONE == []


async def test_code_does_not_confirm_what_it_previews(
    server: FastMCP, era: str
) -> None:
    message = await call_tool(server, era, "execute", None, code=PREVIEW_AND_CONFIRM)
    assert message["result"]["isError"]
    assert "call it by itself" in text_of(message)
    assert DONE == []


async def test_a_tool_can_still_be_called_by_itself(server: FastMCP, era: str) -> None:
    message = await call_tool(server, era, "wipe", YES, name="a")
    assert outcome(message) == "applied"

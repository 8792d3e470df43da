"""`require_confirmation`: an answer counts for the question that was shown, in the tool that asked it."""

from typing import Any

import pytest
from fastmcp import Context

from copier_fastmcp_engine.confirmation.gate import require_confirmation
from copier_fastmcp_engine.declarations import Exemption, action, create
from engine.tests.engine_support.calls import (
    ACCEPT,
    CANNOT_ASK,
    CLIENT_ERROR,
    DECLINE,
    call,
    message_of,
)
from engine.tests.engine_support.raw import connect
from engine.tests.engine_support.targets import DONE, make_target_server

pytestmark = pytest.mark.anyio
ASKED_INSIDE = Exemption(hint="confirm", value=False, why="The body asks.")


@create(title="Inner", confirm=False, exceptions=[ASKED_INSIDE])
async def inner(ctx: Context) -> str:
    """Ask, in the words of the tool that calls this one."""
    decision = await require_confirmation(ctx, "Sure?")
    if decision == "confirmed":
        DONE.append("inner")
    return decision


@create(title="Outer", confirm=False, exceptions=[ASKED_INSIDE])
async def outer(ctx: Context) -> str:
    """Ask, and call a tool that asks in the same words."""
    if await require_confirmation(ctx, "Sure?") == "confirmed":
        await ctx.fastmcp.call_tool("inner", {})
    return "done"


@action(title="Drop what is there", confirm=False, exceptions=[ASKED_INSIDE])
async def drop_all(ctx: Context) -> str:
    """Name in the question how many there are: one more when the body runs again."""
    if len(DONE) < 2:
        DONE.append("note")
    question = f"Drop {len(DONE)}?"
    preview = {"shelf": object(), "dropped": DONE}
    decision = await require_confirmation(ctx, question, preview=preview)
    return f"{question} {decision}"


def text_of(message: Any) -> str:
    """Return the text of a result."""
    return str(message["result"]["content"][0]["text"])


async def test_an_answer_to_one_tool_is_none_to_the_same_question_of_another(
    era: str,
) -> None:
    server = make_target_server(600, inner, outer)
    async with connect(server, era, ACCEPT, DECLINE) as raw:
        assert await call(raw, "outer") == "None"
    assert len(raw.questions) == 2
    assert DONE == []


async def test_an_answer_counts_for_the_text_that_was_shown() -> None:
    """In the newest era the body runs again with the answer; its question may be another one by then."""
    server = make_target_server(600, drop_all)
    async with connect(server, "2026-07-28", ACCEPT, DECLINE) as raw:
        message = await message_of(raw, "drop_all")
    shown = [text.partition("asks: ")[2].partition("\n")[0] for text in raw.questions]
    assert shown == ["Drop 1?", "Drop 2?"]
    assert "confirmed" not in text_of(message)


async def test_a_body_shows_what_would_happen(era: str) -> None:
    server = make_target_server(600, drop_all)
    async with connect(server, era, DECLINE) as raw:
        await call(raw, "drop_all")
    assert "shelf: <object " in raw.questions[0]
    assert 'dropped: ["note"]' in raw.questions[0]


@pytest.fixture
def server_with_resource() -> Any:
    """A server with a resource that asks before it is read."""
    server = make_target_server()

    @server.resource("shelf://secret")
    async def read_shelf(ctx: Context) -> str:
        return f"it was {await require_confirmation(ctx, 'Read it?')}"

    return server


async def test_a_resource_asks_before_it_is_read(server_with_resource: Any) -> None:
    async with connect(server_with_resource, "legacy", ACCEPT) as raw:
        message = await raw.receive(
            await raw.send("resources/read", uri="shelf://secret")
        )
    assert message["result"]["contents"][0]["text"] == "it was confirmed"
    assert "Read it?" in raw.questions[0]


@pytest.mark.parametrize(
    "can",
    [CANNOT_ASK, {"elicitation": {}}],
    ids=["mute", "fails"],
)
async def test_a_resource_is_not_read_where_nobody_can_be_asked(
    server_with_resource: Any, can: dict[str, Any]
) -> None:
    async with connect(server_with_resource, "legacy", CLIENT_ERROR, can=can) as raw:
        message = await raw.receive(
            await raw.send("resources/read", uri="shelf://secret")
        )
    assert "it was" not in str(message)
    assert "this tool needs a person" in message["error"]["message"]

"""How a client is asked: what its request is sent with, and how long it is remembered that a client cannot be asked."""

import logging
from types import SimpleNamespace
from typing import Any

import mcp_types as wire
import pytest
from fastmcp.tools import ToolResult

from copier_fastmcp_engine.confirmation.elicitation import Asked, elicit
from copier_fastmcp_engine.confirmation.envelope import FORM_SCHEMA
from copier_fastmcp_engine.confirmation.pending import COLLECTION
from copier_fastmcp_engine.guard import guard_of
from engine.tests.engine_support.calls import METHOD_NOT_FOUND, call, message_of
from engine.tests.engine_support.raw import connect
from engine.tests.engine_support.targets import make_target_server

IMAGE = wire.ImageContent(type="image", data="", mime_type="image/png")


@pytest.mark.anyio
async def test_a_question_belongs_to_the_request_that_is_asked_for() -> None:
    """Over HTTP it is sent on the stream of that request."""
    sent: list[Any] = []

    async def send_request(request: Any, result: Any, *, metadata: Any) -> Any:
        sent.append(metadata.related_request_id)
        return result(action="decline")

    session = SimpleNamespace(send_request=send_request)
    ctx: Any = SimpleNamespace(request_id="7", session=session)
    form = wire.ElicitRequestFormParams(message="Sure?", requested_schema=FORM_SCHEMA)
    answer = await elicit(ctx, guard_of(make_target_server()).gate, form, 10)
    assert answer is not None
    assert answer.action == "decline"
    assert sent == ["7"]


@pytest.mark.anyio
@pytest.mark.parametrize("action", ["decline", "cancel"])
async def test_a_call_that_is_not_approved_keeps_its_preview(
    action: str, era: str
) -> None:
    async with connect(make_target_server(), era, {"action": action}) as raw:
        response = await message_of(raw, "wipe", name="a")
    content = response["result"]["structuredContent"]
    assert content["confirmed"] is False
    assert content["preview"]["question"] == "Wipe a of us?"
    assert content["preview"]["arguments"] == {"name": "a"}
    assert content["preview"]["details"]["done"] == []


@pytest.mark.anyio
async def test_that_a_client_cannot_be_asked_is_remembered_longer_than_a_question() -> (
    None
):
    server = make_target_server()
    gate = guard_of(server).gate
    store: Any = gate.store
    async with connect(server, "legacy", METHOD_NOT_FOUND) as raw:
        assert await call(raw, "wipe", name="a") == "preview"
    mute = []
    for name in await store.keys(collection=COLLECTION):
        if name.startswith("mute-"):
            mute.append(name)
    (name,) = mute
    _, seconds = await store.ttl(name, collection=COLLECTION)
    assert seconds > gate.seconds


@pytest.mark.parametrize(
    ("instead", "text"),
    [
        (ToolResult("This waits."), "This waits."),
        (ToolResult(content=[]), "only what the policy declared can ask"),
        (ToolResult(content=[IMAGE]), "only what the policy declared can ask"),
    ],
    ids=["text", "no-content", "no-text"],
)
def test_an_unhandled_question_has_a_readable_text(
    instead: ToolResult, text: str
) -> None:
    question = Asked(instead)
    assert str(question) == text
    assert question.log_level == logging.DEBUG

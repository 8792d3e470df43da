"""What a FastMCP client gets of a tool that asks, in both protocol eras: its description, and the result of a refusal."""

from typing import Any

import pytest
from fastmcp import Client
from fastmcp.client.elicitation import ElicitResult

from copier_fastmcp_engine.policy import TWO_STEPS
from engine.tests.engine_support.targets import DONE, make_target_server

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("action", ["decline", "cancel"])
async def test_a_refused_call_keeps_its_preview(action: Any, era: str) -> None:
    questions: list[str] = []

    async def refuse(message: str, *rest: Any) -> ElicitResult[Any]:
        questions.append(message)
        return ElicitResult(action=action)

    server = make_target_server()
    async with Client(server, mode=era, elicitation_handler=refuse) as client:
        result = await client.call_tool("wipe", {"name": "a"})
    assert len(questions) == 1
    content = result.structured_content or {}
    assert content["confirmed"] is False
    assert content["outcome"] == {"decline": "declined", "cancel": "cancelled"}[action]
    assert content["preview"]["question"] == "Wipe a of us?"
    assert content["preview"]["arguments"] == {"name": "a"}
    assert DONE == []


async def test_the_description_names_the_two_steps_and_they_apply(era: str) -> None:
    async with Client(make_target_server(), mode=era) as client:
        descriptions = {}
        for tool in await client.list_tools():
            descriptions[tool.name] = tool.description or ""
        assert descriptions["wipe"].endswith(f"{TWO_STEPS}.")
        assert TWO_STEPS not in descriptions["list_wiped"]
        first = await client.call_tool("wipe", {"name": "a"})
        assert (first.structured_content or {})["outcome"] == "preview"
        assert DONE == []
        await client.call_tool("wipe", {"name": "a", "confirm": True})
        assert DONE == ["a"]

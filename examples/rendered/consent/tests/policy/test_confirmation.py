"""This project's gate with its version of FastMCP; the template's own tests attack it at length."""

from functools import partial
from typing import Annotated, Any

import mcp_types
import pytest
from fastmcp import Client, FastMCP
from pydantic import Field

from nextcloud_login_mcp.policy import POLICY, delete

from .cases import Suite

pytestmark = pytest.mark.anyio
WIPED: list[str] = []
UNASKED = {"two_step": "preview", "page": "waiting"}.get(POLICY.confirm_fallback, "error")
ASK = {"name": "a", "confirm": True}  # which answers for nobody


@delete(title="Wipe", confirm="Wipe {name}?")
async def zz_wipe(name: Annotated[str, Field(description="Which one.")]) -> None:
    WIPED.append(name)


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def server(suite: Suite) -> FastMCP:
    """The project's server with one more gated tool."""
    WIPED.clear()
    server: FastMCP = suite.create_empty_server()
    suite.add_tool(server, zz_wipe)
    return server


async def outcome(client: Client[Any], **arguments: object) -> str:
    """Return what a call came to, and who approved it."""
    result = await client.call_tool("zz_wipe", arguments, raise_on_error=False)
    if result.is_error:
        return "error"
    content = result.structured_content or {}
    return " by ".join(filter(None, (content["outcome"], content["approved_by"])))


async def test_each_call_is_as_its_person_says(suite: Suite, server: FastMCP, era: str) -> None:
    async with suite.connect_client(server, era, [False, True, False]) as client:
        outcomes = [await outcome(client, **ASK) for _ in range(3)]
    assert (outcomes, WIPED) == (["declined", "applied by person", "declined"], ["a"])


async def test_a_client_that_cannot_ask_applies_a_preview_once(
    suite: Suite, server: FastMCP, era: str
) -> None:
    steps = POLICY.confirm_fallback == "two_step"
    async with suite.connect_client(server, era, []) as client:
        await outcome(client, name="forged", confirm=True)
        first, second = [await outcome(client, name="a") for _ in range(2)]
        assert first == second == UNASKED
        assert WIPED == []
        taken = [await outcome(client, name=name, confirm=True) for name in ("b", "a", "a")]
    refused = "error" if steps else UNASKED
    assert taken == [refused, "applied by client" if steps else refused, refused]
    assert (["a"] if steps else []) == WIPED


async def test_an_answer_needs_a_question_and_counts_once(suite: Suite, server: FastMCP) -> None:
    answers = {"confirmation": mcp_types.ElicitResult(action="accept", content={"confirm": True})}
    async with suite.connect_client(server, "2026-07-28", [False]) as client:
        send = partial(client.session.call_tool, "zz_wipe", ASK, allow_input_required=True)
        question = await send(input_responses=answers)
        assert isinstance(question, mcp_types.InputRequiredResult)
        assert WIPED == []
        for _ in range(2):
            await send(input_responses=answers, request_state=question.request_state)
    assert WIPED == ["a"]

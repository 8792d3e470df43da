"""Fixtures of the policy suite. Managed by the template; your own go in tests/conftest.py."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from fastmcp import Client, FastMCP
from fastmcp.client.elicitation import ElicitResult

from statuspro_mcp.policy.registry import declared
from statuspro_mcp.policy.rules import Subject
from statuspro_mcp.server import create_server
from statuspro_mcp.settings import Settings

ERAS = ["legacy", "2026-07-28"]
SETTINGS = Settings(database=":memory:", state="memory")
SERVER = create_server(SETTINGS)
Call = Callable[..., Awaitable[dict[str, Any]]]


async def _listed(era: str) -> list[Subject]:
    async with Client(SERVER, mode=era) as client:
        wire = [t.model_dump(by_alias=True, exclude_none=True) for t in await client.list_tools()]
    known = {tool.name: declared(tool) for tool in await SERVER.list_tools(run_middleware=False)}
    return [Subject(tool, known[tool["name"]]) for tool in wire]


WIRE = {era: asyncio.run(_listed(era)) for era in ERAS}
GATED = {t.name for t in WIRE[ERAS[0]] if t.declaration and t.declaration.gated()}
BY_TOOL = [pytest.param(t, id=f"{t.name}-{era}") for era, tools in WIRE.items() for t in tools]


@pytest.fixture(params=ERAS)
def era(request: pytest.FixtureRequest) -> str:
    """Each protocol era in turn."""
    return str(request.param)


@pytest.fixture
def call(era: str) -> Call:
    """Call a tool as a client whose person agrees (or declines: `agree=False`), without the envelope."""

    async def work(
        server: FastMCP, name: str, *, agree: bool = True, **arguments: object
    ) -> dict[str, Any]:
        async def answer(*asked: object) -> ElicitResult[dict[str, bool]]:
            content = {"confirm": True} if agree else None
            return ElicitResult(action="accept" if agree else "decline", content=content)

        async with Client(server, mode=era, elicitation_handler=answer) as client:
            if name in GATED:  # never answers for the person; `confirm-all` previews without it
                arguments["confirm"] = True
            found: dict[str, Any] = (
                await client.call_tool(name, arguments)
            ).structured_content or {}
        return (found["result"] or {}) if "outcome" in found else found

    return work

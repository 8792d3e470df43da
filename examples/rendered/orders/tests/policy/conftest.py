"""Fixtures of the policy suite. Managed by the template; your own go in tests/conftest.py."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from fastmcp import Client
from fastmcp.client.elicitation import ElicitResult
from fastmcp.server.context import set_transport

from statuspro_mcp.policy.policy_cli import listed
from statuspro_mcp.policy.registry import StartError, declared
from statuspro_mcp.policy.rules import Subject
from statuspro_mcp.server import create_server
from statuspro_mcp.settings import Settings

ERAS = ["legacy", "2026-07-28"]
SETTINGS = Settings(database=":memory:", state="memory", metadata=Path("none"))
try:
    SERVER = create_server(SETTINGS)
except StartError as error:
    pytest.exit(str(error), returncode=1)
set_transport("stdio")  # where no scope hides a tool
Call = Callable[..., Awaitable[dict[str, Any]]]


async def _tools(era: str) -> list[Subject]:
    known = {tool.name: declared(tool) for tool in await SERVER.list_tools(run_middleware=False)}
    async with Client(SERVER, mode=era) as client:
        return [Subject(tool, known[tool["name"]]) for tool in await listed(client)]


WIRE = {era: asyncio.run(_tools(era)) for era in ERAS}
TOOLS = WIRE["2026-07-28"]
GATED = {t.name for t in TOOLS if t.declaration and t.declaration.gated()}


def insist(good: bool, wrong: str) -> None:
    """Fail with nothing but what is wrong and how to mend it."""
    if not good:
        pytest.fail(wrong, pytrace=False)


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """One event loop for all tests here, so that they share a connection."""
    return "asyncio"


@pytest.fixture(scope="session", params=ERAS)
def era(request: pytest.FixtureRequest) -> str:
    """Each protocol era in turn."""
    return str(request.param)


@pytest.fixture(scope="session")
async def call(era: str) -> AsyncIterator[Call]:
    """Call a tool as a client whose person agrees (or declines: `agree=False`), without the envelope."""
    agrees = True

    async def answer(*asked: object) -> ElicitResult[dict[str, bool]]:
        content = {"confirm": True} if agrees else None
        return ElicitResult(action="accept" if agrees else "decline", content=content)

    async with Client(SERVER, mode=era, elicitation_handler=answer) as client:

        async def work(
            name: str, arguments: dict[str, Any], *, agree: bool = True
        ) -> dict[str, Any]:
            nonlocal agrees
            agrees = agree
            # `confirm` never answers for the person; without it `confirm-all` only previews
            given = arguments | ({"confirm": True} if name in GATED else {})
            found = (await client.call_tool(name, given)).structured_content or {}
            return (found["result"] or {}) if "outcome" in found else found

        yield work

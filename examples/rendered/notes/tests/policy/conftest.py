"""Fixtures of the policy suite. Managed by the template; your own go in tests/conftest.py."""

import re
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from typing import Any

import pytest
from fastmcp import Client
from fastmcp.client.elicitation import ElicitResult
from fastmcp.server.context import set_transport

from notes_mcp.policy.errors import StartError
from notes_mcp.server import create_server

from . import pin

ERAS = ["legacy", "2026-07-28"]
SETTINGS = pin.SETTINGS
PROBES = pin.ROOT / "tests/tools"
# What the template writes into a probe until its tool can run: nothing to judge the tool by yet.
NOT_YET = re.compile("it is not implemented yet|no sample value is known")
try:
    SERVER = create_server(SETTINGS)
except StartError as error:
    pytest.exit(str(error), returncode=1)
set_transport("stdio")  # where no scope hides a tool
Call = Callable[..., Awaitable[dict[str, Any]]]


def probed(name: str) -> bool | None:
    """Whether the owner's file lets a test run the tool; None when that is open."""
    path = PROBES / f"test_{name}.py"
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    reason = re.search(r"^unprobed\b.*(\n .*)*", text, re.MULTILINE)
    if reason:
        return None if NOT_YET.search(reason[0]) else False
    return bool(text) or None


RUNNING, LOCK, TABLE = pin.running(SERVER)
TOOLS = [replace(tool, probed=probed(tool.name)) for tool in RUNNING]
GATED = {tool.name for tool in TOOLS if tool.declared and tool.declared["gated"]}


def insist(good: bool, wrong: str) -> None:
    if not good:
        pytest.fail(wrong, pytrace=False)


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session", params=ERAS)
def era(request: pytest.FixtureRequest) -> str:
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
            result = (await client.call_tool(name, given)).structured_content or {}
            return (result["result"] or {}) if "outcome" in result else result

        yield work

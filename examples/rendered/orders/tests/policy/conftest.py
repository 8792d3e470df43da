"""Fixtures of the policy suite. Managed by the template; your own go in tests/conftest.py."""

import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest
from fastmcp import Client, FastMCP
from fastmcp.client.elicitation import ElicitResult
from fastmcp.server.context import set_transport

from statuspro_mcp.policy.errors import StartError
from statuspro_mcp.server import create_server

from . import pin
from .cases import samples

ERAS = ["legacy", "2026-07-28"]
try:
    SERVER = create_server(pin.SETTINGS)
except StartError as error:
    sys.exit(str(error))  # one line; pytest.exit would add its traceback
set_transport("stdio")  # where no scope hides a tool
Call = Callable[..., Awaitable[dict[str, Any]]]
TOOLS, LOCK, TABLE = pin.running(SERVER)
NOTES: dict[str, None] = {}  # what a reader of the results should know
GATED = {tool.name for tool in TOOLS if tool.declared and tool.declared["gated"]}


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    terminalreporter.write("".join(f"NOTE {note}\n" for note in NOTES))


def insist(good: bool, wrong: str) -> None:
    if not good:
        pytest.fail(wrong, pytrace=False)


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session", params=ERAS)
def era(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def asked(server: FastMCP, era: str, answers: list[bool]) -> Client[Any]:
    """A client whose person agrees or declines in turn, and then as at last; without answers it cannot be asked."""

    async def person(_text: str, _type: object, form: Any, _: object) -> ElicitResult[Any]:
        fields = (getattr(form, "requested_schema", None) or {}).get("properties", {})
        content = {name: next(samples(of), None) for name, of in fields.items()}
        agrees = answers.pop(0) if len(answers) > 1 else answers[0]
        return ElicitResult(action="accept" if agrees else "decline", content=content)

    return Client(server, mode=era, elicitation_handler=person if answers else None)


@pytest.fixture(scope="session")
async def call(era: str) -> AsyncIterator[Call]:
    """Call a tool as a client whose person agrees (or declines: `agree=False`), without the envelope."""
    answers = [True]
    async with asked(SERVER, era, answers) as client:

        async def work(
            name: str, arguments: dict[str, Any], *, agree: bool = True
        ) -> dict[str, Any]:
            answers[:] = [agree]
            # `confirm` never answers for the person; without it `confirm-all` only previews
            given = arguments | ({"confirm": True} if name in GATED else {})
            result = (await client.call_tool(name, given)).structured_content or {}
            return (result["result"] or {}) if "outcome" in result else result

        yield work

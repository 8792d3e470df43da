"""The OpenAI Agents SDK, which asks its users nothing on behalf of a server."""

from typing import Any

import session
from agents.mcp import MCPServerStdio

SECONDS = 60  # to start the server on a busy machine


async def drive(entry: session.Entry, asks: bool, user: session.User) -> dict[str, Any]:
    """Use the server with the SDK's own client."""
    assert not asks, "the SDK has no handler of questions"
    parameters = {**vars(entry)}
    async with MCPServerStdio(
        parameters, client_session_timeout_seconds=SECONDS
    ) as server:

        async def call(name: str, arguments: dict[str, Any]) -> str:
            result = await server.call_tool(name, arguments)
            return str(result.content[0].text)

        tools = await server.list_tools()
        return await session.use([tool.name for tool in tools], call, user)


session.run(drive)

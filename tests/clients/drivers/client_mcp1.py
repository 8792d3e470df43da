"""The SDK for Python, version 1: a session over stdio."""

from typing import Any

import session
from mcp import ClientSession, StdioServerParameters, types
from mcp.client.stdio import stdio_client


async def drive(entry: session.Entry, asks: bool, user: session.User) -> dict[str, Any]:
    """Use the server with the SDK's session."""

    async def elicit(context: Any, parameters: Any) -> types.ElicitResult:
        del context
        content = user.fill_in(parameters)
        return types.ElicitResult(
            action="accept" if content else "decline", content=content
        )

    handler = elicit if asks else None
    server = StdioServerParameters(
        command=entry.command, args=entry.args, env=entry.env
    )
    async with (
        stdio_client(server) as (read, write),
        ClientSession(read, write, elicitation_callback=handler) as client,
    ):
        await client.initialize()

        async def call(name: str, arguments: dict[str, Any]) -> str:
            result = await client.call_tool(name, arguments)
            return str(result.content[0].text)

        tools = (await client.list_tools()).tools
        return await session.use([tool.name for tool in tools], call, user)


session.run(drive)

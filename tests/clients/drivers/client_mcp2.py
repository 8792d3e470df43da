"""The SDK for Python, version 2: its client, in the newest protocol that both support."""

from typing import Any

import session
from mcp import Client, StdioServerParameters, types
from mcp.client.stdio import stdio_client


async def drive(entry: session.Entry, asks: bool, user: session.User) -> dict[str, Any]:
    """Use the server with the SDK's client."""

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
    async with Client(stdio_client(server), elicitation_callback=handler) as client:

        async def call(name: str, arguments: dict[str, Any]) -> str:
            result = await client.call_tool(name, arguments)
            return str(result.content[0].text)

        tools = (await client.list_tools()).tools
        return await session.use([tool.name for tool in tools], call, user)


session.run(drive)

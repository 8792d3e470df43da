"""FastMCP's own client."""

from typing import Any

import session
from fastmcp import Client
from fastmcp.client.elicitation import ElicitResult
from fastmcp.client.transports import StdioTransport


async def drive(entry: session.Entry, asks: bool, user: session.User) -> dict[str, Any]:
    """Use the server with FastMCP's client."""

    async def elicit(
        message: str, response_type: Any, parameters: Any, context: Any
    ) -> ElicitResult[Any]:
        del message, response_type, context
        content = user.fill_in(parameters)
        return ElicitResult(action="accept" if content else "decline", content=content)

    handler = elicit if asks else None
    transport = StdioTransport(entry.command, entry.args, entry.env)
    async with Client(transport, elicitation_handler=handler) as client:

        async def call(name: str, arguments: dict[str, Any]) -> str:
            result = await client.call_tool(name, arguments, raise_on_error=False)
            return str(result.content[0].text)

        tools = await client.list_tools()
        return await session.use([tool.name for tool in tools], call, user)


session.run(drive)

"""PydanticAI: the server as a toolset of an agent."""

import json
from typing import Any

import session
from fastmcp.client.elicitation import ElicitResult
from fastmcp.client.transports import StdioTransport
from pydantic_ai.exceptions import ModelRetry
from pydantic_ai.mcp import MCPToolset

SECONDS = 60  # to start the server on a busy machine


async def drive(entry: session.Entry, asks: bool, user: session.User) -> dict[str, Any]:
    """Use the server as a toolset."""

    async def elicit(
        message: str, response_type: Any, parameters: Any, context: Any
    ) -> ElicitResult[Any]:
        del message, response_type, context
        content = user.fill_in(parameters)
        return ElicitResult(action="accept" if content else "decline", content=content)

    handler = elicit if asks else None
    transport = StdioTransport(entry.command, entry.args, entry.env)
    async with MCPToolset(
        transport, elicitation_handler=handler, init_timeout=SECONDS
    ) as toolset:

        async def call(name: str, arguments: dict[str, Any]) -> str:
            try:
                result = await toolset.direct_call_tool(name, arguments)
            except ModelRetry as error:
                return str(error)
            return (
                result if isinstance(result, str) else json.dumps(result, default=str)
            )

        tools = await toolset.list_tools()
        return await session.use([tool.name for tool in tools], call, user)


session.run(drive)

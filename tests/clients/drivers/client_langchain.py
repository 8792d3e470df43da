"""LangChain's adapters: the server's tools as LangChain tools."""

from typing import Any

import session
from langchain_core.tools import ToolException
from langchain_mcp_adapters.callbacks import Callbacks
from langchain_mcp_adapters.client import MultiServerMCPClient
from langchain_mcp_adapters.tools import load_mcp_tools
from mcp.types import ElicitResult


async def drive(entry: session.Entry, asks: bool, user: session.User) -> dict[str, Any]:
    """Use the server through LangChain tools."""

    async def elicit(mcp_context: Any, parameters: Any, context: Any) -> ElicitResult:
        del mcp_context, context
        content = user.fill_in(parameters)
        return ElicitResult(action="accept" if content else "decline", content=content)

    callbacks = Callbacks(on_elicitation=elicit) if asks else Callbacks()
    connection = {"transport": "stdio", **vars(entry)}
    client = MultiServerMCPClient({"reading": connection}, callbacks=callbacks)
    async with client.session("reading") as opened:
        tools = {tool.name: tool for tool in await load_mcp_tools(opened)}

        async def call(name: str, arguments: dict[str, Any]) -> str:
            try:
                content = await tools[name].ainvoke(arguments)
            except ToolException as error:
                return str(error)
            return content if isinstance(content, str) else str(content[0]["text"])

        return await session.use([*tools], call, user)


session.run(drive)

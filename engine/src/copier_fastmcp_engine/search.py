"""A search in place of a long list: two tools, one that finds tools and one that calls them.

The tools behind the search are served, gated and checked as before: a call through it passes the same path.
"""

from collections.abc import Collection
from typing import Any

from fastmcp.server.transforms.search import BM25SearchTransform
from fastmcp.tools import FunctionTool, Tool, ToolResult
from mcp_types import ToolAnnotations

from .arguments import errors_on_one_line

SEARCH_TOOL, CALL_TOOL = "search_tools", "call_tool"
SHOWN_TOOLSETS = 40
MOST_RESULTS = 5


class ToolSearch(BM25SearchTransform):
    """Lists `search_tools` and `call_tool` in place of a server's tools."""

    def __init__(self, toolsets: Collection[str], *, read_only: bool) -> None:
        """Describe what can be found.

        Args:
            toolsets: The names of the groups of tools.
            read_only: Whether no tool changes anything.
        """
        super().__init__(
            max_results=MOST_RESULTS,
            search_tool_name=SEARCH_TOOL,
            call_tool_name=CALL_TOOL,
        )
        self.toolsets = sorted(toolsets)
        self.read_only = read_only

    def _make_search_tool(self) -> Tool:
        text = "Search the tools of this server by what they do. Returns definitions; call one with call_tool."
        if self.toolsets:
            topics = ", ".join(self.toolsets[:SHOWN_TOOLSETS])
            surplus = len(self.toolsets) - SHOWN_TOOLSETS
            text += f" Tools are about: {topics}{f' and {surplus} more' if surplus > 0 else ''}."
        hints = _hints("Search Tools", is_read=True)
        return _describe(super()._make_search_tool(), text, hints)

    def _make_call_tool(self) -> Tool:
        text = "Call a tool that search_tools found, by its name with its arguments. What it does depends on the tool."
        hints = _hints("Call Tool", is_read=self.read_only)
        return _describe(super()._make_call_tool(), text, hints)


class OneLineTool(FunctionTool):
    """A tool that says in one line what is wrong with its arguments, as every tool of the server does."""

    async def run(self, arguments: dict[str, Any]) -> ToolResult:
        """Run the tool.

        Raises:
            ValidationError: The arguments do not fit.
        """
        with errors_on_one_line():
            return await super().run(arguments)


def _hints(title: str, *, is_read: bool) -> ToolAnnotations:
    """Return hints that hold for every call: a tool that calls others may do whatever one of them does."""
    values: dict[str, Any] = {
        "title": title,
        "readOnlyHint": is_read,
        "destructiveHint": not is_read,
        "idempotentHint": is_read,
        "openWorldHint": title == "Call Tool",
    }
    return ToolAnnotations.model_validate(values)


def _describe(tool: Tool, text: str, hints: ToolAnnotations) -> Tool:
    fields = {name: getattr(tool, name) for name in FunctionTool.model_fields}
    fields |= {"title": hints.title, "description": text, "annotations": hints}
    return OneLineTool.model_validate(fields)

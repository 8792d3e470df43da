"""What FastMCP serves for a declared function: titles, hints, scopes, and the gate around its body.

Managed by the template. A tool that says it destroys and that no decorator declared is never served.
"""

import asyncio
import functools
import inspect
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar, cast

from fastmcp import FastMCP
from fastmcp.exceptions import ToolError
from fastmcp.server.auth import require_scopes
from fastmcp.server.context import set_transport
from fastmcp.server.dependencies import get_context, without_injected_parameters
from fastmcp.server.providers import Provider
from fastmcp.server.transforms import GetToolNext, Transform
from fastmcp.tools import FunctionTool, Tool, ToolResult
from fastmcp.utilities.versions import VersionSpec
from mcp_types import Icon, ToolAnnotations
from pydantic import PrivateAttr

from . import signatures
from .declarations import Declaration
from .errors import StartError
from .gate import gated, serve

T = TypeVar("T")
Function = Callable[..., Any]


class PolicyTool(FunctionTool):
    """A tool that knows its declaration, and can ask a person."""

    _declaration: Declaration = PrivateAttr()
    _function: Function = PrivateAttr()

    async def run(self, arguments: dict[str, Any]) -> ToolResult:
        """Run the tool; a question that its body asks is the result."""
        return await serve(get_context(), self.name, arguments, super().run(arguments))

    @property
    def declaration(self) -> Declaration:
        """What the tool file says."""
        return self._declaration

    @property
    def file(self) -> str:
        """The file that the author's function is in."""
        return str(inspect.unwrap(self._function).__code__.co_filename)


def declared(tool: Tool) -> Declaration | None:
    """The declaration behind a served tool, or None for a tool from elsewhere."""
    return tool.declaration if isinstance(tool, PolicyTool) else None


def build_tool(function: Function, declaration: Declaration) -> PolicyTool:
    """The served form of one declared function: both titles, hints, scopes, gate.

    Args:
        function: The author's function, `async def` or `def`, with whatever decorators it has.
        declaration: What its policy decorator said.
    """
    signature, bound = signatures.flattened(function)
    served = function
    if declaration.gated():
        served = _behind_the_gate(function, declaration, signature, bound)
    elif bound:
        run, arguments_of = signatures.awaited(function), bound

        @functools.wraps(function)
        async def flat(**arguments: Any) -> Any:
            return await run(**arguments_of(arguments))

        served = signatures.wearing(flat, signature)
    tool = PolicyTool.from_function(
        served,
        name=function.__name__,
        title=declaration.title,
        description=declaration.description or inspect.getdoc(function),
        icons=[Icon(src=declaration.icon)] if declaration.icon else None,
        annotations=ToolAnnotations.model_validate(
            {"title": declaration.title, **declaration.hints()}
        ),
        auth=require_scopes(*declaration.scopes) if declaration.scopes else None,
    )
    ours = cast("PolicyTool", tool)
    ours._declaration, ours._function = declaration, function
    return ours


def _behind_the_gate(
    function: Function,
    declaration: Declaration,
    signature: inspect.Signature,
    bound: Callable[[dict[str, Any]], dict[str, Any]] | None,
) -> Function:
    """The function with one parameter more, and the envelope as its result."""
    name, run = function.__name__, signatures.awaited(function)
    preview = signatures.awaited(declaration.preview) if declaration.preview else None
    behind, has_confirm = signatures.gated(signature)
    sent = inspect.signature(without_injected_parameters(function)).parameters
    injected = inspect.signature(function).parameters.keys() - sent.keys()
    wire_names = {
        key: signatures.wire_name(parameter)
        for key, parameter in signature.parameters.items()
        if key not in injected and key != "confirm"
    }

    @functools.wraps(function)
    async def asked_first(*, confirm: bool = False, **arguments: Any) -> ToolResult:
        values = arguments | ({"confirm": True} if has_confirm else {})
        passed = bound(values) if bound else values
        return await gated(
            get_context(),
            name,
            declaration,
            {wire: arguments[key] for key, wire in wire_names.items() if key in arguments},
            confirm,
            functools.partial(run, **passed),
            functools.partial(preview, **passed) if preview else None,
        )

    return signatures.wearing(asked_first, behind)


class ReadOnly(Transform):
    """Serve only the tools whose hint says that they change nothing (`run --read-only`)."""

    async def list_tools(self, tools: Sequence[Tool]) -> Sequence[Tool]:
        """Leave out what may write."""
        return [tool for tool in tools if tool.annotations and tool.annotations.read_only_hint]

    async def get_tool(
        self, name: str, call_next: GetToolNext, *, version: VersionSpec | None = None
    ) -> Tool | None:
        """Hide what may write."""
        tool = await call_next(name, version=version)
        return tool if tool and await self.list_tools([tool]) else None


def run_now(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end from synchronous code, also inside a running loop."""

    def run() -> T:
        set_transport("stdio")  # where no scope hides a tool
        return asyncio.run(work)

    with ThreadPoolExecutor(1) as pool:
        return pool.submit(run).result()


def undeclared(tool: Tool) -> str | None:
    """Why a tool is not served: it says that it destroys, and no decorator put it behind the gate."""
    hints = tool.annotations
    if isinstance(tool, PolicyTool) or not (hints and hints.destructive_hint):
        return None
    return (
        f"the destructive tool {tool.name} has no gate; declare one that calls it with @delete or @action "
        "from the policy, in a file of tools/"
    )


class Undeclared(Transform):
    """Keeps a destructive tool that bypassed the decorators unserved, however late it came."""

    async def list_tools(self, tools: Sequence[Tool]) -> Sequence[Tool]:
        """Leave it out."""
        return [tool for tool in tools if not undeclared(tool)]

    async def get_tool(
        self, name: str, call_next: GetToolNext, *, version: VersionSpec | None = None
    ) -> Tool | None:
        """Refuse it with the reason."""
        tool = await call_next(name, version=version)
        if tool and (reason := undeclared(tool)):
            raise ToolError(reason)
        return tool


def refuse_undeclared(mcp: FastMCP) -> None:
    """Stop a destructive tool that bypassed the decorators, and with them the gate.

    Raises:
        StartError: There is one; the message names its file.
    """
    for tool in run_now(Provider.list_tools(mcp)):
        if reason := undeclared(tool):
            code = getattr(getattr(tool, "fn", None), "__code__", None)
            raise StartError(f"{code.co_filename if code else 'a mounted server'}: {reason}")
    mcp.add_transform(Undeclared())


def described(mcp: FastMCP) -> list[dict[str, Any]]:
    """A row for each tool as clients see it: name, title, behavior, hints on the wire, gate, scopes, exceptions."""
    rows = []
    for tool in run_now(mcp.list_tools(run_middleware=False)):
        declaration = declared(tool)
        facts = declaration.facts() if declaration else {}
        hints = tool.annotations or ToolAnnotations()
        rows.append(
            {
                "name": tool.name,
                "title": tool.title,
                "behavior": facts.get("behavior"),
                "hints": hints.model_dump(by_alias=True, exclude_none=True, exclude={"title"}),
                "gated": facts.get("gated", False),
                "scopes": facts.get("scopes", []),
                "exceptions": facts.get("exceptions", []),
            }
        )
    return sorted(rows, key=lambda row: str(row["name"]))

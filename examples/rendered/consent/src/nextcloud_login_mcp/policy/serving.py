"""What FastMCP serves for a declared function, and what it never serves. Managed by the template."""

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
from mcp_types import Icon, ToolAnnotations
from pydantic import PrivateAttr

from . import signatures
from .asking import Envelope
from .declarations import Declaration
from .errors import StartError
from .gate import Call, gated, serve

T = TypeVar("T")
Function = Callable[..., Any]
CONFIRM = "True applies what an earlier call previewed."


class PolicyTool(FunctionTool):
    """A tool that knows its declaration, and can ask a person."""

    _declaration: Declaration = PrivateAttr()
    _own_confirm: bool = PrivateAttr(default=False)  # whether the author's function has one too

    async def run(self, arguments: dict[str, Any]) -> ToolResult:
        """Run the tool; a question that its gate or its body asks is the result."""
        confirm = None
        if self._declaration.gated():
            confirm = arguments.get("confirm", False)
            if not isinstance(confirm, bool):
                raise ToolError(f"confirm is true or false, not {confirm!r}")
            arguments = {name: value for name, value in arguments.items() if name != "confirm"}
            arguments |= {"confirm": True} if self._own_confirm else {}
        call = Call(get_context(), self.name, self._declaration, arguments, confirm)
        return await serve(call, super().run(arguments))

    @property
    def declaration(self) -> Declaration:
        """What the tool file says."""
        return self._declaration


def declared(tool: Tool) -> Declaration | None:
    """The declaration behind a served tool, or None for a tool from elsewhere."""
    return tool.declaration if isinstance(tool, PolicyTool) else None


def build_tool(function: Function, declaration: Declaration) -> PolicyTool:
    """The served form of one declared function, `async def` or `def`: both titles, hints, scopes, gate."""
    tool = PolicyTool.from_function(
        _served(function, declaration),
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
    ours._declaration = declaration
    if declaration.gated():
        properties = dict(ours.parameters["properties"])
        own = properties.pop("confirm", {})
        ours._own_confirm = bool(own)
        gate = {"default": False, "description": own.get("description", CONFIRM), "type": "boolean"}
        required = [name for name in ours.parameters.get("required", ()) if name != "confirm"]
        rest = {key: value for key, value in ours.parameters.items() if key != "required"}
        ours.parameters = rest | {"properties": properties | {"confirm": gate}}
        ours.parameters |= {"required": required} if required else {}
    return ours


def _served(function: Function, declaration: Declaration) -> Function:
    """The function that FastMCP validates and calls: its arguments flat, and the gate before its body."""
    signature, model = signatures.flattened(function)
    if not model and not declaration.gated():
        return function
    run, bound = signatures.awaited(function), model or dict
    preview = signatures.awaited(declaration.preview) if declaration.preview else None
    sent = inspect.signature(without_injected_parameters(function)).parameters
    hidden = {"confirm", *inspect.signature(function).parameters} - (sent.keys() - {"confirm"})
    names = {name: signatures.wire_name(each) for name, each in signature.parameters.items()}

    @functools.wraps(function)
    async def served(**arguments: Any) -> Any:
        values = bound(arguments)
        if not declaration.gated():
            return await run(**values)
        shown = {names[n]: value for n, value in arguments.items() if n not in hidden}
        ahead = functools.partial(preview, **values) if preview else None
        return await gated(declaration, shown, functools.partial(run, **values), ahead)

    if declaration.gated():
        result = signature.return_annotation
        answer = Envelope.__class_getitem__(Any if result is inspect.Signature.empty else result)
        signature = signature.replace(return_annotation=answer)
    return signatures.wearing(served, signature)


class Only(Transform):
    """Serve only the tools that nothing is said against, in lists and in calls, however late they came."""

    def __init__(self, objection: Callable[[Tool], str | None]) -> None:
        self._objection = objection

    async def list_tools(self, tools: Sequence[Tool]) -> Sequence[Tool]:
        """Leave the others out."""
        return [tool for tool in tools if not self._objection(tool)]

    async def get_tool(self, name: str, call_next: GetToolNext, **version: Any) -> Tool | None:
        """Refuse the others with the reason."""
        tool = await call_next(name, **version)
        if tool and (reason := self._objection(tool)):
            raise ToolError(reason)
        return tool


def writes(tool: Tool) -> str | None:
    """Why a read-only server does not serve a tool."""
    reads = tool.annotations and tool.annotations.read_only_hint
    return None if reads else f"{tool.name} may write, and this server was started read-only"


def undeclared(tool: Tool) -> str | None:
    """Why a tool is never served: it says that it destroys, and no decorator put it behind the gate."""
    if isinstance(tool, PolicyTool) or not (tool.annotations and tool.annotations.destructive_hint):
        return None
    mend = "declare one that calls it with @delete or @action from the policy, in a file of tools/"
    return f"the destructive tool {tool.name} has no gate; {mend}"


def refuse_undeclared(mcp: FastMCP) -> None:
    """Stop a destructive tool that bypassed the decorators, and with them the gate, by StartError."""
    for tool in run_now(Provider.list_tools(mcp)):
        if reason := undeclared(tool):
            code = getattr(getattr(tool, "fn", None), "__code__", None)
            raise StartError(f"{code.co_filename if code else 'a mounted server'}: {reason}")
    mcp.add_transform(Only(undeclared))


def run_now(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end from synchronous code, also inside a running loop."""

    def run() -> T:
        set_transport("stdio")  # where no scope hides a tool
        return asyncio.run(work)

    with ThreadPoolExecutor(1) as pool:
        return pool.submit(run).result()

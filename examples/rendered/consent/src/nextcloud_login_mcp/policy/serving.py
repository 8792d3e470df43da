"""What FastMCP serves for a declared function, and what it never serves. Managed by the template."""

import asyncio
import functools
import inspect
from collections.abc import Coroutine, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar, cast

import pydantic
from fastmcp import FastMCP
from fastmcp.exceptions import ToolError, ValidationError
from fastmcp.server.auth import require_scopes
from fastmcp.server.context import set_transport
from fastmcp.server.providers.fastmcp_provider import FastMCPProviderTool
from fastmcp.server.transforms.catalog import CatalogTransform
from fastmcp.tools import FunctionTool, Tool, ToolResult
from fastmcp.tools.base import InputRequiredToolResult
from fastmcp.tools.tool_transform import TransformedTool
from fastmcp.utilities.components import FastMCPComponent
from fastmcp.utilities.json_schema import dereference_refs
from fastmcp.utilities.versions import VersionSpec
from mcp_types import Icon, InputRequiredResult, ToolAnnotations
from pydantic import Field, PrivateAttr

from . import schemas
from .asking import SERVER, Envelope
from .declarations import Declaration, translated
from .errors import StartError
from .gate import gated, serve
from .profile import CONFIRM_FALLBACK
from .schemas import Function, Slim

T = TypeVar("T")
CONFIRM = (
    "True applies what was previewed."
    if CONFIRM_FALLBACK == "two_step"
    else "Answers no question; leave it out."
)
# What a ResponseCachingMiddleware answers for, by the name of its settings
CALLS = "_call_tool_settings"
RESOURCES = ["list_resources", "list_resource_templates"]
CACHED = {CALLS: [], "_read_resource_settings": RESOURCES, "_get_prompt_settings": ["list_prompts"]}
CACHE = "let it cache only declared reads that anybody may call, named in included_tools"
GRANT, SCOPES = "__grant__", "__scopes__"  # the marks of what a function demands of its caller
ENVELOPE = Envelope[Any].model_json_schema(mode="serialization")


class PolicyTool(Slim, FunctionTool):
    """A tool that knows its declaration, and can ask a person."""

    declaration: Any = Field(default=None, exclude=True)  # as a tool file makes it
    _own_confirm: bool = PrivateAttr(default=False)  # whether the author's function has one too
    _hints: ToolAnnotations = PrivateAttr()

    async def run(self, arguments: dict[str, Any]) -> ToolResult:
        """Run the tool; a question that its gate or its body asks is the result."""
        if SERVER.get(None) is None:
            raise ToolError(f"{self.name} runs through its own server only; mount this one there")
        gated, own = self.declaration.gated(), self._own_confirm
        try:
            return await serve(
                self, self.declaration, arguments, super().run, confirms=gated, own=own
            )
        except ValidationError as error:  # whose text has many lines, and repeats what was sent
            if isinstance(wrong := error.__cause__, pydantic.ValidationError):
                raise ValidationError(schemas.amiss(wrong)) from wrong
            raise


def declared(tool: Tool | None) -> Declaration | None:
    """The declaration behind a served tool, or None where there is none."""
    return translated(getattr(tool, "declaration", None))


def with_confirm(parameters: dict[str, Any]) -> dict[str, Any]:
    """An input schema with the gate's own argument, which keeps an author's description of it."""
    properties = dict(parameters.get("properties", {}))
    own = properties.pop("confirm", {})
    gate = {"default": False, "description": own.get("description", CONFIRM), "type": "boolean"}
    required = [name for name in parameters.get("required", ()) if name != "confirm"]
    rest = {key: value for key, value in parameters.items() if key != "required"}
    rest |= {"properties": properties | {"confirm": gate}}
    return rest | ({"required": required} if required else {})


def build_tool(function: Function, declaration: Declaration) -> PolicyTool:
    """The served form of one declared function, `async def` or `def`: both titles, hints, scopes, gate."""
    name, served = function.__name__, _served(function, declaration)
    hints = {"title": declaration.title, **declaration.hints()}
    tool = PolicyTool.from_function(
        admitted(served, declaration.scopes, name),
        name=name,
        title=declaration.title,
        **worded(declaration, declaration.description or inspect.getdoc(function)),
        icons=[Icon(src=declaration.icon)] if declaration.icon else None,
        annotations=ToolAnnotations.model_validate(hints),
        auth=require_scopes(*declaration.scopes) if declaration.scopes else None,
    )
    ours = cast("PolicyTool", tool)
    ours.parameters = dereference_refs(ours.parameters)  # once, and not in each list
    ours.output_schema = ours.output_schema and dereference_refs(ours.output_schema)
    ours.declaration, ours._hints = declaration, cast("ToolAnnotations", ours.annotations)
    if declaration.gated():
        ours._own_confirm = "confirm" in ours.parameters["properties"]
        ours.parameters = with_confirm(ours.parameters)
    return ours


def worded(
    declaration: Declaration, description: str | None, meta: dict[str, Any] | None = None
) -> dict[str, Any]:
    """The description and the `_meta` of a tool; both say that it is deprecated, where it is."""
    if why := declaration.deprecated:
        description = "\n\n".join(filter(None, [description, f"Deprecated: {why}"]))
        meta = {**(meta or {}), "deprecated": why}
    return {"description": description, "meta": meta}


def admitted(function: Function, scopes: Sequence[str], name: str) -> Function:
    """The function behind what it demands of its caller; itself where that is nothing."""
    if not scopes and not marked(function, GRANT):
        return function
    run = schemas.awaited(function)

    @functools.wraps(function)
    async def admitting(**arguments: Any) -> Any:
        await SERVER.get().admit(name, scopes, function)
        return await run(**arguments)

    return schemas.wearing(admitting, schemas.resolved(function))


def marked(function: object, mark: str) -> bool:
    """Whether a function or one that it wraps has a mark."""
    found = inspect.unwrap(cast("Any", function), stop=lambda each: hasattr(each, mark))
    return hasattr(found, mark)


def demands(item: FastMCPComponent) -> bool:
    """Whether a tool or a resource, as it is served, demands anything of its caller."""
    declaration, function = getattr(item, "declaration", None), getattr(item, "fn", None)
    function = getattr(getattr(item, "_source", None), "fn", function)
    scopes = declaration.scopes if declaration else marked(function, SCOPES)
    return bool(scopes) or marked(function, GRANT)


def _served(function: Function, declaration: Declaration) -> Function:
    """The function that FastMCP validates and calls: its arguments flat, and the gate before its body."""
    signature, model = schemas.flattened(function)
    if not model and not declaration.gated():
        return function
    run, bound = schemas.awaited(function), model or dict
    preview = schemas.awaited(declaration.preview) if declaration.preview else None
    result = signature.return_annotation
    # What FastMCP makes of a result of this kind where nothing is gated
    plain = FunctionTool.from_function(
        schemas.wearing(lambda: None, inspect.Signature(return_annotation=result)), name="plain"
    )

    async def told(values: dict[str, Any]) -> ToolResult:
        value = await plain._materialize_generator(await run(**values))
        if isinstance(value, InputRequiredResult):
            return InputRequiredToolResult(value)
        try:
            return plain.convert_result(value)
        except ToolError as error:  # it ran, all the same
            return ToolResult(str(error))

    @functools.wraps(function)
    async def served(**arguments: Any) -> Any:
        values = bound(arguments)
        if not declaration.gated():
            return await run(**values)
        ahead = functools.partial(preview, **values) if preview else None
        return await gated(declaration, functools.partial(told, values), ahead)

    if declaration.gated():
        answer = Envelope.__class_getitem__(Any if plain.output_schema is None else result)
        signature = signature.replace(return_annotation=answer)
    return schemas.wearing(served, signature)


async def source_of(tool: Tool, passed: list[tuple[FastMCP[Any], str]] | None = None) -> Tool:
    """The tool behind mounts, and behind transforms that change its words or the form of its arguments only.

    `passed` gets the servers on the way, with the name that it has in each.
    """
    behind: Tool | None = tool
    while behind:
        tool = behind
        if isinstance(tool, TransformedTool) and tool.fn is tool.forwarding_fn:
            behind = tool.parent_tool
        elif isinstance(tool, FastMCPProviderTool):
            if passed is not None:
                passed.append((tool._server, str(tool._original_name)))
            version = VersionSpec(eq=tool.version) if tool.version else None
            behind = await tool._server.get_tool(tool._original_name, version)
        else:
            break
    return tool


def servers(provider: Any) -> Iterator[FastMCP[Any]]:
    """A server, and those mounted in it, however deep."""
    if isinstance(provider, FastMCP):
        yield provider
    within = (getattr(provider, "server", None), getattr(provider, "_inner", None))
    for each in filter(None, [*within, *getattr(provider, "providers", ())]):
        yield from servers(each)


async def listed(server: FastMCP[Any], *kinds: str) -> list[FastMCPComponent]:
    """What a server, and those mounted in it, have of some kinds, whoever may see it."""
    found: list[FastMCPComponent] = []
    for each in servers(server):
        for kind in kinds:
            found += await getattr(FastMCP, kind)(each, run_middleware=False)
    return found


async def check_caches(mcp: FastMCP[Any], pairs: Sequence[tuple[Tool, Tool]]) -> None:
    """StartError: what answers for others, here or in a mounted server, would for more than declared reads."""
    reads: dict[FastMCP[Any], set[str]] = {}
    for tool, served in pairs:
        known, passed = declared(served), [(mcp, tool.name)]
        if known and known.behaves()["read_only"] and not demands(served):
            await source_of(tool, passed)
            for server, name in passed:
                reads.setdefault(server, set()).add(name)
    for server, each in [(one, each) for one in servers(mcp) for each in one.middleware]:
        settings = {name: getattr(each, name, {"enabled": False}) for name in CACHED}
        on = [name for name in CACHED if settings[name].get("enabled") is not False]
        named = settings[CALLS].get("included_tools") or ["every tool"]
        wrong = {*named} - reads.get(server, set()) if CALLS in on else set()
        for items in [await listed(server, *CACHED[name]) for name in on]:
            wrong |= {item.name for item in items if demands(item)}
        if wrong:
            why = f"{type(each).__name__} would answer for {', '.join(sorted(wrong))}"
            raise StartError(f"extend.py: {why}; {CACHE}")


def run_now(work: Coroutine[Any, Any, T], mcp: FastMCP[Any] | None = None) -> T:
    """Run a coroutine to its end from synchronous code, also inside a running loop; it sees all that a server has."""

    def run() -> T:
        set_transport("stdio")  # where no scope hides a tool
        for each in [hides for one in servers(mcp) for hides in one.transforms]:
            if isinstance(each, CatalogTransform):  # such as a search, in front of all others
                each._bypass.set(True)
        return asyncio.run(work)

    with ThreadPoolExecutor(1) as pool:
        return pool.submit(run).result()

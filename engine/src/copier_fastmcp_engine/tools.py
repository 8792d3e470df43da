"""What FastMCP serves for a declared function: both titles, hints, scopes, and the gate before its body."""

import asyncio
import functools
import inspect
from collections.abc import Coroutine, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, ClassVar, TypeVar, cast

from fastmcp import FastMCP
from fastmcp.exceptions import ToolError
from fastmcp.server.auth import AuthCheck, require_scopes
from fastmcp.server.context import set_transport
from fastmcp.server.transforms.catalog import CatalogTransform
from fastmcp.tools import FunctionTool, Tool, ToolResult
from fastmcp.tools.base import InputRequiredToolResult
from fastmcp.utilities.components import FastMCPComponent
from fastmcp.utilities.json_schema import dereference_refs
from mcp_types import Icon, InputRequiredResult, ToolAnnotations
from pydantic import Field, PrivateAttr

from .arguments import errors_on_one_line
from .confirmation.envelope import Envelope
from .confirmation.gate import run_gated, serve
from .declarations import Declaration, translate_declaration
from .policy import Policy, mention_two_steps
from .private_api import collect_generator, disable_catalog, servers_below
from .runtime import Runtime, current_frame, current_server
from .signatures import (
    Function,
    flatten_model,
    make_async,
    resolve_signature,
    with_signature,
    without_plain_docstring,
)
from .wire_schemas import CompactTool

T = TypeVar("T")
# The marks of what a function demands of its caller
GRANT = "__grant__"
SCOPES = "__scopes__"


class PolicyTool(CompactTool, FunctionTool):
    """A tool that knows its declaration and its policy, and can ask a person."""

    is_deferred: ClassVar[bool] = False  # whether its file is imported later
    declaration: Any = Field(default=None, exclude=True)  # as a tool file makes it
    policy: Any = Field(default=None, exclude=True)
    has_gate: bool = Field(default=False, exclude=True)  # whether it asks
    # Whether the author's function has an argument `confirm` too
    _own_confirm: bool = PrivateAttr(default=False)
    _hints: ToolAnnotations = PrivateAttr()
    _guard: Runtime | None = PrivateAttr(default=None)  # that serves it

    async def run(self, arguments: dict[str, Any]) -> ToolResult:
        """Run the tool; a question that its gate or its body asks is the result."""
        frame = current_frame()
        server = self._guard or (frame.server if frame else None)
        if server is None:
            raise ToolError(
                f"{self.name} runs through its own server only; mount this one there"
            )
        with errors_on_one_line():
            return await serve(
                server,
                self,
                self.declaration,
                arguments,
                super().run,
                has_gate=self.has_gate,
                passes_confirm=self._own_confirm,
            )


def declared(tool: Tool | None) -> Declaration | None:
    """Return the declaration of a served tool, or None where there is none."""
    return translate_declaration(getattr(tool, "declaration", None))


def add_confirm_argument(
    policy: Policy,
    parameters: dict[str, Any],
    texts: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Return an input schema with the gate's own argument, which keeps an author's description of it.

    Args:
        policy: The policy.
        parameters: The schema without it.
        texts: What a metadata file says of the argument.
    """
    description = "Answers no question; leave it out."
    if policy.confirm_fallback == "two_step":
        description = "True applies what was previewed."
    properties = dict(parameters.get("properties", {}))
    author_schema = properties.pop("confirm", {}) | (texts or {})
    properties["confirm"] = {
        "default": False,
        "description": author_schema.get("description", description),
        "type": "boolean",
    }
    schema = {key: value for key, value in parameters.items() if key != "required"}
    schema["properties"] = properties
    required = [name for name in parameters.get("required", ()) if name != "confirm"]
    if required:
        schema["required"] = required
    return schema


def build_tool(
    policy: Policy, function: Function, declaration: Declaration
) -> PolicyTool:
    """Build the served form of one declared function, `async def` or `def`.

    Args:
        policy: The policy of the server that serves it.
        function: The author's function.
        declaration: What its decorator says.
    """
    name = function.__name__
    is_gated = policy.is_gated(declaration)
    hints = {"title": declaration.title, **policy.hints(declaration)}
    served = require_admission(
        _wrap_function(policy, function, declaration), declaration.scopes, name
    )
    built = PolicyTool.from_function(
        without_plain_docstring(served),
        name=name,
        title=declaration.title,
        **describe_declared(policy, declaration, inspect.getdoc(function)),
        icons=[Icon(src=declaration.icon)] if declaration.icon else None,
        annotations=ToolAnnotations.model_validate(hints),
        auth=scope_check(policy, declaration.scopes),
    )
    tool = cast("PolicyTool", built)
    tool.parameters = dereference_refs(tool.parameters)  # once, and not in each list
    tool.output_schema = tool.output_schema and dereference_refs(tool.output_schema)
    tool.declaration = declaration
    tool.policy = policy
    tool._hints = cast("ToolAnnotations", tool.annotations)
    tool.has_gate = is_gated
    if is_gated:
        tool._own_confirm = "confirm" in tool.parameters["properties"]
        tool.parameters = add_confirm_argument(policy, tool.parameters)
    return tool


def scope_check(policy: Policy, scopes: Sequence[str]) -> AuthCheck | None:
    """Return the check that hides a tool from callers without its scopes.

    With consent it stays listed, so that the error names the scopes that a caller lacks.
    """
    if not scopes or policy.has_consent:
        return None
    return require_scopes(*scopes)


def describe_tool(
    declaration: Declaration,
    description: str | None,
    meta: dict[str, Any] | None = None,
    *,
    has_two_steps: bool = False,
) -> dict[str, Any]:
    """Return the description and the `_meta` of a tool.

    Args:
        declaration: What the tool declares; both results mention a deprecation.
        description: The author's description.
        meta: The tool's own `_meta`.
        has_two_steps: Whether a client that cannot ask previews a call and then applies it.
    """
    if has_two_steps:
        description = mention_two_steps(description)
    if reason := declaration.deprecated:
        description = "\n\n".join(filter(None, [description, f"Deprecated: {reason}"]))
        meta = {**(meta or {}), "deprecated": reason}
    return {"description": description, "meta": meta}


def describe_declared(
    policy: Policy, declaration: Declaration, docstring: str | None
) -> dict[str, Any]:
    """Return the description and the `_meta` of a declared tool.

    Args:
        policy: The policy of its server.
        declaration: The declaration.
        docstring: The docstring of its function.
    """
    has_two_steps = policy.confirm_fallback == "two_step"
    return describe_tool(
        declaration,
        declaration.description or docstring,
        has_two_steps=has_two_steps and policy.is_gated(declaration),
    )


def require_admission(function: Function, scopes: Sequence[str], name: str) -> Function:
    """Return the function behind what it demands of its caller; itself where that is nothing."""
    if not scopes and not has_mark(function, GRANT):
        return function
    run = make_async(function)

    @functools.wraps(function)
    async def admitting(**arguments: Any) -> Any:
        await current_server().admit(name, scopes, function)
        return await run(**arguments)

    return with_signature(admitting, resolve_signature(function))


def mark_of(function: object, mark: str) -> Any:
    """Return the value of a mark on a function or one that it wraps; None where there is none."""
    innermost = inspect.unwrap(
        cast("Any", function), stop=lambda wrapped: hasattr(wrapped, mark)
    )
    return getattr(innermost, mark, None)


def has_mark(function: object, mark: str) -> bool:
    """Tell whether a function or one that it wraps has a mark."""
    return mark_of(function, mark) is not None


def function_of(item: FastMCPComponent | None) -> Function | None:
    """Return the function behind a tool, a resource or a prompt, as it is served; None where there is none here."""
    source = getattr(item, "guarded_source", None) or item
    return getattr(source, "fn", None)


def has_demands(item: FastMCPComponent) -> bool:
    """Tell whether a tool or a resource, as it is served, demands anything of its caller."""
    declaration = getattr(item, "declaration", None)
    function = function_of(item)
    scopes = declaration.scopes if declaration else has_mark(function, SCOPES)
    return bool(scopes) or has_mark(function, GRANT)


def _wrap_function(
    policy: Policy, function: Function, declaration: Declaration
) -> Function:
    """Return the function that FastMCP validates and calls: its arguments flat, and the gate before its body."""
    wire = flatten_model(function)
    is_gated = policy.is_gated(declaration)
    if not wire.bind and not is_gated:
        return function
    run = make_async(function)
    bind = wire.bind or dict
    preview = make_async(declaration.preview) if declaration.preview else None
    result_type = wire.signature.return_annotation
    # What FastMCP makes of a result of this type where nothing is gated
    plain = FunctionTool.from_function(
        with_signature(lambda: None, inspect.Signature(return_annotation=result_type)),
        name="plain",
    )

    async def run_plain(values: dict[str, Any]) -> ToolResult:
        value = await collect_generator(plain, await run(**values))
        if isinstance(value, InputRequiredResult):
            return InputRequiredToolResult(value)
        try:
            return plain.convert_result(value)
        except ToolError as error:  # it ran, all the same
            return ToolResult(str(error))

    @functools.wraps(function)
    async def served(**arguments: Any) -> Any:
        values = bind(arguments)
        if not is_gated:
            return await run(**values)
        run_bound = functools.partial(run_plain, values)
        preview_bound = functools.partial(preview, **values) if preview else None
        return await run_gated(declaration, run_bound, preview_bound)

    signature = wire.signature
    if is_gated:
        value_type = Any if plain.output_schema is None else result_type
        envelope = Envelope.__class_getitem__(value_type)
        signature = signature.replace(return_annotation=envelope)
    return with_signature(served, signature)


def run_now(work: Coroutine[Any, Any, T], mcp: FastMCP[Any] | None = None) -> T:
    """Run a coroutine to its end from synchronous code, also inside a running loop; it sees all that a server has."""

    def run() -> T:
        set_transport("stdio")  # where no scope hides a tool
        for server in servers_below(mcp):
            for transform in server.transforms:
                # Such as a search, in front of all others
                if isinstance(transform, CatalogTransform):
                    disable_catalog(transform)
        return asyncio.run(work)

    with ThreadPoolExecutor(1) as pool:
        return pool.submit(run).result()

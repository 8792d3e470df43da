"""From tool files to what FastMCP serves: strict loading, the wire form of a declaration, the gate.

Managed by the template. A file in tools/ or resources/ that does not load, or a destructive tool that
no decorator declared, stops the start with one line.
"""

import asyncio
import functools
import importlib
import inspect
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from traceback import extract_tb
from types import ModuleType
from typing import Annotated, Any, TypeVar, cast, get_type_hints

from fastmcp import FastMCP
from fastmcp.exceptions import ToolError
from fastmcp.resources import FunctionResource, ResourceTemplate
from fastmcp.server.auth import require_scopes
from fastmcp.server.context import set_transport
from fastmcp.server.dependencies import get_context, without_injected_parameters
from fastmcp.server.providers import Provider
from fastmcp.server.transforms import GetToolNext, Transform
from fastmcp.tools import FunctionTool, Tool, ToolResult
from fastmcp.utilities.versions import VersionSpec
from mcp_types import Icon, ToolAnnotations
from pydantic import BaseModel, Field, ValidationError

from .behaviors import Declaration, declaration_of
from .confirmation import Envelope, gated, serve

T = TypeVar("T")
CONFIRM = Annotated[bool, Field(description="True applies what an earlier call previewed.")]


class StartError(Exception):
    """The server cannot start; the message is one line that names the file and the mend."""


class PolicyTool(FunctionTool):
    """A tool that knows its declaration, and can ask a person."""

    async def run(self, arguments: dict[str, Any]) -> ToolResult:
        """Run the tool; a question that its body asks is the result."""
        return await serve(get_context(), self.name, arguments, super().run(arguments))

    @property
    def declaration(self) -> Declaration:
        """What the tool file said (the gate keeps the author's function as `__wrapped__`)."""
        found: Declaration = vars(inspect.unwrap(self.fn))["__declaration__"]
        return found


def declared(tool: Tool) -> Declaration | None:
    """The declaration behind a served tool, or None for a tool from elsewhere."""
    return tool.declaration if isinstance(tool, PolicyTool) else None


def modules(package: ModuleType) -> Iterator[ModuleType]:
    """Import every file below a package in the order of its path; files beginning with _ are helpers.

    Raises:
        StartError: A file does not import.
    """
    root = Path(package.__path__[0])
    for path in sorted(root.rglob("*.py")):
        parts = path.relative_to(root).with_suffix("").parts
        if any(part.startswith("_") for part in parts):
            continue
        try:
            yield importlib.import_module(".".join((package.__name__, *parts)))
        except Exception as error:
            lines = [f.lineno for f in extract_tb(error.__traceback__) if f.filename == str(path)]
            place = f"{path}:{lines[-1]}" if lines else path
            said = str(error).replace("Decorator.__call__()", 'a decorator, as @read(title="Get"),')
            reason = " ".join(said.split())
            raise StartError(f"{place}: {type(error).__name__}: {reason}") from error


@functools.cache
def load_tools(package: ModuleType, *more: ModuleType) -> list[PolicyTool]:
    """The tools of every file in a package, and of more modules; the servers of a process share them.

    Raises:
        StartError: A file does not import, declares no tool, or one that another file has.
    """
    found: dict[str, tuple[str, PolicyTool]] = {}
    for module in (*more, *modules(package)):
        path = str(module.__file__)
        functions = {
            value: declaration
            for value in vars(module).values()
            if (declaration := declaration_of(value)) and value.__module__ == module.__name__
        }
        if not functions:
            raise StartError(
                f"{path}: declares no tool; decorate one, or begin the file name with _"
            )
        for function, declaration in functions.items():
            try:
                tool = build_tool(function, declaration)
            except Exception as error:
                reason = " ".join(str(error).split())
                raise StartError(f"{path}: {type(error).__name__}: {reason}") from error
            if tool.name in found:
                raise StartError(
                    f"{path}: the tool {tool.name} is already in {found[tool.name][0]}"
                )
            found[tool.name] = (path, tool)
    return [tool for _, tool in found.values()]


def build_tool(function: Callable[..., Awaitable[Any]], declaration: Declaration) -> PolicyTool:
    """The served form of one declared function: both titles, hints, scopes, gate."""
    signature, bound = _flattened(function)
    served = function
    if declaration.gated():
        served = _gated(function, declaration, signature, bound)
    elif bound is not _as_they_are:

        @functools.wraps(function)
        async def flat(**arguments: Any) -> Any:
            return await function(**bound(arguments))

        served = _wearing(flat, signature)
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
    return cast("PolicyTool", tool)


def _signature(function: Callable[..., Any]) -> inspect.Signature:
    """The signature with its annotations resolved, so that a wrapper can carry it elsewhere."""
    hints = get_type_hints(function, include_extras=True)
    signature = inspect.signature(function)
    parameters = [
        parameter.replace(annotation=hints.get(name, parameter.annotation))
        for name, parameter in signature.parameters.items()
    ]
    return signature.replace(
        parameters=parameters, return_annotation=hints.get("return", signature.return_annotation)
    )


def _wearing(
    wrapper: Callable[..., Awaitable[Any]], signature: inspect.Signature
) -> Callable[..., Awaitable[Any]]:
    parameters = [
        of.replace(kind=inspect.Parameter.KEYWORD_ONLY) for of in signature.parameters.values()
    ]
    vars(wrapper)["__signature__"] = signature.replace(parameters=parameters)
    wrapper.__annotations__ = {of.name: of.annotation for of in parameters}
    wrapper.__annotations__["return"] = signature.return_annotation
    return wrapper


def _as_they_are(arguments: dict[str, Any]) -> dict[str, Any]:
    return arguments


def _flattened(
    function: Callable[..., Awaitable[Any]],
) -> tuple[inspect.Signature, Callable[[dict[str, Any]], dict[str, Any]]]:
    """The signature with the fields of its one Pydantic model flat, and the way back to the model."""
    signature = _signature(function)
    models = {
        name: parameter.annotation
        for name, parameter in signature.parameters.items()
        if inspect.isclass(parameter.annotation) and issubclass(parameter.annotation, BaseModel)
    }
    if len(models) != 1:
        return signature, _as_they_are
    ((request, model),) = models.items()
    fields = [
        inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty
            if field.is_required()
            else field.get_default(call_default_factory=True),
            annotation=Annotated[
                field.rebuild_annotation(), Field(description=field.description, alias=field.alias)
            ],
        )
        for name, field in model.model_fields.items()
    ]
    others = [
        parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)
        for name, parameter in signature.parameters.items()
        if name != request
    ]

    def bound(arguments: dict[str, Any]) -> dict[str, Any]:
        rest = {of.name: arguments[of.name] for of in others if of.name in arguments}
        said = {name: value for name, value in arguments.items() if name not in rest}
        try:
            return rest | {request: model.model_validate(said, by_alias=False, by_name=True)}
        except ValidationError as error:
            place = error.errors()[0]
            where = ".".join(str(part) for part in place["loc"]) or "arguments"
            raise ToolError(f"{where}: {place['msg']}") from error

    return signature.replace(parameters=fields + others), bound


def _gated(
    function: Callable[..., Awaitable[Any]],
    declaration: Declaration,
    signature: inspect.Signature,
    bound: Callable[[dict[str, Any]], dict[str, Any]],
) -> Callable[..., Awaitable[Any]]:
    """The function behind the gate: one parameter more, and the envelope as its result."""
    parameters = dict(signature.parameters)
    own = parameters.pop("confirm", None)
    gate_parameter = inspect.Parameter(
        "confirm",
        inspect.Parameter.KEYWORD_ONLY,
        default=False,
        annotation=own.annotation if own else CONFIRM,
    )
    sent = inspect.signature(without_injected_parameters(function)).parameters
    injected = inspect.signature(function).parameters.keys() - sent.keys()
    wire_names = {n: _alias(of) or n for n, of in parameters.items() if n not in injected}
    name, preview = function.__name__, declaration.preview

    @functools.wraps(function)
    async def asked_first(*, confirm: bool = False, **arguments: Any) -> ToolResult:
        passed = bound(arguments | ({"confirm": True} if own else {}))
        return await gated(
            get_context(),
            name,
            declaration,
            {wire: arguments[n] for n, wire in wire_names.items() if n in arguments},
            confirm,
            functools.partial(function, **passed),
            functools.partial(preview, **passed) if preview else None,
        )

    answers = signature.return_annotation
    answer = Envelope.__class_getitem__(Any if answers is inspect.Signature.empty else answers)
    behind = [*parameters.values(), gate_parameter]
    return _wearing(asked_first, signature.replace(parameters=behind, return_annotation=answer))


def _alias(parameter: inspect.Parameter) -> str | None:
    for extra in getattr(parameter.annotation, "__metadata__", ()):
        alias = getattr(extra, "alias", None)
        if isinstance(alias, str):
            return alias
    return None


def resource(
    uri: str, *, name: str, description: str, mime_type: str = "application/json"
) -> Callable[[T], T]:
    """Declare a resource, or a resource template when the URI has `{variables}`; the function is unchanged."""

    def declare(function: T) -> T:
        vars(function)["__resource__"] = {
            "uri": uri,
            "name": name,
            "description": description,
            "mime_type": mime_type,
        }
        return function

    return declare


def add_resources(mcp: FastMCP, package: ModuleType) -> None:
    """Serve what every file of a package declares with `resource`.

    Raises:
        StartError: A file does not import, or declares no resource.
    """
    for module in modules(package):
        functions = [f for f in vars(module).values() if hasattr(f, "__resource__")]
        if not functions:
            raise StartError(
                f"{module.__file__}: declares no resource; decorate one with @resource(...)"
            )
        for function in functions:
            said = dict(function.__resource__)
            if "{" in said["uri"]:
                template = ResourceTemplate.from_function(
                    function, uri_template=said.pop("uri"), **said
                )
                mcp.add_template(template)
            else:
                mcp.add_resource(FunctionResource.from_function(function, **said))


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

"""Tools whose files are read at the start, and imported when one of them is first listed in full or called.

Building the schemas of a thousand tools takes ten seconds, and a server that lists a search in place of its tools
needs few of them. So a file that holds nothing unusual is parsed instead of imported. Checked at the start: its
syntax, its imports, its decorators with their arguments, and the names of its tools. Checked at the first use: its
types. The suite and `tests/policy/pin.py` list all tools, and therefore import every file.
"""

import ast
import functools
import importlib
import importlib.util
import inspect
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, cast

from fastmcp.exceptions import ToolError
from fastmcp.server.providers import Provider
from fastmcp.tools import Tool, ToolResult
from fastmcp.utilities.versions import VersionSpec
from mcp_types import Icon, ToolAnnotations
from mcp_types import Tool as WireTool
from pydantic import PrivateAttr

from .declarations import Declaration
from .errors import StartError
from .policy import Policy
from .tools import PolicyTool, describe_declared, scope_check

Load = Callable[[], PolicyTool]
# The parameter of this type is FastMCP's, and no client sends it
CONTEXT = "Context"


@dataclass(frozen=True)
class ToolSource:
    """A tool as its file declares it.

    Attributes:
        name: The tool's name.
        module: The module.
        declaration: The declaration that its decorator makes.
        docstring: The docstring of its function.
        parameters: The descriptions of its parameters by their names on the wire.
    """

    name: str
    module: str
    declaration: Declaration
    docstring: str | None
    parameters: dict[str, str] = field(default_factory=dict)


def parse_tools(path: Path, module: str) -> list[ToolSource] | None:
    """Return the tools that a file declares, without importing it.

    Args:
        path: The file.
        module: The name of its module.

    Returns:
        None for a file that has to be imported: it does not parse, an import fails, or more than its decorators
        decides what it declares.
    """
    try:
        nodes = ast.parse(path.read_bytes()).body
        return _read_nodes(nodes, module)
    except (OSError, SyntaxError, ValueError, TypeError, ImportError, AttributeError):
        return None


def _read_nodes(nodes: Iterable[ast.stmt], module: str) -> list[ToolSource] | None:
    """Return the tools of a module's statements; None where one of these is unusual.

    Raises:
        ImportError: A module cannot be imported.
        AttributeError: A module has no such name.
        TypeError: A decorator has wrong arguments.
        ValueError: An argument of a decorator is no plain value.
    """
    imported: dict[str, Any] = {}
    names: list[str] = []
    sources: list[ToolSource] = []
    for node in nodes:
        match node:
            case ast.Expr(value=ast.Constant()):
                continue
            case ast.ImportFrom():
                imported.update(_import_names(node, module))
            case ast.Import():
                for alias in node.names:
                    importlib.import_module(alias.name)
            case ast.ClassDef(name=name, decorator_list=[]):
                names.append(name)
            case ast.Assign(
                targets=[ast.Name(id=name)],
                value=ast.Call(func=ast.Name(id="TypedDict")),
            ):
                names.append(name)
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                names.append(node.name)
                if node.decorator_list:
                    sources.append(_read_function(node, imported, module))
            case _:
                return None
    is_repeated = len({*names, *imported}) < len(names) + len(imported)
    return None if is_repeated or not sources else sources


def _import_names(node: ast.ImportFrom, module: str) -> dict[str, Any]:
    """Return the objects that an import binds."""
    dots = "." * node.level
    package = module.rpartition(".")[0]
    source = _import_module(f"{dots}{node.module or ''}", package if dots else "")
    objects = {}
    for alias in node.names:
        objects[alias.asname or alias.name] = getattr(source, alias.name)
    return objects


@functools.cache
def _import_module(name: str, package: str) -> Any:
    return importlib.import_module(name, package or None)


def _read_function(
    node: ast.FunctionDef | ast.AsyncFunctionDef,
    imported: dict[str, Any],
    module: str,
) -> ToolSource:
    """Return the tool of a decorated function.

    Raises:
        TypeError: The decorator is not one of the policy alone, or has wrong arguments.
        ValueError: An argument is no plain value.
    """
    match node.decorator_list:
        case [ast.Call(func=ast.Name(id=decorator), args=[], keywords=keywords)]:
            behavior = imported.get(decorator)
        case _:
            behavior = None
    if not (isinstance(behavior, type) and issubclass(behavior, Declaration)):
        raise TypeError(f"{node.name} has other decorators than those of the policy")
    facts = {}
    for keyword in keywords:
        if keyword.arg is None:
            raise TypeError(f"the arguments of @{decorator} are computed")
        facts[keyword.arg] = ast.literal_eval(keyword.value)
    docstring = ast.get_docstring(node)
    declaration = behavior(**facts).named(node.name)
    return ToolSource(
        node.name, module, declaration, docstring, _read_parameters(node.args)
    )


def _read_parameters(arguments: ast.arguments) -> dict[str, str]:
    """Return the descriptions of a function's parameters by their names on the wire."""
    descriptions = {}
    for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
        annotation = argument.annotation
        if isinstance(annotation, ast.Name) and annotation.id == CONTEXT:
            continue
        texts = _field_texts(annotation)
        descriptions[texts.get("alias", argument.arg)] = texts.get("description", "")
    return descriptions


def _field_texts(annotation: ast.expr | None) -> dict[str, str]:
    """Return the plain texts of `Annotated[..., Field(description="...")]`."""
    texts: dict[str, str] = {}
    match annotation:
        case ast.Subscript(slice=ast.Tuple(elts=[_, ast.Call(keywords=keywords), *_])):
            for keyword in keywords:
                match keyword:
                    case ast.keyword(
                        arg=str(name), value=ast.Constant(value=str(text))
                    ):
                        texts[name] = text
    return texts


class DeferredTool(PolicyTool):
    """A tool that is known by its file, and becomes the whole one when it is called or listed in full."""

    is_deferred: ClassVar[bool] = True
    _load: Load = PrivateAttr()
    _whole: PolicyTool | None = PrivateAttr(default=None)

    def load(self) -> PolicyTool:
        """Return the whole tool, bound to the same server.

        Raises:
            ToolError: Its file cannot be served; the text names it.
        """
        if self._whole is None:
            try:
                whole = self._load().model_copy()
            except StartError as error:
                self.policy.logger("tools").error("%s", error)
                raise ToolError(str(error)) from error
            whole._guard = self._guard
            self._whole = whole
        return self._whole

    async def run(self, arguments: dict[str, Any]) -> ToolResult:
        """Run the whole tool."""
        return await self.load().run(arguments)

    def to_mcp_tool(self, **overrides: Any) -> WireTool:
        """Return the whole tool on the wire, with the texts of this one."""
        texts = {
            "name": self.name,
            "title": self.title,
            "description": self.description,
            "annotations": self.annotations,
        }
        return self.load().to_mcp_tool(**{**texts, **overrides})


class DeferredTools(Provider):
    """The deferred tools of a server.

    FastMCP's own store compares each tool that is added with all others, which takes a second for a thousand.
    """

    def __init__(self, tools: Iterable[PolicyTool]) -> None:
        """Hold tools, whose names are unique.

        Args:
            tools: The tools.
        """
        super().__init__()
        self.tools = {tool.name: tool for tool in tools}

    # FastMCP asks a provider through these two methods, as its base class says.

    async def _list_tools(self) -> Sequence[Tool]:
        return [*self.tools.values()]

    async def _get_tool(
        self, name: str, version: VersionSpec | None = None
    ) -> Tool | None:
        tool = self.tools.get(name)
        if tool is None or (version and not version.matches(tool.version)):
            return None
        return tool

    def require_distinct(self, other_tools: Iterable[Tool]) -> None:
        """Check that no tool that was added elsewhere has the name of one of these.

        Raises:
            StartError: One has; it would be served in place of the deferred one.
        """
        for tool in other_tools:
            if tool.name in self.tools:
                problem = f"extend.py: the tool {tool.name} is already in tools/"
                raise StartError(f"{problem}; rename one of them")


def defer_tool(policy: Policy, source: ToolSource, load: Load) -> DeferredTool:
    """Return what is served of a tool before its file is imported.

    Args:
        policy: The policy of the server that serves it.
        source: The tool in its file.
        load: Imports the file, and returns the whole tool.
    """
    declaration = source.declaration

    async def stand_in() -> None:
        """Never called: the whole tool runs."""

    stand_in.__module__ = source.module  # its toolset
    properties = {}
    for name, description in source.parameters.items():
        properties[name] = {"description": description}
    hints = {"title": declaration.title, **policy.hints(declaration)}
    annotations = ToolAnnotations.model_validate(hints)
    docstring = inspect.cleandoc(source.docstring or "") or None
    tool = DeferredTool(
        fn=stand_in,
        name=source.name,
        title=declaration.title,
        parameters={"type": "object", "properties": properties},
        annotations=annotations,
        icons=[Icon(src=declaration.icon)] if declaration.icon else None,
        auth=scope_check(policy, declaration.scopes),
        declaration=declaration,
        policy=policy,
        **describe_declared(policy, declaration, docstring),
    )
    tool._hints = cast("ToolAnnotations", tool.annotations)
    tool._load = load
    return tool

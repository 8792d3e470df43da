"""From files to tools and resources: each loads and is served, or stops the start."""

import functools
import importlib
import importlib.util
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from traceback import extract_tb
from types import ModuleType
from typing import Any, TypeVar

from fastmcp import FastMCP
from fastmcp.decorators import get_fastmcp_meta
from fastmcp.prompts import prompt as fastmcp_prompt
from fastmcp.resources import resource as fastmcp_resource
from fastmcp.server.auth import require_scopes

from .declarations import DECLARED, Declaration, declaration_of
from .errors import StartError
from .policy import Policy
from .tools import SCOPES, PolicyTool, build_tool

T = TypeVar("T", bound=Callable[..., Any])
# As Python names it when its options are wrong
DECORATOR = re.compile(r"\w+\.__init__\(\)")


def module_files(package: str) -> Iterator[tuple[str, Path]]:
    """Yield the module and the path of every file below a package, if it is there, but helpers (_*.py)."""
    if not importlib.util.find_spec(package):
        return
    root = Path(next(iter(importlib.import_module(package).__path__)))
    for path in sorted(root.rglob("*.py")):
        parts = path.relative_to(root).with_suffix("").parts
        if not any(part.startswith("_") for part in parts):
            yield ".".join((package, *parts)), path


def import_file(module: str, path: Path) -> ModuleType:
    """Import a file.

    Args:
        module: The name of its module.
        path: The file.

    Raises:
        StartError: It cannot be imported; the text names the file and the line.
    """
    try:
        return importlib.import_module(module)
    except Exception as error:
        place = _find_place(error, path)
        message = " ".join(str(error).split())
        reason = DECORATOR.sub('a decorator, as @read(title="Get"),', message)
        if isinstance(error, ModuleNotFoundError) and error.name:
            package = error.name.partition(".")[0]
            if package != module.partition(".")[0]:
                reason += f"; add the package that has it, as in `uv add {package}`"
        raise StartError(f"{place}: {type(error).__name__}: {reason}") from error


def _find_place(error: Exception, path: str | Path) -> str:
    """Return a file, with the line of it where an error came from; the file alone where none did."""
    trace = extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in trace if frame.filename == str(path)]
    return f"{path}:{lines[-1]}" if lines else str(path)


def modules(package: str) -> Iterator[ModuleType]:
    """Import every file below a package; StartError names one that fails."""
    for module, path in module_files(package):
        yield import_file(module, path)


@functools.cache
def load_tools(
    policy: Policy, package: str, *loaded_modules: ModuleType
) -> list[PolicyTool]:
    """Load the tools of every file in a package, if it is there, and of more modules; servers of a process share them.

    Raises:
        StartError: A file does not import, declares no tool, or hides or repeats one.
    """
    loaded = []
    for module in loaded_modules:
        loaded += build_tools(policy, module)
    for name, path in module_files(package):
        loaded += build_tools(policy, import_file(name, path))
    _require_unique(loaded)
    return [tool for _, tool in loaded]


@functools.cache
def defer_tools(
    policy: Policy,
    package: str,
    named: Collection[str],
    *loaded_modules: ModuleType,
) -> list[PolicyTool]:
    """Read the files of a package, and import only those that hold more than plain declarations.

    Args:
        policy: The policy.
        package: The package.
        named: Tools that are needed whole, as those with other texts.
        loaded_modules: Modules that are imported already.

    Raises:
        StartError: As for `load_tools`; but a file whose types are wrong fails when its tool is first called.
    """
    from .deferred_tools import defer_tool, parse_tools

    tools = []
    for module in loaded_modules:
        tools += build_tools(policy, module)
    for name, path in module_files(package):
        sources = parse_tools(path, name) or []
        if not sources or any(
            _is_named(source.declaration, named) for source in sources
        ):
            tools += build_tools(policy, import_file(name, path))
            continue
        for source in sources:
            load = functools.partial(_load_tool, policy, name, path, source.name)
            tools.append((str(path), defer_tool(policy, source, load)))
    _require_unique(tools)
    return [tool for _, tool in tools]


def _is_named(declaration: Declaration, names: Collection[str]) -> bool:
    return any(name in names for name in (declaration.name, *declaration.formerly))


def _load_tool(policy: Policy, module: str, path: Path, name: str) -> PolicyTool:
    """Import a file, and return one of its tools."""
    tools = dict(_build_once(policy, module, path))
    if name not in tools:
        raise StartError(f"{path}: the tool {name} is no longer there")
    return tools[name]


@functools.cache
def _build_once(
    policy: Policy, module: str, path: Path
) -> list[tuple[str, PolicyTool]]:
    built = build_tools(policy, import_file(module, path))
    return [(tool.name, tool) for _, tool in built]


def build_tools(policy: Policy, module: ModuleType) -> list[tuple[str, PolicyTool]]:
    """Build the tools of a module, each with the path of its file.

    Raises:
        StartError: It declares no tool, hides one, or has one that cannot be served.
    """
    path = str(module.__file__)
    declared = DECLARED.get(module.__name__, [])
    if not declared:
        problem = "declares no tool; decorate one, or begin the file name with _"
        raise StartError(f"{path}: {problem}")
    # Each declaration with the outermost function that carries it
    carriers = {id(declaration_of(value)): value for value in vars(module).values()}
    built = []
    for name, declaration in declared:
        function = carriers.get(id(declaration))
        if function is None:
            problem = "a decorator above it lacks functools.wraps, or its name has another value"
            raise StartError(f"{path}: the tool {name} is hidden: {problem}")
        try:
            built.append((path, build_tool(policy, function, declaration)))
        except Exception as error:
            reason = " ".join(str(error).split())
            place = _find_place(error, path)
            raise StartError(f"{place}: {type(error).__name__}: {reason}") from error
    return built


def _require_unique(tools: Sequence[tuple[str, PolicyTool]]) -> None:
    """Raise StartError where two files have a tool of one name."""
    paths: dict[str, str] = {}
    for path, tool in tools:
        if tool.name in paths:
            raise StartError(
                f"{path}: the tool {tool.name} is already in {paths[tool.name]}"
            )
        paths[tool.name] = path


def resource(
    uri: str,
    *,
    name: str,
    description: str,
    mime_type: str = "application/json",
    scopes: Sequence[str] = (),
) -> Callable[[T], T]:
    """Declare a resource, or a resource template when the URI has `{variables}`; the function is unchanged.

    `scopes` are those that the token of a caller over HTTP needs, all of them. TypeError: they are a text.
    """
    if isinstance(scopes, str):
        raise TypeError('scopes is a list, as in scopes=["notes:read"]')
    auth = require_scopes(*scopes) if scopes else None
    fields: dict[str, Any] = {
        "name": name,
        "description": description,
        "mime_type": mime_type,
    }

    def decorate(function: T) -> T:
        vars(function).update({SCOPES: scopes} if scopes else {})
        return fastmcp_resource(uri, auth=auth, **fields)(function)

    return decorate


def prompt(
    *,
    description: str,
    title: str | None = None,
    name: str | None = None,
) -> Callable[[T], T]:
    """Declare a prompt, which its user picks; the function, whose name it has by default, is unchanged."""

    def decorate(function: T) -> T:
        decorator = fastmcp_prompt(name=name, title=title, description=description)
        decorated: T = decorator(function)
        return decorated

    return decorate


def add_prompts(mcp: FastMCP, package: str) -> None:
    """Serve what the files of a package, if it is there, declare with `prompt`; else StartError."""
    for module in modules(package):
        functions = [
            value for value in vars(module).values() if get_fastmcp_meta(value)
        ]
        if not functions:
            reason = "declares no prompt; decorate one with @prompt(...)"
            raise StartError(f"{module.__file__}: {reason}")
        for function in functions:
            mcp.add_prompt(function)


def add_resources(mcp: FastMCP, package: str) -> None:
    """Serve what the files of a package, if it is there, declare with `resource`; else StartError."""
    for module in modules(package):
        if not (functions := [f for f in vars(module).values() if get_fastmcp_meta(f)]):
            problem = "declares no resource; decorate one with @resource(...)"
            raise StartError(f"{module.__file__}: {problem}")
        for function in functions:
            mcp.add_resource(function)

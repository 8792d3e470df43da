"""From files to tools and resources: each loads and is served, or stops the start."""

import functools
import importlib
import importlib.util
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from traceback import extract_tb
from types import ModuleType
from typing import Any, TypeVar

from fastmcp import FastMCP
from fastmcp.decorators import get_fastmcp_meta
from fastmcp.prompts import prompt as fastmcp_prompt
from fastmcp.resources import resource as fastmcp_resource
from fastmcp.server.auth import require_scopes

from .declarations import DECLARED, declaration_of
from .errors import StartError
from .policy import Policy
from .tools import SCOPES, PolicyTool, build_tool

T = TypeVar("T", bound=Callable[..., Any])
DECORATOR = re.compile(
    r"\w+\.__init__\(\)"
)  # as Python names it when its options are wrong


def modules(package: str) -> Iterator[ModuleType]:
    """Import every file below a package, if it is there, but helpers (_*.py); StartError names one that fails."""
    if not importlib.util.find_spec(package):
        return
    root = Path(next(iter(importlib.import_module(package).__path__)))
    for path in sorted(root.rglob("*.py")):
        parts = path.relative_to(root).with_suffix("").parts
        if any(part.startswith("_") for part in parts):
            continue
        try:
            yield importlib.import_module(".".join((package, *parts)))
        except Exception as error:
            trace = extract_tb(error.__traceback__)
            lines = [frame.lineno for frame in trace if frame.filename == str(path)]
            place = f"{path}:{lines[-1]}" if lines else path
            said = " ".join(str(error).split())
            reason = DECORATOR.sub('a decorator, as @read(title="Get"),', said)
            raise StartError(f"{place}: {type(error).__name__}: {reason}") from error


@functools.cache
def load_tools(policy: Policy, package: str, *more: ModuleType) -> list[PolicyTool]:
    """The tools of every file in a package, if it is there, and of more modules; servers of a process share them.

    Raises StartError for a file that does not import, declares no tool, or hides or repeats one.
    """
    tools: dict[str, tuple[str, PolicyTool]] = {}
    for module in (*more, *modules(package)):
        path = str(module.__file__)
        if not (written := DECLARED.get(module.__name__, [])):
            why = "declares no tool; decorate one, or begin the file name with _"
            raise StartError(f"{path}: {why}")
        # Each declaration with the outermost function that carries it
        carriers = {id(declaration_of(value)): value for value in vars(module).values()}
        for name, declaration in written:
            if (function := carriers.get(id(declaration))) is None:
                why = "a decorator above it lacks functools.wraps, or its name has another value"
                raise StartError(f"{path}: the tool {name} is hidden: {why}")
            if name in tools:
                raise StartError(
                    f"{path}: the tool {name} is already in {tools[name][0]}"
                )
            try:
                tools[name] = path, build_tool(policy, function, declaration)
            except Exception as error:
                reason = " ".join(str(error).split())
                raise StartError(f"{path}: {type(error).__name__}: {reason}") from error
    return [tool for _, tool in tools.values()]


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
    said: dict[str, Any] = {
        "name": name,
        "description": description,
        "mime_type": mime_type,
    }

    def decorate(function: T) -> T:
        vars(function).update({SCOPES: scopes} if scopes else {})
        return fastmcp_resource(uri, auth=auth, **said)(function)

    return decorate


def prompt(
    *, description: str, title: str | None = None, name: str | None = None
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
        functions = [value for value in vars(module).values() if get_fastmcp_meta(value)]
        if not functions:
            reason = "declares no prompt; decorate one with @prompt(...)"
            raise StartError(f"{module.__file__}: {reason}")
        for function in functions:
            mcp.add_prompt(function)


def add_resources(mcp: FastMCP, package: str) -> None:
    """Serve what the files of a package, if it is there, declare with `resource`; else StartError."""
    for module in modules(package):
        if not (functions := [f for f in vars(module).values() if get_fastmcp_meta(f)]):
            why = "declares no resource; decorate one with @resource(...)"
            raise StartError(f"{module.__file__}: {why}")
        for function in functions:
            mcp.add_resource(function)

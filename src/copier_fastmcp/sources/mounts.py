"""Servers that are mounted in others, and what that puts in front of the names of their tools."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from .modules import Module, Project, list_keyword_values


@dataclass(frozen=True)
class Mount:
    """Where a server is mounted.

    Attributes:
        prefix: What the mount puts in front of the names of tools.
        parent: The server that it is mounted in.
    """

    prefix: str
    parent: str


def name_server(project: Project, module: Module, expression: ast.expr) -> str:
    """A name for the server that an expression holds: the same for the same one in every file."""
    if isinstance(expression, ast.Name) and expression.id in module.top:
        return f"{module.name}.{expression.id}"
    name = project.dotted(module, expression)
    return name if "." in name else ""


def find_mounts(project: Project) -> tuple[set[str], dict[str, str]]:
    """The servers that are mounted, and the prefix of each that has one: that of what it is mounted in comes first."""
    mounted: set[str] = set()
    mounts: dict[str, Mount] = {}
    for module in project.modules.values():
        for call, receiver in _list_mount_calls(module):
            children = call.args + list_keyword_values(call, "server")
            parent = name_server(project, module, receiver)
            mount = Mount(_find_prefix(call, children), parent)
            for child in children:
                server = name_server(project, module, child)
                mounted.add(server)
                if server:
                    mounts[server] = mount
    prefixes: dict[str, str] = {}
    for server in mounts:
        prefixes[server] = _resolve_prefix(server, mounts)
    return mounted, prefixes


def _list_mount_calls(module: Module) -> Iterator[tuple[ast.Call, ast.expr]]:
    """The calls that mount a server, each with the server that it mounts in."""
    for node in module.nodes:
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        if node.func.attr in ("mount", "import_server"):
            yield node, node.func.value


def _find_prefix(call: ast.Call, children: list[ast.expr]) -> str:
    prefix = ""
    for value in children + list_keyword_values(call, "namespace", "prefix"):
        if isinstance(value, ast.Constant) and isinstance(value.value, str):
            prefix = f"{value.value}_"
    return prefix


def _resolve_prefix(server: str, mounts: dict[str, Mount], depth: int = 8) -> str:
    mount = mounts.get(server)
    if mount is None:
        return ""
    if not depth:
        return mount.prefix
    return _resolve_prefix(mount.parent, mounts, depth - 1) + mount.prefix

"""Servers that are mounted in others, and what that puts in front of the names of their tools."""

import ast
from collections.abc import Iterator

from .modules import Module, Project, list_keyword_values


def name_server(project: Project, module: Module, held: ast.expr) -> str:
    """A name for the server that an expression holds: the same for the same one in every file."""
    if isinstance(held, ast.Name) and held.id in module.top:
        return f"{module.name}.{held.id}"
    named = project.dotted(module, held)
    return named if "." in named else ""


def find_mounts(project: Project) -> tuple[set[str], dict[str, str]]:
    """The servers that are mounted, and the prefix of each that has one: that of what it is mounted in comes first."""
    mounted: set[str] = set()
    mounts: dict[str, tuple[str, str]] = {}
    for module in project.modules.values():
        for call in _list_mount_calls(module):
            children = [*call.args, *list_keyword_values(call, "server")]
            prefix = ""
            for value in (*children, *list_keyword_values(call, "namespace", "prefix")):
                if isinstance(value, ast.Constant) and isinstance(value.value, str):
                    prefix = f"{value.value}_"
            held = (
                call.func.value if isinstance(call.func, ast.Attribute) else call.func
            )
            parent = name_server(project, module, held)
            for child in children:
                server = name_server(project, module, child)
                mounted.add(server)
                if server:
                    mounts[server] = (prefix, parent)
    return mounted, {server: _resolve_prefix(server, mounts) for server in mounts}


def _list_mount_calls(module: Module) -> Iterator[ast.Call]:
    for node in module.nodes:
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        if node.func.attr in ("mount", "import_server"):
            yield node


def _resolve_prefix(
    server: str, mounts: dict[str, tuple[str, str]], depth: int = 8
) -> str:
    prefix, parent = mounts.get(server, ("", ""))
    return (_resolve_prefix(parent, mounts, depth - 1) if depth else "") + prefix

"""A function that registers the tools of a server whose own file does not register them."""

import ast
from textwrap import indent

from ..sources.modules import Function, Module
from ..sources.registrations import SourceTool
from .layout import Server
from .survey import Survey

SERVER = '''

def server() -> object:
    """Your server with its tools, as its command makes it; the suite proves this one."""
{lines}
'''


def write_server_factory(survey: Survey, servers: list[Server]) -> str:
    """A function for tests/tools/backend.py that registers all tools.

    Returns:
        Its source; empty where none is needed, or only its author can write it.
    """
    if len(servers) != 1:
        return ""
    module, _, held = servers[0].entry_point.partition(":")
    if not held or held != servers[0].held or "." in held:
        return ""
    reachable = _list_reachable_modules(survey, servers[0].module)
    imports: set[str] = set()
    calls: list[str] = []
    names = {module: {held}}
    for proposal in survey.proposals:
        tool = proposal.tool
        function = _find_enclosing_function(tool)
        if function is None:
            imports.add(tool.module.name)
            continue
        registration = _format_registration(survey, tool.module, function, held)
        if registration is None:
            return ""
        if registration and registration not in calls:
            calls.append(registration)
            names.setdefault(tool.module.name, set()).add(function.name)
    imports -= reachable
    if not imports and not calls:
        return ""
    lines: list[str] = []
    for name in sorted(imports):
        lines.append(f"import {name}  # registers its tools")
    for name, members in names.items():
        lines.append(f"from {name} import {', '.join(sorted(members))}")
    lines += ["", *calls, f"return {held}"]
    return SERVER.format(lines=indent("\n".join(lines), "    "))


def _find_enclosing_function(tool: SourceTool) -> Function | None:
    """The outermost function in which a tool is registered."""
    outermost: Function | None = None
    for function in tool.module.list_enclosing_functions(tool.site):
        if function is not tool.function:
            outermost = function
    return outermost


def _format_registration(
    survey: Survey, module: Module, function: Function, held: str
) -> str | None:
    """The call of a function that registers tools.

    Returns:
        The call; empty where a file calls it when it is imported, None where only its author can write it.
    """
    if _is_called_on_import(survey, function):
        return ""
    arguments = function.args
    needed = len(arguments.args) - len(arguments.defaults)
    needed += arguments.kw_defaults.count(None)
    is_top_level = module.top.get(function.name) is function
    is_async = isinstance(function, ast.AsyncFunctionDef)
    if not is_top_level or needed > 1 or is_async:
        return None
    return f"{function.name}({held if needed else ''})"


def _is_called_on_import(survey: Survey, function: Function) -> bool:
    """Whether a file calls a function when it is imported."""
    for module in survey.project.modules.values():
        for node in module.nodes:
            if not isinstance(node, ast.Call):
                continue
            target = survey.project.resolve(module, node.func)
            if target is None or target.node is not function:
                continue
            if not module.list_enclosing_functions(node):
                return True
    return False


def _list_reachable_modules(survey: Survey, module: Module) -> set[str]:
    """The modules of the project that importing one imports."""
    reachable: set[str] = set()
    waiting = [module]
    while waiting:
        current = waiting.pop()
        if current.name in reachable:
            continue
        reachable.add(current.name)
        names = [current.name.rpartition(".")[0]]  # its package comes first
        for node in current.tree.body:
            if isinstance(node, ast.Import | ast.ImportFrom):
                names += _list_imported_names(current, node)
        for name in filter(None, names):
            imported_module = survey.project.module(name)
            if imported_module is not None:
                waiting.append(imported_module)
    return reachable


def _list_imported_names(
    module: Module, statement: ast.Import | ast.ImportFrom
) -> list[str]:
    """The dotted names of everything that may be a module in an import."""
    names: list[str] = []
    for alias in statement.names:
        local = alias.asname or alias.name.split(".")[0]
        target = module.imports.get(local, "")
        names += [target, target.rpartition(".")[0]]
        if isinstance(statement, ast.Import):
            names.append(alias.name)
    return names

"""How the tools of a server come to it where the file that makes it does not register them."""

import ast

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
    """A function for tests/tools/backend.py that registers all tools; empty: it needs none, or only a person can tell."""
    module, _, held = (
        servers[0].entry_point.partition(":") if len(servers) == 1 else ("", "", "")
    )
    if not held or held != servers[0].held or "." in held:
        return ""
    near = _list_reachable_modules(survey, servers[0].module)
    imports: set[str] = set()
    calls: list[str] = []
    names = {module: {held}}
    for proposal in survey.proposals:
        tool = proposal.tool
        around = _find_enclosing_function(tool)
        if around is None:
            imports |= {tool.module.name} - near
            continue
        if (
            registration := _format_registration(survey, tool.module, around, held)
        ) is None:
            return ""
        if registration and registration not in calls:
            calls.append(registration)
            names.setdefault(tool.module.name, set()).add(around.name)
    if not imports and not calls:
        return ""
    lines = [f"import {name}  # registers its tools" for name in sorted(imports)]
    for name, members in names.items():
        lines.append(f"from {name} import {', '.join(sorted(members))}")
    spread = [*lines, "", *calls, f"return {held}"]
    return SERVER.format(lines="\n".join(f"    {line}".rstrip() for line in spread))


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
    """The call that registers; empty where a file does so when it is imported, None where only a person can tell."""
    arguments = function.args
    needed = len(arguments.args) - len(arguments.defaults)
    needed += arguments.kw_defaults.count(None)
    for calling_module in survey.project.modules.values():
        for node in calling_module.nodes:
            place = (
                survey.project.resolve(calling_module, node.func)
                if isinstance(node, ast.Call)
                else None
            )
            is_called = place is not None and place.node is function
            if is_called and not calling_module.list_enclosing_functions(node):
                return ""
    top = module.top.get(function.name) is function
    if not top or needed > 1 or isinstance(function, ast.AsyncFunctionDef):
        return None
    return f"{function.name}({held if needed else ''})"


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

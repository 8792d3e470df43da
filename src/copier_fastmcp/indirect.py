"""What a call amounts to where the function that it runs is not the one that it names."""

import ast
from collections.abc import Iterator

from .methods import calls
from .scopes import Scope, root
from .sources import FUNCTIONS, Module, Project

# They run what they are given: to_thread(os.remove, path).
RUNNERS = {"to_thread", "run_in_executor", "run_sync", "run_in_threadpool", "partial", "map"}
RUNNERS |= {"submit", "Thread", "start_soon", "call_soon", "apply", "apply_async", "Process"}


def reached(project: Project, module: Module, call: ast.Call, scope: Scope) -> Iterator[ast.Call]:
    """The calls that a call comes to: itself, and those of functions that it holds or hands on."""
    function = call.func
    if isinstance(function, ast.Name) and function.id not in scope.globals:
        held = scope.assigned.get(function.id)  # remove = os.remove
        function = held if isinstance(held, ast.Name | ast.Attribute) else function
    if isinstance(function, ast.Call) and (named := _getattr(module, function)):
        function = named
    if isinstance(function, ast.Subscript):
        place = project.resolve(module, function.value)
        local = scope.assigned.get(root(function.value))
        table = place.node if place else local
        if isinstance(table, ast.Dict):
            for value in table.values:
                yield _call(module, call, value)
            return
    yield call if function is call.func else _call(module, call, function)
    runs = isinstance(call.func, ast.Attribute) and call.func.attr in RUNNERS
    runs = runs or (isinstance(call.func, ast.Name) and call.func.id in RUNNERS)
    for given in (*call.args, *(word.value for word in call.keywords)):
        if isinstance(given, ast.Name | ast.Attribute):
            place = project.resolve(module, given)
            own = place is not None and isinstance(place.node, FUNCTIONS)
            known = project.dotted(module, given) in calls("functions")
            if own or known or (runs and isinstance(given, ast.Attribute)):
                yield _call(module, call, given)


def _getattr(module: Module, call: ast.Call) -> ast.Attribute | None:
    """The attribute that getattr(held, "name") is."""
    if not (isinstance(call.func, ast.Name) and call.func.id == "getattr" and len(call.args) > 1):
        return None
    held, name = call.args[:2]
    if not (isinstance(name, ast.Constant) and isinstance(name.value, str)):
        return None
    made = ast.copy_location(ast.Attribute(held, name.value, ast.Load()), call)
    module.parents[made] = call
    return made


def _call(module: Module, call: ast.Call, function: ast.expr) -> ast.Call:
    """The same arguments for another function."""
    given = [one for one in call.args if one is not function]
    made = ast.copy_location(ast.Call(function, given, call.keywords), call)
    module.parents[made] = module.parents.get(call, call)
    return made

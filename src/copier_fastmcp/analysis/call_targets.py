"""What a call amounts to where the function that it runs is not the one that it names."""

import ast
from collections.abc import Iterator

from ..sources.modules import (
    FUNCTIONS,
    Module,
    Project,
    list_calls,
    list_parameter_names,
    list_passed_values,
)
from .scopes import Scope, root_name
from .vocabulary import load_calls

# They run what they are given: to_thread(os.remove, path).
RUNNERS = {
    "to_thread",
    "run_in_executor",
    "run_sync",
    "run_in_threadpool",
    "partial",
    "map",
}
RUNNERS |= {
    "submit",
    "Thread",
    "start_soon",
    "call_soon",
    "apply",
    "apply_async",
    "Process",
    "Timer",
}
# They run what they are given when the process ends or is told to end, and not in this call.
LATER = {"atexit.register", "signal.signal", "weakref.finalize"}
FUNCTION_EXPRESSIONS = (
    ast.Name,
    ast.Attribute,
    ast.Subscript,
    ast.IfExp,
    ast.Lambda,
)
FUNCTION_MAKERS = {"getattr", "get", "partial"}
TABLES = (ast.Dict, ast.List, ast.Tuple)
KNOWN = {"list", "dict", "tuple", "set", "type", "frozenset"}  # list[int]() makes one


def resolve_call(
    project: Project, module: Module, call: ast.Call, scope: Scope
) -> Iterator[ast.Call]:
    """The calls that a call comes to: itself, and those of functions that it holds or hands on."""
    for function in _resolve_function(project, module, call.func, scope):
        if isinstance(function, ast.Lambda):
            yield from list_calls(function.body)
        else:
            is_same = function is call.func
            yield call if is_same else _replace_function(module, call, function)
    if project.dotted(module, call.func) in LATER:
        return
    handler = project.resolve(module, call.func)
    runs_any = handler is not None and _calls_parameter(handler.node)
    target = find_run_target(call)
    for argument in list_passed_values(call):
        if isinstance(argument, ast.Name | ast.Attribute):
            place = project.resolve(module, argument)
            is_own_function = place is not None and isinstance(place.node, FUNCTIONS)
            is_known_call = project.dotted(module, argument) in load_calls("functions")
            is_imported = (
                isinstance(argument, ast.Name) and argument.id in module.imports
            )
            may_be_function = isinstance(argument, ast.Attribute) or is_imported
            runs = runs_any or argument is target
            if is_own_function or is_known_call or (runs and may_be_function):
                yield _replace_function(module, call, argument)


def find_run_target(call: ast.Call) -> ast.expr | None:
    """The argument that a call of a thread, an executor or a partial runs; the others are its data."""
    name = _name_call(call)
    if name not in RUNNERS:
        return None
    for keyword in call.keywords:
        if keyword.arg in ("target", "func", "fn", "function"):
            return keyword.value
    position = 1 if name in ("run_in_executor", "Timer") else 0
    return call.args[position] if len(call.args) > position else None


def describe_dynamic_call(
    project: Project, module: Module, call: ast.Call, scope: Scope
) -> str:
    """What a call takes its function from that is only known when it runs; empty: its source shows it."""
    for function in _resolve_function(project, module, call.func, scope):
        if isinstance(function, ast.Call) and _name_call(function) == "getattr":
            return ast.unparse(function)
        if isinstance(function, ast.Subscript):
            origin = root_name(function.value)
            if not (origin[:1].isupper() or origin in KNOWN):
                return f"what is in {ast.unparse(function.value)}"
    return ""


def _resolve_function(
    project: Project, module: Module, function: ast.AST, scope: Scope, depth: int = 4
) -> Iterator[ast.expr]:
    """The functions that an expression may be: also by another name, out of a table, by its name as a text."""
    if not isinstance(function, ast.expr) or not depth:
        return
    parts: list[ast.expr] = []
    if isinstance(function, ast.IfExp):
        parts = [function.body, function.orelse]
    elif isinstance(function, ast.BoolOp):
        parts = function.values
    elif isinstance(function, ast.NamedExpr | ast.Await):
        parts = [function.value]
    elif isinstance(function, ast.Name):
        parts = _find_named_function(project, module, function, scope)
    elif isinstance(function, ast.Subscript):
        parts = _find_table(project, module, function.value, scope)
    elif isinstance(function, ast.Call):
        parts = _find_returned_function(project, module, function, scope)
    if not parts:
        yield function
    for part in parts:
        yield from _resolve_function(project, module, part, scope, depth - 1)


def _find_named_function(
    project: Project, module: Module, name: ast.Name, scope: Scope
) -> list[ast.expr]:
    """What a local name, or a name of the same file, was given: remove = os.remove."""
    if name.id in scope.globals:
        return []
    value: ast.AST | None = scope.assigned.get(name.id)
    if value is None and name.id not in scope.parameters:
        place = project.resolve(module, name)
        if place and place.module is module:
            value = place.node
    if isinstance(value, FUNCTION_EXPRESSIONS) and value is not name:
        return [value]
    if isinstance(value, ast.Call) and _name_call(value) in FUNCTION_MAKERS:
        return [value]
    return []


def _find_returned_function(
    project: Project, module: Module, call: ast.Call, scope: Scope
) -> list[ast.expr]:
    """What getattr, partial and the `get` of a table return."""
    if attribute := _find_getattr(module, call):
        return [attribute]
    name = _name_call(call)
    if name == "partial":
        return call.args[:1]
    if name == "get" and isinstance(call.func, ast.Attribute):
        return _find_table(project, module, call.func.value, scope)
    return []


def _find_table(
    project: Project, module: Module, held: ast.expr, scope: Scope
) -> list[ast.expr]:
    """What a table of functions holds."""
    place = project.resolve(module, held)
    table = held if isinstance(held, TABLES) else place.node if place else None
    if table is None and isinstance(held, ast.Name):
        table = scope.assigned.get(held.id)
    if isinstance(table, ast.Subscript):  # a table of tables
        inner = _find_table(project, module, table.value, scope)
        values: list[ast.expr] = []
        for row in inner:
            if isinstance(row, ast.Dict):
                values += row.values
        return values
    if isinstance(table, ast.Dict):
        return [value for value in table.values if not isinstance(value, ast.Constant)]
    return [*table.elts] if isinstance(table, ast.List | ast.Tuple) else []


def _name_call(call: ast.Call) -> str:
    """The last part of what a call names."""
    return (
        call.func.attr
        if isinstance(call.func, ast.Attribute)
        else ast.unparse(call.func)
    )


def _calls_parameter(node: ast.AST) -> bool:
    """Whether a function calls what it is given."""
    if not isinstance(node, FUNCTIONS):
        return False
    names = list_parameter_names(node)
    for call in list_calls(node):
        if isinstance(call.func, ast.Name) and call.func.id in names:
            return True
    return False


def _find_getattr(module: Module, call: ast.Call) -> ast.Attribute | None:
    """The attribute that getattr(held, "name") is."""
    if _name_call(call) != "getattr" or len(call.args) < 2:
        return None
    held, name = call.args[:2]
    if not (isinstance(name, ast.Constant) and isinstance(name.value, str)):
        return None
    attribute = ast.copy_location(ast.Attribute(held, name.value, ast.Load()), call)
    module.parents[attribute] = call
    return attribute


def _replace_function(module: Module, call: ast.Call, function: ast.expr) -> ast.Call:
    """The same arguments for another function."""
    arguments = [argument for argument in call.args if argument is not function]
    replacement = ast.copy_location(ast.Call(function, arguments, call.keywords), call)
    module.parents[replacement] = module.parents.get(call, call)
    return replacement

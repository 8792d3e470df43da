"""What a helper does to its own store whoever calls it: fill what is missing, load an index, drop what is over."""

import ast
import re

from ..auditing.verbs import split_name
from ..sources.modules import FUNCTIONS, Module, list_names, list_passed_values
from .scopes import Scope
from .vocabulary import load_vocabulary

# Kinds of effects that take nothing away.
FILLS = {"create", "ensure", "append", "put", "save"}
CHECKS = {"exists", "is_file", "is_dir", "isfile", "isdir"}
# What a helper is named that fills a container from files or answers.
LOADERS = {
    "build",
    "index",
    "load",
    "parse",
    "populate",
    "rebuild",
    "reindex",
    "reload",
}
DROPPERS = {"evict", "expire", "gc", "prune", "reap", "sweep"}
# What a helper names that it drops.
OVER = {"dead", "exited", "expired", "finished", "orphaned", "stale"}
DROPS = {"pop", "remove", "discard", "popitem", "popleft", "clear"}
CONSTANT_NAME = re.compile(r"_?[A-Z][A-Z0-9_]*")


def fills_missing_file(module: Module, call: ast.Call, scope: Scope) -> bool:
    """Whether a call runs only where a file is missing, and passes nothing of the caller's.

    Args:
        module: The file of the call.
        call: The call.
        scope: The names of the function that makes the call.
    """
    names: set[str] = set()
    for value in list_passed_values(call):
        names |= _list_origins(value, scope)
    if not names.isdisjoint(scope.parameters - {"self", "cls"}):
        return False
    node: ast.AST = call
    for around in module.above(call):
        if isinstance(around, FUNCTIONS):
            return False
        if isinstance(around, ast.If) and _is_where_missing(around, node):
            return True
        node = around
    return False


def _list_origins(value: ast.AST, scope: Scope, depth: int = 4) -> set[str]:
    """The names in an expression, and those that its local names are made from."""
    names = list_names(value)
    if depth:
        for name in names & scope.assigned.keys():
            names = names | _list_origins(scope.assigned[name], scope, depth - 1)
    return names


def _is_where_missing(branch: ast.If, node: ast.AST) -> bool:
    """Whether a statement runs only where a file does not exist."""
    test = branch.test
    is_negated = isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not)
    asked = test.operand if isinstance(test, ast.UnaryOp) else test
    if not isinstance(asked, ast.Call) or not isinstance(asked.func, ast.Attribute):
        return False
    if asked.func.attr not in CHECKS:
        return False
    return node in (branch.body if is_negated else branch.orelse)


def keeps_up_memory(call: ast.Call, scope: Scope) -> bool:
    """Whether a call fills a container in memory from what a helper loads, or drops what is over from it."""
    function = call.func
    if not isinstance(function, ast.Attribute):
        return False
    if function.attr not in load_vocabulary()["containers"]:
        return False
    if not scope.is_lasting(function.value):
        return False
    if function.attr in DROPS:
        return _is_dropper(scope.name)
    return _is_loader(scope.name)


def keeps_up_entry(entry: ast.Subscript, scope: Scope) -> bool:
    """Whether an entry of a container in memory is one of those that a helper loads or drops."""
    if isinstance(entry.ctx, ast.Del):
        return _is_dropper(scope.name)
    is_one = isinstance(entry.slice, ast.Constant) or (
        isinstance(entry.slice, ast.Name) and CONSTANT_NAME.fullmatch(entry.slice.id)
    )
    return _is_loader(scope.name) and not is_one


def _is_loader(name: str) -> bool:
    words = split_name(name)
    return bool(words) and words[0] in LOADERS


def _is_dropper(name: str) -> bool:
    words = split_name(name)
    return bool(words) and (words[0] in DROPPERS or not OVER.isdisjoint(words))

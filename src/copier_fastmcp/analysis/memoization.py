"""What a function remembers so that it need not ask again: containers, attributes and files that are no data.

A memo is looked up by a key, filled under the same key with what was computed, and given back.
"""

import ast
from collections.abc import Iterable, Iterator

from ..sources.modules import Function, list_parameter_names
from .scopes import is_temporary

LOOKUPS = {"get", "exists", "is_file"}


def find_memo_places(function: Function, nodes: Iterable[ast.AST]) -> set[str]:
    """The containers and paths of a function that hold memos, as their source reads.

    Args:
        function: The function.
        nodes: Every node of its body.
    """
    body = list(nodes)
    looked_up = set(_list_lookups(body))
    returned = set(_list_returned_texts(body))
    given_back = set(_list_given_back(body))
    parameters = list_parameter_names(function)
    computed = _list_computed_names(body)
    places: set[str] = set()
    keys: set[str] = set()
    for node in body:
        if not isinstance(node, ast.Assign):
            continue
        for target in node.targets:
            if not isinstance(target, ast.Subscript):
                continue
            place, key = ast.unparse(target.value), ast.unparse(target.slice)
            value = ast.unparse(node.value)
            is_computed = value in computed or isinstance(
                node.value, ast.Call | ast.Await
            )
            is_returned = value in returned or (place, key) in given_back
            if is_temporary(key) and is_computed and value not in parameters:
                places.add(place)  # self._names[cache_key] = name
            if (
                (place, key) in looked_up
                and is_computed
                and is_returned
                and value not in parameters
            ):
                places.add(place)
                keys.add(key)
    places |= {place for place, key in looked_up if key in keys}  # when each was made
    places |= set(_list_memo_files(body))
    places |= set(_list_places_in_flight(body))
    for node in body:  # with open(path, "w") as file
        if not isinstance(node, ast.withitem) or node.optional_vars is None:
            continue
        if any(place in ast.unparse(node.context_expr) for place in places):
            places.add(ast.unparse(node.optional_vars))
    return places


def _list_lookups(body: Iterable[ast.AST]) -> Iterator[tuple[str, str]]:
    """A container and a key for each lookup: `key in it`, `it.get(key)`, `it[key]`."""
    for node in body:
        if isinstance(node, ast.Compare) and type(node.ops[0]).__name__.endswith("In"):
            yield ast.unparse(node.comparators[0]), ast.unparse(node.left)
            continue
        if not isinstance(node, ast.Call) or not node.args:
            continue
        function, key = node.func, ast.unparse(node.args[0])
        if isinstance(function, ast.Attribute) and function.attr == "get":
            yield ast.unparse(function.value), key


def _list_places_in_flight(body: list[ast.AST]) -> Iterator[str]:
    """The containers that hold an entry only while a function runs: added, and discarded further down."""
    added: dict[tuple[str, str], int] = {}
    removed: dict[tuple[str, str], int] = {}
    for node in body:
        if isinstance(node, ast.Subscript) and not isinstance(node.ctx, ast.Load):
            entry = ast.unparse(node.value), ast.unparse(node.slice)
            lines = added if isinstance(node.ctx, ast.Store) else removed
            lines[entry] = node.lineno
            continue
        if not isinstance(node, ast.Call) or not 1 <= len(node.args) <= 2:
            continue
        if not isinstance(node.func, ast.Attribute):
            continue
        entry = ast.unparse(node.func.value), ast.unparse(node.args[0])
        if node.func.attr in ("add", "append"):
            added[entry] = node.lineno
        elif node.func.attr in ("discard", "remove", "pop"):
            removed[entry] = node.lineno
    for entry, line in added.items():
        if removed.get(entry, 0) > line:
            yield entry[0]


def _list_returned_texts(body: list[ast.AST]) -> Iterator[str]:
    for node in body:
        if isinstance(node, ast.Return) and node.value is not None:
            yield ast.unparse(node.value)


def _list_given_back(body: list[ast.AST]) -> Iterator[tuple[str, str]]:
    """The entries that a function returns, also as part of an expression: a container and a key."""
    for node in body:
        if not isinstance(node, ast.Return) or node.value is None:
            continue
        yield from _list_lookups(ast.walk(node.value))
        for part in ast.walk(node.value):
            if isinstance(part, ast.Subscript):
                yield ast.unparse(part.value), ast.unparse(part.slice)


def _list_computed_names(body: list[ast.AST]) -> set[str]:
    """The names that a call gives a value to."""
    names = set()
    for node in body:
        if isinstance(node, ast.Assign) and isinstance(
            node.value, ast.Call | ast.Await
        ):
            names |= {ast.unparse(target) for target in node.targets}
    return names


def _list_memo_files(body: list[ast.AST]) -> Iterator[str]:
    """The paths of files that are read and given back where they exist."""
    for node in body:
        if (
            not isinstance(node, ast.If)
            or not node.body
            or not isinstance(node.body[-1], ast.Return)
        ):
            continue
        for test in ast.walk(node.test):
            if not isinstance(test, ast.Call) or not isinstance(
                test.func, ast.Attribute
            ):
                continue
            if test.func.attr not in LOOKUPS - {"get"}:
                continue
            place = ast.unparse(test.args[0] if test.args else test.func.value)
            is_negated = isinstance(node.test, ast.UnaryOp)
            is_read = any(place in ast.unparse(statement) for statement in node.body)
            if is_read and not is_negated:
                yield place

"""Takes a guard out of a Python module, named by the function that it is in and by what is done to it.

A change is one line. WORD is a name, an attribute, a keyword or a text that occurs there; `WORD#2` is the second place.

    if WORD always            the condition is true (never: false); loosely: `x is True` is only `x`
    call WORD skipped         what it does is not done
    call WORD answers EXPR    the same, and this is its answer
    call WORD then EXPR       it is done, and this is its answer
    call WORD without WORD    an argument is left out
    set WORD skipped          the assignment is not made
    except WORD answers EXPR  the error is caught, and this is returned
    WORD becomes EXPR         something else stands there
    answers EXPR              the whole function returns this
"""

import ast
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import cast

Functions = ast.FunctionDef | ast.AsyncFunctionDef
CHANGE = re.compile(
    r"(?P<kind>if|call|set|except) (?P<word>\S+) (?P<verb>\w+)(?: (?P<more>.+))?"
    r"|(?P<name>\S+) becomes (?P<by>.+)|answers (?P<value>.+)"
)


def changed(source: str, function: str, change: str) -> str:
    """The source with one change in a function or class, `Class.method` or `outer.inner`; LookupError: nothing fits."""
    tree = ast.parse(source)
    place: ast.AST = tree
    for name in function.split("."):
        defined = [node for node in _defined(place) if node.name == name]
        place = _one(defined, function)
    match = CHANGE.fullmatch(change)
    if match is None:
        raise LookupError(f"{change!r} is not a change; see {__name__}")
    old, new = _edit(place, **match.groupdict())
    for parent in ast.walk(tree):
        for name, value in ast.iter_fields(parent):
            if value is old:
                setattr(parent, name, new)
            elif isinstance(value, list):
                value[:] = [new if each is old else each for each in value]
    return ast.unparse(ast.fix_missing_locations(tree))


def _defined(place: ast.AST) -> Iterator[Functions | ast.ClassDef]:
    """The functions and classes of a place, but not those within them."""
    for node in ast.iter_child_nodes(place):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node
        else:
            yield from _defined(node)


def _edit(
    place: ast.AST,
    kind: str | None,
    word: str,
    verb: str,
    more: str,
    name: str | None,
    by: str,
    value: str | None,
) -> tuple[ast.AST, ast.AST]:
    """The node to replace, and what replaces it."""
    nodes = [node for node in ast.walk(place) if node is not place]
    if value is not None:
        cast("Functions", place).body = [ast.Return(_expression(value))]
        return place, place
    if name is not None:
        plain = [
            each
            for each in nodes
            if isinstance(each, ast.Name | ast.Attribute | ast.Constant)
        ]
        return _pick(plain, name), _expression(by)
    if kind == "set":
        return _pick([n for n in nodes if isinstance(n, ast.Assign)], word), ast.Pass()
    if kind == "except":
        handler = _pick([n for n in nodes if isinstance(n, ast.ExceptHandler)], word)
        cast("ast.ExceptHandler", handler).body = [ast.Return(_expression(more))]
        return handler, handler
    if kind == "if":
        condition = _pick(_conditions(nodes), word)
        if verb == "loosely":
            compared = _one(
                [n for n in ast.walk(condition) if isinstance(n, ast.Compare)], word
            )
            return compared, cast("ast.Compare", compared).left
        return condition, ast.Constant({"always": True, "never": False}[verb])
    call = _pick(
        [node for node in nodes if isinstance(node, ast.Call)], word, called=True
    )
    if verb == "without":
        there = cast("ast.Call", call)
        given: list[ast.AST] = [*there.args, *there.keywords]
        left_out = _one([each for each in given if _mentions(each, more)], more)
        there.args = [each for each in there.args if each is not left_out]
        there.keywords = [each for each in there.keywords if each is not left_out]
        return call, call
    outer: ast.AST = next(
        (n for n in nodes if isinstance(n, ast.Await) and n.value is call), call
    )
    if verb == "skipped":
        return _one(
            [n for n in nodes if isinstance(n, ast.Expr) and n.value is outer], word
        ), ast.Pass()
    answer = _expression(more)
    if verb == "then":
        both = ast.Tuple([cast("ast.expr", outer), answer], ast.Load())
        return outer, ast.Subscript(both, ast.Constant(1), ast.Load())
    return outer, answer


def _conditions(nodes: Iterable[ast.AST]) -> list[ast.AST]:
    """What decides: tests, and the parts of `and` and `or`."""
    found: list[ast.AST] = []
    for node in nodes:
        if isinstance(node, ast.If | ast.IfExp | ast.While | ast.Assert):
            found.append(node.test)
        elif isinstance(node, ast.BoolOp):
            found += node.values
        elif isinstance(node, ast.comprehension):
            found += node.ifs
    return found


def _pick(nodes: Iterable[ast.AST], word: str, *, called: bool = False) -> ast.AST:
    """The smallest of the nodes that mention a word, or the call of what has that name."""
    word, _, number = word.partition("#")
    fits = [
        node
        for node in nodes
        if (_name(node) == word if called else _mentions(node, word))
    ]
    if not called:
        fits = [
            node
            for node in fits
            if not any(n in fits for n in ast.walk(node) if n is not node)
        ]
    fits.sort(
        key=lambda node: (getattr(node, "lineno", 0), getattr(node, "col_offset", 0))
    )
    return fits[int(number) - 1] if number else _one(fits, word)


def _name(call: ast.AST) -> str | None:
    function = getattr(call, "func", None)
    return getattr(function, "attr", None) or getattr(function, "id", None)


def _mentions(node: ast.AST, word: str) -> bool:
    fields = ("id", "attr", "arg", "value", "name")
    return any(
        getattr(part, field, None) == word
        for part in ast.walk(node)
        for field in fields
    )


def _one(nodes: Sequence[ast.AST], what: str) -> ast.AST:
    if len(nodes) != 1:
        raise LookupError(f"{what!r} is there {len(nodes)} times")
    return nodes[0]


def _expression(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body

"""How a function stores: what it sets from what it was, only where it was not, or under a key of its own.

The first makes a second call change more, the others lose nothing; no name of a method shows it.
"""

import ast
import re
from collections.abc import Iterator

from ..sources.modules import Function, Module
from .scopes import is_temporary, root_name, shorten_expression
from .statements import read_text

# What makes a key that was not there before.
FRESH = re.compile(
    r"\b(?:uuid\d?|hex|token_\w+|rand\w*|max|len|next\w*|now|utcnow|time\w*|new_id)\("
)
MADE = {"dict", "list", "set", "defaultdict", "deque"}
LITERALS = (
    ast.Dict,
    ast.List,
    ast.Set,
    ast.DictComp,
    ast.ListComp,
    ast.SetComp,
    ast.Constant,
)
NAMES_DEEP = 3  # how often a name is followed to what it was given
ADDS = {"append", "extend", "insert", "appendleft"}
# These come to the same the second time: a | b, a & b.
SETTLES = (ast.BitOr, ast.BitAnd)
COUNTED = re.compile(
    r"(?is)\b(?:set|update)\b.*?\b(\w+)\W?\s*=\s*(?:not\s+\W?\1\b|(?:\w+\()*\W?(?:\w+\W{1,2})?\1\b[^=]{0,12}?(?:[-+*/]|\|\|))"
)
COUNTERS = re.compile("h?(?:incr|decr)(?:by|byfloat|ement)?|zincrby")
OPERATORS = {"$inc", "$mul", "$push", "$bit"}


class Stores:
    """The storage effects of one function."""

    def __init__(self, module: Module, function: Function) -> None:
        """Collect the values of its names, and the names that it adds to."""
        self.module, self.function = module, function
        self.nodes: list[ast.AST] = []
        for statement in function.body:
            self.nodes.extend(ast.walk(statement))
        self.values: dict[str, list[ast.expr]] = {}
        self.stepped: set[str] = set()
        self._leaves: dict[ast.AST, set[str]] = {}
        for node in self.nodes:
            if (
                isinstance(node, ast.Assign | ast.AnnAssign | ast.NamedExpr)
                and node.value
            ):
                for target in (
                    node.targets if isinstance(node, ast.Assign) else [node.target]
                ):
                    self._record_value(target, node.value)
            elif isinstance(node, ast.For | ast.AsyncFor):
                self._record_value(node.target, node.iter)
            elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
                self.stepped.add(node.target.id)
            elif isinstance(held := _find_extended_list(node), ast.Name):
                self.stepped.add(held.id)
        self.guards = set(self._list_guards())

    def _record_value(self, target: ast.expr, value: ast.expr) -> None:
        if isinstance(target, ast.Name):
            self.values.setdefault(target.id, []).append(value)

    def _list_guards(self) -> Iterator[tuple[str, str]]:
        """The guards against existing data: a collection and a key, or a file and an empty key."""
        for node in self.nodes:
            if not isinstance(node, ast.If):
                continue
            tests = (
                node.test.values if isinstance(node.test, ast.BoolOp) else [node.test]
            )
            if isinstance(node.test, ast.BoolOp) and isinstance(node.test.op, ast.And):
                continue  # `and not overwrite`
            for test in tests:
                within = isinstance(test, ast.Compare) and test.ops[0]
                outside = type(within).__name__.startswith("Not")
                refused = node.orelse if outside else node.body
                if not _ends_in_refusal(refused):
                    continue
                if isinstance(test, ast.Compare) and (
                    outside or isinstance(within, ast.In)
                ):
                    yield ast.unparse(test.comparators[0]), ast.unparse(test.left)
                called = test.left if isinstance(test, ast.Compare) else test
                if isinstance(test, ast.Compare) and not isinstance(within, ast.IsNot):
                    continue
                if isinstance(called, ast.Call) and isinstance(
                    called.func, ast.Attribute
                ):
                    held = ast.unparse(called.func.value)
                    if called.func.attr == "get" and called.args:
                        yield held, ast.unparse(called.args[0])
                    elif called.func.attr in ("exists", "is_file"):
                        yield (ast.unparse(called.args[0]) if called.args else held), ""

    def classify_key(self, target: ast.Subscript) -> str:
        """Classify how a value is stored under a key: guarded, fresh, or set."""
        key = (ast.unparse(target.value), ast.unparse(target.slice))
        if key in self.guards:
            return "guarded"
        for part in self._list_parts(target.slice):
            if FRESH.search(ast.unparse(part)):
                return "fresh"
        return "sets"

    def _list_parts(self, expression: ast.AST) -> Iterator[ast.AST]:
        """The parts of an expression, and of what its local names were given; each once."""
        visited: set[ast.AST] = set()
        level = [expression]
        for _ in range(1 + NAMES_DEEP):
            names: dict[str, None] = {}
            for node in (inner for part in level for inner in ast.walk(part)):
                if node in visited:
                    continue
                visited.add(node)
                yield node
                if isinstance(node, ast.Name):
                    names[node.id] = None
            level = [value for name in names for value in self.values.get(name, ())]

    def _list_computed_parts(self, expression: ast.AST) -> Iterator[ast.AST]:
        """What goes into arithmetic of an expression, texts put together among it."""
        visited: set[ast.AST] = set()
        for node in self._list_parts(expression):
            step = isinstance(node, ast.Name) and node.id in self.stepped
            step = step or (
                isinstance(node, ast.BinOp) and not isinstance(node.op, SETTLES)
            )
            step = step or (
                isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)
            )
            step = step or isinstance(node, ast.JoinedStr | ast.Starred)
            for inner in self._list_parts(node) if step and node not in visited else ():
                if inner not in visited:
                    visited.add(inner)
                    yield inner

    def _is_computed_from_itself(self, leaf: str, value: ast.AST) -> bool:
        if value not in self._leaves:
            self._leaves[value] = {
                _last_key(node) for node in self._list_computed_parts(value)
            }
        return leaf in self._leaves[value]

    def is_durable(self, held: ast.AST, depth: int = 4) -> bool:
        """Whether an object outlives this function."""
        name = root_name(held)
        if not name or not depth or is_temporary(ast.unparse(held)):
            return False
        if (
            name == "self"
            and isinstance(held, ast.Attribute)
            and held.attr.startswith("_")
        ):
            return False
        values = [v for v in self.values.get(name, ()) if root_name(v) != name]
        for value in values:
            if _makes_new_value(value):
                continue
            if not root_name(value) or self.is_durable(value, depth - 1):
                return True
        return not values

    def list_storage(self) -> Iterator[tuple[str, str]]:
        """List storage effects, each as a kind (again, guarded, fresh, sets) and in words."""
        docs = ast.get_docstring(self.function, clean=False)
        for node in self.nodes:
            if isinstance(node, ast.AugAssign):
                counted = node.target
                if isinstance(counted, ast.Name) or isinstance(node.op, SETTLES):
                    continue
                if self.is_durable(counted):
                    yield (
                        "again",
                        f"it counts on from what {shorten_expression(counted)} was",
                    )
            elif isinstance(node, ast.Assign):
                for target in node.targets:
                    yield from self._classify_assignment(target, node.value)
            elif isinstance(node, ast.Constant) and node.value in OPERATORS:
                yield "again", f"it says {node.value!r}"
            elif isinstance(node, ast.Constant | ast.JoinedStr | ast.BinOp):
                text = read_text(self.module, node)
                if text and text != docs and (match := COUNTED.search(text)):
                    yield "again", f"its SQL counts on from what {match[1]} was"
            elif isinstance(node, ast.Dict):
                for key, value in zip(node.keys, node.values, strict=True):
                    if isinstance(key, ast.Constant) and self._is_computed_from_itself(
                        repr(key.value), value
                    ):
                        yield "again", f"it counts on from what {key.value!r} was"
            elif isinstance(node, ast.Call):
                yield from self._classify_call(node)

    def _classify_assignment(
        self, target: ast.expr, value: ast.expr
    ) -> Iterator[tuple[str, str]]:
        if not isinstance(target, ast.Subscript | ast.Attribute) or not self.is_durable(
            target
        ):
            return
        if self._is_computed_from_itself(_last_key(target), value):
            yield "again", f"it counts on from what {shorten_expression(target)} was"
        elif isinstance(target, ast.Subscript):
            kind = self.classify_key(target)
            how = {"guarded": "adds", "fresh": "adds"}.get(kind, "sets")
            yield (
                kind,
                f"it {how} {shorten_expression(target)}"
                + " where it was not" * (kind == "guarded"),
            )
        else:
            yield "sets", f"it sets {shorten_expression(target)}"

    def _classify_call(self, call: ast.Call) -> Iterator[tuple[str, str]]:
        for word in call.keywords:
            if word.arg and self._is_computed_from_itself(repr(word.arg), word.value):
                yield "again", f"it counts on from what {word.arg} was"
        if not isinstance(call.func, ast.Attribute):
            return
        held = call.func.value
        text = ast.unparse(held)
        if (text, "") in self.guards and call.func.attr.startswith(
            ("write", "open", "touch")
        ):
            yield "guarded", f"it writes {shorten_expression(held)} where it was not"
        if COUNTERS.fullmatch(call.func.attr):
            yield "again", f"it calls {shorten_expression(call.func)}()"
        parts: list[ast.AST] = []
        for argument in call.args:
            parts.extend(self._list_computed_parts(argument))
        for node in parts:
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Attribute)
                and node.func.attr.startswith(("get", "read", "load", "fetch"))
                and ast.unparse(node.func.value) == text
            ):
                yield "again", f"it counts on from what {shorten_expression(held)} held"
                return
        if (
            _find_extended_list(call)
            and root_name(held) in self.values
            and self.is_durable(held)
        ):
            for part in self._list_parts(held):
                is_call = isinstance(part, ast.Call)
                if is_call and re.search(r"(?i)load|read", ast.unparse(part)):
                    yield "again", f"it adds to {shorten_expression(held)}"
                    return


def _find_extended_list(node: ast.AST) -> ast.expr | None:
    """The list that something is added to."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return node.func.value if node.func.attr in ADDS else None
    return None


def _last_key(node: ast.AST) -> str:
    """The last part of where something is: a key or an attribute."""
    if isinstance(node, ast.Subscript):
        return ast.unparse(node.slice)
    if isinstance(node, ast.Attribute):
        return repr(node.attr)
    if isinstance(node, ast.Call) and node.args:
        name = (
            node.func.attr
            if isinstance(node.func, ast.Attribute)
            else ast.unparse(node.func)
        )
        if name in ("get", "pop", "setdefault", "F"):
            return ast.unparse(node.args[0])
    return ""


def _makes_new_value(value: ast.expr) -> bool:
    """Whether this makes something new."""
    if isinstance(value, ast.Call):
        name = ast.unparse(value.func).rpartition(".")[2]
        return name in MADE or name[:1].isupper()
    return isinstance(value, LITERALS)


def _ends_in_refusal(body: list[ast.stmt]) -> bool:
    """Whether statements end in refusing because the data exists."""
    last = body[-1] if body else None
    if isinstance(last, ast.Raise):
        return True
    return isinstance(last, ast.Return) and bool(
        re.search(r"(?i)exist|already|taken|duplicate", ast.unparse(last))
    )

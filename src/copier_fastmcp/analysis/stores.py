"""How a function stores: what it sets from what it was, only where it was not, or under a key of its own.

The first makes a second call change more, the others lose nothing; no name of a method shows it.
"""

import ast
import re
from collections.abc import Iterator

from ..sources.modules import Function, Module
from .scopes import (
    CONNECTION_STATE,
    MADE,
    is_own_attribute,
    is_temporary,
    names_cache,
    root_name,
    shorten_expression,
)
from .statements import read_text

# What makes a key that was not there before.
FRESH = re.compile(
    r"\b(?:uuid\d?|hex|token_\w+|rand\w*|max|len|next\w*|now|utcnow|time\w*|new_id)\("
)
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
EXISTING = re.compile(r"(?i)exist|already|taken|duplicate")
LOADS = re.compile(r"(?i)load|read")
OPERATORS = {"$inc", "$mul", "$push", "$bit"}


class Stores:
    """The storage effects of one function."""

    def __init__(
        self,
        module: Module,
        function: Function,
        own_attributes: frozenset[str] = frozenset(),
    ) -> None:
        """Collect the values of its names, and the names that it adds to.

        Args:
            module: The file of the function.
            function: The function.
            own_attributes: Attributes of `self` that end with the call, as the object was made in it.
        """
        self.module, self.function = module, function
        self.own_attributes = own_attributes
        self.owner = module.find_enclosing_class(function)
        self.nodes: list[ast.AST] = []
        for statement in function.body:
            self.nodes.extend(ast.walk(statement))
        self.values: dict[str, list[ast.expr]] = {}
        self.stepped: set[str] = set()
        self._leaves: dict[ast.AST, set[str]] = {}
        for node in self.nodes:
            if isinstance(node, ast.Assign):
                for target in node.targets:
                    self._record_value(target, node.value)
            elif isinstance(node, ast.AnnAssign | ast.NamedExpr):
                self._record_value(node.target, node.value)
            elif isinstance(node, ast.For | ast.AsyncFor):
                self._record_value(node.target, node.iter)
            elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
                self.stepped.add(node.target.id)
            elif isinstance(held := _find_extended_list(node), ast.Name):
                self.stepped.add(held.id)
        self.guards = set(self._list_guards())

    def _record_value(self, target: ast.expr, value: ast.expr | None) -> None:
        if isinstance(target, ast.Name) and value is not None:
            self.values.setdefault(target.id, []).append(value)

    def _list_guards(self) -> Iterator[tuple[str, str]]:
        """The guards against existing data: a collection and a key, or a file and an empty key."""
        for node in self.nodes:
            if not isinstance(node, ast.If):
                continue
            for test in _list_conditions(node.test):
                is_inverted = _is_inverted(test)
                refused = node.orelse if is_inverted else node.body
                if _ends_in_refusal(refused):
                    yield from _list_guarded_places(test)

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
            for part in level:
                for node in ast.walk(part):
                    if node in visited:
                        continue
                    visited.add(node)
                    yield node
                    if isinstance(node, ast.Name):
                        names[node.id] = None
            level = []
            for name in names:
                level.extend(self.values.get(name, ()))

    def _list_computed_parts(self, expression: ast.AST) -> Iterator[ast.AST]:
        """What goes into arithmetic of an expression, texts put together among it."""
        visited: set[ast.AST] = set()
        for node in self._list_parts(expression):
            if node in visited or not self._is_step(node):
                continue
            for inner in self._list_parts(node):
                if inner not in visited:
                    visited.add(inner)
                    yield inner

    def _is_step(self, node: ast.AST) -> bool:
        """Whether an expression computes a value that depends on its parts."""
        if isinstance(node, ast.Name):
            return node.id in self.stepped
        if isinstance(node, ast.BinOp):
            return not isinstance(node.op, SETTLES)
        if isinstance(node, ast.UnaryOp):
            return isinstance(node.op, ast.Not)
        return isinstance(node, ast.JoinedStr | ast.Starred)

    def _is_computed_from_itself(self, leaf: str, value: ast.AST) -> bool:
        if value not in self._leaves:
            leaves: set[str] = set()
            for node in self._list_computed_parts(value):
                leaves.add(_last_key(node))
            self._leaves[value] = leaves
        return leaf in self._leaves[value]

    def is_durable(self, held: ast.AST, depth: int = 4) -> bool:
        """Whether an object outlives this function."""
        name = root_name(held)
        if not name or not depth or is_temporary(ast.unparse(held)):
            return False
        owner = held.value if isinstance(held, ast.Subscript) else held
        if CONNECTION_STATE.search(ast.unparse(owner)):
            return False
        if name == "self" and self._is_own(held):
            return False
        values = [v for v in self.values.get(name, ()) if root_name(v) != name]
        for value in values:
            if _makes_new_value(value):
                continue
            if not root_name(value) or self.is_durable(value, depth - 1):
                return True
        return not values

    def is_made_here(self, held: ast.AST) -> bool:
        """Whether a local name holds nothing but objects that this function makes."""
        name = root_name(held)
        if name == "self":
            return self._is_own(held)
        values = self.values.get(name, [])
        return bool(values) and all(map(_makes_new_value, values))

    def _is_own(self, held: ast.AST) -> bool:
        """Whether an attribute of `self` is no data: private, of a cache, or of an object that ends with the call."""
        if _is_private(held) or names_cache(self.owner):
            return True
        return is_own_attribute(held, self.own_attributes)

    def list_storage(self) -> Iterator[tuple[str, str]]:
        """List storage effects, each as a kind (again, guarded, fresh, sets) and in words."""
        docstring = ast.get_docstring(self.function, clean=False)
        for node in self.nodes:
            if isinstance(node, ast.AugAssign):
                yield from self._classify_counting(node)
            elif isinstance(node, ast.Assign):
                for target in node.targets:
                    yield from self._classify_assignment(target, node.value)
            elif isinstance(node, ast.Constant) and node.value in OPERATORS:
                yield "again", f"it says {node.value!r}"
            elif isinstance(node, ast.Constant | ast.JoinedStr | ast.BinOp):
                text = read_text(self.module, node)
                if text and text != docstring and (match := COUNTED.search(text)):
                    yield "again", f"its SQL counts on from what {match[1]} was"
            elif isinstance(node, ast.Dict):
                yield from self._classify_entries(node)
            elif isinstance(node, ast.Call):
                yield from self._classify_call(node)

    def _classify_counting(self, node: ast.AugAssign) -> Iterator[tuple[str, str]]:
        target = node.target
        if isinstance(target, ast.Name) or isinstance(node.op, SETTLES):
            return
        if self.is_durable(target):
            yield "again", f"it counts on from what {shorten_expression(target)} was"

    def _classify_entries(self, table: ast.Dict) -> Iterator[tuple[str, str]]:
        for key, value in zip(table.keys, table.values, strict=True):
            if not isinstance(key, ast.Constant):
                continue
            if self._is_computed_from_itself(repr(key.value), value):
                yield "again", f"it counts on from what {key.value!r} was"

    def _classify_assignment(
        self, target: ast.expr, value: ast.expr
    ) -> Iterator[tuple[str, str]]:
        if not isinstance(target, ast.Subscript | ast.Attribute):
            return
        if not self.is_durable(target):
            return
        place = shorten_expression(target)
        if self._is_computed_from_itself(_last_key(target), value):
            yield "again", f"it counts on from what {place} was"
        elif isinstance(target, ast.Attribute):
            yield "sets", f"it sets {place}"
        else:
            kind = self.classify_key(target)
            if kind == "guarded":
                yield kind, f"it adds {place} where it was not"
            elif kind == "fresh":
                yield kind, f"it adds {place}"
            else:
                yield kind, f"it sets {place}"

    def _classify_call(self, call: ast.Call) -> Iterator[tuple[str, str]]:
        for word in call.keywords:
            if word.arg and self._is_computed_from_itself(repr(word.arg), word.value):
                yield "again", f"it counts on from what {word.arg} was"
        if not isinstance(call.func, ast.Attribute):
            return
        held = call.func.value
        name = call.func.attr
        is_guarded = (ast.unparse(held), "") in self.guards
        if is_guarded and name.startswith(("write", "open", "touch")):
            yield "guarded", f"it writes {shorten_expression(held)} where it was not"
        if COUNTERS.fullmatch(name):
            yield "again", f"it calls {shorten_expression(call.func)}()"
        if root_name(held) in self.module.imports and isinstance(held, ast.Name):
            return  # asyncio.run(asyncio.get_loop()) reads nothing that it stores
        if self._depends_on_earlier_value(call, held):
            yield "again", f"it counts on from what {shorten_expression(held)} held"
        elif self._extends_loaded_list(call, held):
            yield "again", f"it adds to {shorten_expression(held)}"

    def _depends_on_earlier_value(self, call: ast.Call, held: ast.expr) -> bool:
        """Whether an argument of a write is computed from what is read of the same object."""
        text = ast.unparse(held)
        if _is_read(call, text):
            return False  # state.get("name", state.get("id"))
        for argument in call.args:
            for node in self._list_computed_parts(argument):
                if _is_read(node, text):
                    return True
        return False

    def _extends_loaded_list(self, call: ast.Call, held: ast.expr) -> bool:
        if not _find_extended_list(call) or root_name(held) not in self.values:
            return False
        if not self.is_durable(held):
            return False
        for part in self._list_parts(held):
            if isinstance(part, ast.Call) and LOADS.search(ast.unparse(part)):
                return True
        return False


def _is_read(node: ast.AST, owner: str) -> bool:
    """Whether a node calls a method of an object that reads: `store.get(key)`."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return False
    if not node.func.attr.startswith(("get", "read", "load", "fetch")):
        return False
    return ast.unparse(node.func.value) == owner


def _list_conditions(test: ast.expr) -> list[ast.expr]:
    """The conditions any of which enters a branch; none for `and not overwrite`."""
    if not isinstance(test, ast.BoolOp):
        return [test]
    return [] if isinstance(test.op, ast.And) else test.values


def _is_inverted(test: ast.expr) -> bool:
    """Whether a condition is `not in` or `!=`, whose other branch handles existing data."""
    if not isinstance(test, ast.Compare):
        return False
    return isinstance(test.ops[0], ast.NotEq | ast.NotIn)


def _list_guarded_places(test: ast.expr) -> Iterator[tuple[str, str]]:
    """What a condition asks for: a collection and a key, or a file and an empty key."""
    called = test
    if isinstance(test, ast.Compare):
        operator = test.ops[0]
        if isinstance(operator, ast.In | ast.NotIn | ast.NotEq):
            yield ast.unparse(test.comparators[0]), ast.unparse(test.left)
        if not isinstance(operator, ast.IsNot):
            return
        called = test.left
    if not isinstance(called, ast.Call) or not isinstance(called.func, ast.Attribute):
        return
    place = ast.unparse(called.func.value)
    if called.func.attr == "get" and called.args:
        yield place, ast.unparse(called.args[0])
    elif called.func.attr in ("exists", "is_file"):
        yield (ast.unparse(called.args[0]) if called.args else place), ""


def _is_private(expression: ast.AST) -> bool:
    return isinstance(expression, ast.Attribute) and expression.attr.startswith("_")


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
        function = node.func
        if isinstance(function, ast.Attribute):
            name = function.attr
        else:
            name = ast.unparse(function)
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
    if not isinstance(last, ast.Return):
        return False
    return EXISTING.search(ast.unparse(last)) is not None

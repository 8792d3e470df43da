"""The names in one function: parameters, assigned values, and objects that outlive a call."""

import ast
import re
from collections import Counter
from collections.abc import Iterator, Set

from ..sources.modules import (
    Function,
    Module,
    list_names,
    list_parameter_names,
    list_parameters,
)

# Words in the name of an object whose contents are not kept.
PASSING = {
    "tmp",
    "temp",
    "tempfile",
    "temporary",
    "tmpdir",
    "tmpfile",
    "tempdir",
    "mkdtemp",
    "mkstemp",
    "gettempdir",
    "cache",
    "caches",
    "cached",
    "log",
    "logs",
    "logger",
    "logging",
    "devnull",
    "metric",
    "metrics",
    "stats",
    "statistics",
}
# The state of a connection, which a client sets before a request: `session.headers["X"] = "1"`.
CONNECTION_STATE = re.compile(r"\.(?:headers|cookies|cookie_jar|auth)$")
SIGNALS = re.compile(r"(?:threading\.|asyncio\.|multiprocessing\.)?Event\(")
# What only one thread, task or call sees.
CALL_LOCAL = re.compile(r"(?:threading\.)?local\(|(?:contextvars\.)?ContextVar\b")
MAPPED = re.compile(
    r"(?i)(?:\b|_)(?:session|db|uow)\.(?:\w+\.)*(?:get|query|scalars?|execute|exec)\b|\.query\(|\.objects\.(?:get|filter|first)"
)
MADE = {"dict", "list", "set", "defaultdict", "deque", "Counter", "OrderedDict"}
CONTAINERS = (ast.Dict, ast.List, ast.Set, ast.DictComp, ast.Call)


class Scope:
    """The values of the names in one function."""

    def __init__(
        self,
        module: Module,
        function: Function,
        own_attributes: frozenset[str] = frozenset(),
    ) -> None:
        """Collect the assigned values.

        Args:
            module: The file of the function.
            function: The function.
            own_attributes: Attributes of `self` that end with the call, as the object was made in it.

        `extended` has the names of lists that something is added to.
        """
        self.module = module
        self.name = function.name
        self.own_attributes = own_attributes
        self.assigned: dict[str, ast.expr] = {}
        self._counts: Counter[str] = Counter()
        # also those of `figure, axes = subplots()`
        self.local_names: set[str] = set()
        self._made: dict[str, ast.expr] = {}
        self._made_counts: Counter[str] = Counter()
        self.extended: set[str] = set()
        self.annotations: dict[str, ast.expr] = {}
        self.parameters = list_parameter_names(function)
        self.globals: set[str] = set()
        for argument in list_parameters(function):
            if argument.annotation:
                self.annotations[argument.arg] = argument.annotation
        for node in ast.walk(function):
            self._record_values(node)
            self._record_change(node)
        self.enclosing_parameters: set[str] = set()
        for around in module.list_enclosing_functions(function):
            self.enclosing_parameters.update(_list_data_parameters(around))
        self.owner = module.find_enclosing_class(function)

    def _record_values(self, node: ast.AST) -> None:
        if isinstance(node, ast.Assign):
            for target in node.targets:
                self._record_value(target, node.value)
        elif isinstance(node, ast.AnnAssign):
            self._record_value(node.target, node.value)
            if isinstance(node.target, ast.Name):
                self.annotations[node.target.id] = node.annotation
        elif isinstance(node, ast.withitem):
            self._record_value(node.optional_vars, node.context_expr)
        elif isinstance(node, ast.For | ast.AsyncFor):
            self._record_value(node.target, node.iter)
        elif isinstance(node, ast.Global):
            self.globals.update(node.names)

    def _record_change(self, node: ast.AST) -> None:
        """Note a list that something is added to, or whose first entry may be another one."""
        if isinstance(node, ast.AugAssign):
            self.extended.add(root_name(node.target))
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if node.func.attr in ("append", "extend"):
                self.extended.add(root_name(node.func.value))
            elif node.func.attr in ("insert", "pop"):
                self._counts[root_name(node.func.value)] += 1

    def _record_value(self, target: ast.expr | None, value: ast.expr | None) -> None:
        if isinstance(target, ast.Name) and value is not None:
            self.assigned[target.id] = value
            if not (isinstance(value, ast.Constant) and value.value is None):
                self._made[target.id] = value
                self._made_counts[target.id] += 1
        if isinstance(target, ast.Tuple | ast.List):
            self.local_names |= list_names(target)
        if target is not None and value is not None:
            self.local_names.add(root_name(target))
            self._counts[root_name(target)] += 1

    def find_only_value(self, name: str) -> ast.expr | None:
        """The value of a local name that is assigned once; None for any other name."""
        return self.assigned.get(name) if self._counts[name] == 1 else None

    def find_made_value(self, name: str) -> ast.expr | None:
        """The one value other than None that a local name is assigned; None for any other name."""
        return self._made.get(name) if self._made_counts[name] == 1 else None

    def is_lasting(self, held: ast.expr) -> bool:
        """Whether an object outlives the call: a global one, or an attribute of `self`."""
        origin = root_name(held)
        if self._is_passing(held):
            return False
        if origin == "self":
            return not isinstance(held, ast.Name)
        opened = self.assigned.get(origin)
        if opened is not None and re.match(r"(?:shelve|dbm)\.", ast.unparse(opened)):
            return True
        if self._is_local(origin):
            value = self.find_made_value(origin)
            return value is not None and self.is_stored_entry(value)
        if origin in self.enclosing_parameters:
            return True  # what the function around it was given, as in register(mcp, store)
        return self._is_global_container(origin)

    def is_stored_entry(self, value: ast.expr) -> bool:
        """Whether an expression is an entry of a container that outlives the call, or a local name for one."""
        if isinstance(value, ast.Name):
            held = self.find_made_value(value.id)
            is_entry = isinstance(held, ast.Subscript | ast.Call)
            return held is not None and is_entry and self.is_stored_entry(held)
        if isinstance(value, ast.Subscript):
            container = value.value
        elif isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
            if value.func.attr != "get":
                return False
            container = value.func.value
        else:
            return False
        return self._is_container(container) and self.is_lasting(container)

    def _is_container(self, held: ast.expr) -> bool:
        """Whether a global name or an attribute of `self` is made as a container."""
        made: ast.AST | None = None
        if isinstance(held, ast.Name) and not self._is_local(held.id):
            made = self.module.top.get(held.id)
        elif isinstance(held, ast.Attribute) and root_name(held) == "self":
            made = self.find_attribute_value(held.attr)
        if isinstance(made, ast.Call):
            return ast.unparse(made.func).rpartition(".")[2] in MADE
        return isinstance(made, ast.Dict | ast.List | ast.DictComp | ast.ListComp)

    def _is_passing(self, held: ast.expr) -> bool:
        """Whether an object holds nothing that anybody keeps: a cache, the state of a connection or of one call."""
        text = ast.unparse(held)
        if is_temporary(text) or CONNECTION_STATE.search(text):
            return True
        if is_own_attribute(held, self.own_attributes) or self._is_in_cache(held):
            return True
        return bool(CALL_LOCAL.match(self._describe_global(root_name(held))))

    def _is_in_cache(self, held: ast.expr) -> bool:
        """Whether an object is held by a class that is named a cache."""
        return root_name(held) == "self" and names_cache(self.owner)

    def _describe_global(self, name: str) -> str:
        """What a global name of this file is made from, as its source reads; empty: it is no value."""
        value = None if self._is_local(name) else self.module.top.get(name)
        return ast.unparse(value) if isinstance(value, ast.expr) else ""

    def _is_global_container(self, name: str) -> bool:
        if name in self.module.imports or name.startswith("__"):
            return False
        return isinstance(self.module.top.get(name), CONTAINERS)

    def _is_local(self, name: str) -> bool:
        if name in self.parameters:
            return True
        return name in self.assigned and name not in self.globals

    def is_mapped(self, held: ast.expr) -> bool:
        """Whether a local name holds what a session of a database gave out, which keeps what is set of it."""
        value = self.assigned.get(held.id) if isinstance(held, ast.Name) else None
        return value is not None and bool(MAPPED.search(ast.unparse(value)))

    def is_foreign(self, held: ast.expr) -> bool:
        """Whether a local name holds what some other object gave out."""
        value = self.assigned.get(root_name(held))
        value = value.value if isinstance(value, ast.Await) else value
        return isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute)

    def find_attribute_value(self, name: str) -> ast.AST | None:
        """What `self.name` is made from, as its class says."""
        for node in ast.walk(self.owner) if self.owner else ():
            targets = node.targets if isinstance(node, ast.Assign) else ()
            if isinstance(node, ast.AnnAssign) and ast.unparse(node.target) in (
                name,
                f"self.{name}",
            ):
                return node.annotation
            for target in targets:
                if isinstance(target, ast.Attribute) and target.attr == name:
                    return node.value if isinstance(node, ast.Assign) else None
        return None


def _list_data_parameters(function: Function) -> Iterator[str]:
    """The parameters of a function that may hold data."""
    for argument in list_parameters(function):
        if argument.arg not in ("self", "cls", "mcp", "app", "server"):
            yield argument.arg


def names_cache(owner: ast.ClassDef | None) -> bool:
    """Whether a class is named a cache, as `TTLCache` is."""
    return owner is not None and owner.name.lower().endswith("cache")


def is_own_attribute(held: ast.AST, own_attributes: Set[str]) -> bool:
    """Whether an object is an attribute of `self` that ends with the call, or an entry of one."""
    while isinstance(held, ast.Subscript):
        held = held.value
    if not isinstance(held, ast.Attribute) or not isinstance(held.value, ast.Name):
        return False
    return held.value.id == "self" and held.attr in own_attributes


def list_own_attributes(owner: ast.ClassDef) -> frozenset[str]:
    """The attributes that every object of a class makes for itself: empty containers, numbers and texts."""
    own: set[str] = set()
    for node in owner.body:
        name = getattr(node, "name", "")
        if name == "__new__":
            return frozenset()  # it may give out the same object again
        if name != "__init__":
            continue
        for statement in ast.walk(node):
            if not isinstance(statement, ast.Assign | ast.AnnAssign):
                continue
            if statement.value is None or not _makes_own_value(statement.value):
                continue
            if isinstance(statement, ast.Assign):
                targets = statement.targets
            else:
                targets = [statement.target]
            for target in targets:
                if isinstance(target, ast.Attribute) and root_name(target) == "self":
                    own.add(target.attr)
    return frozenset(own)


def _makes_own_value(value: ast.expr) -> bool:
    """Whether an expression makes a value that nothing else holds."""
    if isinstance(value, ast.Call):
        return ast.unparse(value.func).rpartition(".")[2] in MADE
    return isinstance(value, ast.Constant | ast.Dict | ast.List | ast.Set)


def is_temporary(text: str) -> bool:
    """Whether a text names temporary files, caches, logs or counters, which are no data."""
    words = re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", text)
    return not PASSING.isdisjoint(word.lower() for word in words)


def root_name(expression: ast.AST) -> str:
    """The name that an expression begins with; empty: none."""
    while isinstance(expression, ast.Attribute | ast.Subscript | ast.Call | ast.Await):
        inner = (
            expression.func if isinstance(expression, ast.Call) else expression.value
        )
        expression = inner
    return expression.id if isinstance(expression, ast.Name) else ""


def shorten_expression(expression: ast.AST) -> str:
    """An expression as a reader sees it, cut in the middle where it is long."""
    text = " ".join(ast.unparse(expression).split())
    return text if len(text) <= 40 else f"{text[:18]}...{text[-18:]}"

"""The Python files of a server, parsed and never run: what each name in them stands for."""

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from ..errors import RefusedError

Function = ast.FunctionDef | ast.AsyncFunctionDef
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
# What is given to a tool by its framework, and so is not a parameter of it.
INJECTED = ("self", "cls", "ctx", "context")
# What is beside a server in its repository: functions decorated there are not tools of it.
BESIDE = {"testing", "docs", "build", "dist"}
NEVER = {"test", "tests", "example", "examples", "benchmarks"}  # at any depth
NEVER |= {"node_modules", "venv", "site-packages"}
PROOFS = re.compile(
    rb"(?m)^\s*(?:from|import) (?:pytest|unittest)\b|^\s*(?:async )?def test_"
)
# The folders that `adopt` writes: policy/ by this text in its profile.py, the engine, under whatever name, by these
# files. Another folder of such a name is its author's.
POLICY_MARK = b"Managed by the template"
ENGINE_MARKS = ("existing_server.py", "facade.py", "private_api.py")
NEWER = "run the command with the Python that the server is written for (uvx --python 3.14 ...)"


@dataclass(eq=False)
class Module:
    """One file: its text, its tree, what it imports and what it defines."""

    path: Path
    name: str
    text: str
    tree: ast.Module
    imports: dict[str, str] = field(default_factory=dict)
    stars: list[str] = field(
        default_factory=list
    )  # modules of which it imports everything
    top: dict[str, ast.AST] = field(default_factory=dict)
    parents: dict[ast.AST, ast.AST] = field(default_factory=dict)

    nodes: list[ast.AST] = field(default_factory=list)
    renamed: set[str] = field(
        default_factory=set
    )  # functions whose __name__ is assigned
    inner: dict[ast.AST, dict[str, Function]] = field(default_factory=dict)

    def list_inner_functions(self, function: ast.AST) -> dict[str, Function]:
        """The functions that are defined inside a function, by name."""
        if not isinstance(function, FUNCTIONS):
            return {}
        if function not in self.inner:
            functions: dict[str, Function] = {}
            for node in list_functions(function):
                if node is not function:
                    functions.setdefault(node.name, node)
            self.inner[function] = functions
        return self.inner[function]

    def above(self, node: ast.AST) -> Iterator[ast.AST]:
        """Everything around a node, the nearest first."""
        while node in self.parents:
            node = self.parents[node]
            yield node

    def list_enclosing_functions(self, node: ast.AST) -> list[Function]:
        """The functions around a node, the nearest first."""
        functions: list[Function] = []
        for parent in self.above(node):
            if isinstance(parent, FUNCTIONS):
                functions.append(parent)
        return functions

    def find_enclosing_function(self, node: ast.AST) -> Function | None:
        """The nearest function around a node."""
        functions = self.list_enclosing_functions(node)
        return functions[0] if functions else None

    def find_enclosing_class(self, node: ast.AST) -> ast.ClassDef | None:
        """The nearest class around a node."""
        for parent in self.above(node):
            if isinstance(parent, ast.ClassDef):
                return parent
        return None


@dataclass(frozen=True)
class Place:
    """A node and the file that it stands in."""

    module: Module
    node: ast.AST


class Project:
    """Every file of a server, and what names in one mean in another."""

    def __init__(self, root: Path) -> None:
        """Parse every file below a folder; RefusedError: one is not Python."""
        self.root = root
        self.modules: dict[str, Module] = {}
        for module in map(self._parse_module, _list_files(root)):
            taken = module.name in self.modules  # server.py beside src/server.py
            self.modules[str(module.path) if taken else module.name] = module
        self.methods: dict[str, list[Place]] = {}
        for module in self.modules.values():
            for node in module.nodes:
                for inner in node.body if isinstance(node, ast.ClassDef) else ():
                    if isinstance(inner, FUNCTIONS):
                        self.methods.setdefault(inner.name, []).append(
                            Place(module, inner)
                        )
        self._ends: dict[str, list[Module]] = {}
        for name, module in self.modules.items():
            parts = name.split(".")
            for start in range(1, len(parts)):
                self._ends.setdefault(".".join(parts[start:]), []).append(module)

    def _parse_module(self, path: Path) -> Module:
        relative = path.relative_to(self.root)
        parts = list(relative.with_suffix("").parts)
        parts = parts[1:] if parts[0] == "src" and len(parts) > 1 else parts
        parts = parts[:-1] if parts[-1] == "__init__" else parts
        try:
            text = decode_source(path.read_bytes())
            tree = ast.parse(text)
        except (
            SyntaxError,
            ValueError,
            LookupError,
            RecursionError,
            MemoryError,
        ) as error:
            line = f":{error.lineno}" if isinstance(error, SyntaxError) else ""
            reason = (
                error.msg
                if isinstance(error, SyntaxError)
                else str(error) or "it is nested too deeply"
            )
            raise RefusedError(
                f"{relative.as_posix()}{line}: not read as Python: {reason}; mend it, or {NEWER}"
            ) from error
        module = Module(path, ".".join(parts), text, tree)
        package = parts if path.name == "__init__.py" else parts[:-1]
        module.nodes = list(ast.walk(tree))
        for node in module.nodes:
            if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
                module.renamed |= (
                    {ast.unparse(node.value)} if node.attr == "__name__" else set()
                )
            for child in ast.iter_child_nodes(node):
                module.parents[child] = node
            if isinstance(node, ast.Import):
                for name in node.names:
                    local = name.asname or name.name.split(".")[0]
                    module.imports[local] = name.name if name.asname else local
            elif isinstance(node, ast.ImportFrom):
                base = package[: len(package) - node.level + 1] if node.level else []
                start = ".".join([*base, *filter(None, [node.module])])
                for name in node.names:
                    module.imports[name.asname or name.name] = (
                        f"{start}.{name.name}".strip(".")
                    )
                    module.stars += [start] * (name.name == "*")
        for node in _list_statements(tree.body):
            if isinstance(node, (*FUNCTIONS, ast.ClassDef)):
                module.top[node.name] = node
            elif isinstance(node, ast.Assign | ast.AnnAssign) and node.value:
                targets = (
                    node.targets if isinstance(node, ast.Assign) else [node.target]
                )
                for target in targets:
                    if isinstance(target, ast.Name):
                        module.top[target.id] = node.value
        return module

    def module(self, name: str) -> Module | None:
        """A module by its dotted name, also where the project lies deeper than its root."""
        if module := self.modules.get(name):
            return module
        ends = self._ends.get(name, [])
        return ends[0] if len(ends) == 1 else None

    def find(self, dotted: str, depth: int = 5) -> Place | None:
        """What a dotted name stands for in this project."""
        parts = dotted.split(".")
        for end in range(len(parts) - 1, 0, -1):
            if module := self.module(".".join(parts[:end])):
                return self._resolve_parts(module, parts[end:], depth)
        return None

    def _resolve_parts(
        self, module: Module, parts: list[str], depth: int
    ) -> Place | None:
        first, attributes = parts[0], parts[1:]
        if (node := module.top.get(first)) is not None:
            for part in attributes:
                method = _find_own_method(node, part)
                if method is None:
                    return None
                node = method
            return Place(module, node)
        if depth and first in module.imports:
            return self.find(".".join([module.imports[first], *attributes]), depth - 1)
        for star in module.stars if depth else ():
            if place := self.find(".".join([star, *parts]), depth - 1):
                return place
        return None

    def dotted(self, module: Module, expression: ast.AST) -> str:
        """An expression as a dotted name, its first part resolved by the imports; empty: it is none."""
        parts: list[str] = []
        while isinstance(expression, ast.Attribute):
            parts.append(expression.attr)
            expression = expression.value
        if not isinstance(expression, ast.Name):
            return ""
        return ".".join(
            [module.imports.get(expression.id, expression.id), *reversed(parts)]
        )

    def resolve(self, module: Module, expression: ast.AST) -> Place | None:
        """What an expression stands for: a name of this scope or of another file, or a method of `self`."""
        if isinstance(expression, ast.Name):
            for around in module.above(expression):
                if inner := module.list_inner_functions(around).get(expression.id):
                    return Place(module, inner)
            if expression.id in module.top or expression.id not in module.imports:
                return self._resolve_parts(module, [expression.id], 5)
        if isinstance(expression, ast.Attribute) and isinstance(
            expression.value, ast.Name
        ):
            if expression.value.id in ("self", "cls"):
                owner = module.find_enclosing_class(expression)
                for place in self.methods.get(expression.attr, ()):
                    if place.module.parents.get(place.node) is owner:
                        return place
                return self.method(expression.attr)
            local = module.top.get(expression.value.id)
            if isinstance(local, ast.ClassDef):
                return self._resolve_parts(
                    module, [expression.value.id, expression.attr], 1
                )
        name = self.dotted(module, expression)
        return (
            self.find(name) if name and name.split(".")[0] not in module.top else None
        )

    def list_namesakes(self, place: Place) -> list[Place]:
        """A function with those of its name beside it, as in the branches of an `if`: any may be the one."""
        if not isinstance(place.node, FUNCTIONS):
            return [place]
        module, name = place.module, place.node.name
        scope = _find_scope(module, place.node)
        namesakes: list[Place] = []
        for node in module.nodes:
            if not isinstance(node, FUNCTIONS) or node.name != name:
                continue
            is_overload = "overload" in map(ast.unparse, node.decorator_list)
            if not is_overload and _find_scope(module, node) is scope:
                namesakes.append(Place(module, node))
        return namesakes

    def method(self, name: str) -> Place | None:
        """The one method of a name that the project defines; None where there are several."""
        places = self.methods.get(name, [])
        return places[0] if len(places) == 1 else None


def _find_scope(module: Module, node: ast.AST) -> ast.AST | None:
    """The function, class or file that a node is defined in."""
    for parent in module.above(node):
        if isinstance(parent, (*FUNCTIONS, ast.ClassDef, ast.Module)):
            return parent
    return None


def _find_own_method(node: ast.AST, name: str) -> Function | None:
    """The method of a name that the body of a class defines."""
    for statement in node.body if isinstance(node, ast.ClassDef) else ():
        if isinstance(statement, FUNCTIONS) and statement.name == name:
            return statement
    return None


def list_functions(root: ast.AST) -> list[Function]:
    """The functions in a tree, its root among them."""
    functions: list[Function] = []
    for node in ast.walk(root):
        if isinstance(node, FUNCTIONS):
            functions.append(node)
    return functions


def list_calls(root: ast.AST) -> list[ast.Call]:
    """The calls in a tree, its root among them."""
    return [node for node in ast.walk(root) if isinstance(node, ast.Call)]


def list_names(root: ast.AST) -> set[str]:
    """The names that an expression or a statement uses."""
    return {node.id for node in ast.walk(root) if isinstance(node, ast.Name)}


def list_passed_values(call: ast.Call) -> list[ast.expr]:
    """The arguments of a call, those by position first."""
    return [*call.args, *(keyword.value for keyword in call.keywords)]


def index_keywords(call: ast.Call) -> dict[str, ast.expr]:
    """The keyword arguments of a call by name."""
    return {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg}


def list_keyword_values(call: ast.Call, *names: str) -> list[ast.expr]:
    """The keyword arguments of some names, in the order of the call."""
    return [keyword.value for keyword in call.keywords if keyword.arg in names]


def has_spread_keywords(call: ast.Call) -> bool:
    """Whether a call passes keyword arguments that its source does not name: `**options`."""
    return any(keyword.arg is None for keyword in call.keywords)


def list_parameter_names(function: Function) -> set[str]:
    """The names of a function's parameters."""
    return {argument.arg for argument in list_parameters(function)}


def list_parameters(function: Function) -> list[ast.arg]:
    """Every parameter of a function, but for those that take any number."""
    arguments = function.args
    return [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]


def list_caller_parameters(
    function: Function | None,
) -> Iterator[tuple[str, ast.expr | None]]:
    """The parameters of a tool's function that a caller gives, each with its annotation."""
    for parameter in list_parameters(function) if function else ():
        text = ast.unparse(parameter.annotation) if parameter.annotation else ""
        if parameter.arg not in INJECTED and "Context" not in text:
            yield parameter.arg, parameter.annotation


def decode_source(held: bytes) -> str:
    """The text of a Python file, in the encoding that it declares, its line ends kept."""
    return held.decode(detect_encoding(held))


def detect_encoding(held: bytes) -> str:
    """The encoding that a Python file declares.

    Raises:
        SyntaxError: It is none that Python knows.
    """
    return tokenize.detect_encoding(io.BytesIO(held).readline)[0]


def _list_files(root: Path) -> Iterator[Path]:
    written = set(_find_adopted_folders(root))
    for path in sorted(root.rglob("*.py")):
        parts = path.relative_to(root).parts[:-1]
        if any(part in NEVER or part.startswith(".") for part in parts) or BESIDE & {
            *parts[:1]
        }:
            continue
        if any(path.is_relative_to(folder) for folder in written):
            continue
        if not path.is_file() or path.name == "conftest.py":
            continue
        if path.is_symlink() and path.resolve().is_relative_to(root):
            continue  # it is read where it lies
        if not (path.name.startswith("test_") and PROOFS.search(path.read_bytes())):
            yield path


def _find_adopted_folders(root: Path) -> Iterator[Path]:
    """Find the folders that come from the template."""
    for profile in root.rglob("policy/profile.py"):
        if POLICY_MARK in profile.read_bytes():
            yield profile.parent
    for marker in root.rglob(ENGINE_MARKS[0]):
        if all((marker.parent / name).is_file() for name in ENGINE_MARKS):
            yield marker.parent


def _list_statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements of a file, also those under `if` and `try`."""
    for node in body:
        yield node
        for inner in ("body", "orelse", "finalbody", "handlers"):
            held = getattr(node, inner, [])
            if isinstance(node, ast.If | ast.Try | ast.With | ast.ExceptHandler):
                yield from _list_statements(held)

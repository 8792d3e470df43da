"""The Python files of a server, parsed and never run: what each name in them stands for."""

import ast
import io
import re
import tokenize
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeGuard

from ..errors import RefusedError

Function = ast.FunctionDef | ast.AsyncFunctionDef
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
# What is given to a tool by its framework, and so is not a parameter of it.
INJECTED = ("self", "cls", "ctx", "context")
# What is next to a server in its repository: functions decorated there are not tools of it.
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
    # modules of which it imports everything
    stars: list[str] = field(default_factory=list)
    top: dict[str, ast.AST] = field(default_factory=dict)
    parents: dict[ast.AST, ast.AST] = field(default_factory=dict)

    nodes: list[ast.AST] = field(default_factory=list)
    # functions whose __name__ is assigned
    renamed: set[str] = field(default_factory=set)
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
        """Parse every file below a folder.

        Raises:
            RefusedError: A file is not Python.
        """
        self.root = root
        self.modules: dict[str, Module] = {}
        for path in _list_files(root):
            module = self._parse_module(path)
            name = module.name
            if name in self.modules:  # server.py next to src/server.py
                name = str(path)
            self.modules[name] = module
        self.methods: dict[str, list[Place]] = {}
        for module in self.modules.values():
            self._index_methods(module)
        self._ends: dict[str, list[Module]] = {}
        for name, module in self.modules.items():
            self._index_ends(name, module)

    def _index_methods(self, module: Module) -> None:
        for node in module.nodes:
            if not isinstance(node, ast.ClassDef):
                continue
            for statement in node.body:
                if isinstance(statement, FUNCTIONS):
                    places = self.methods.setdefault(statement.name, [])
                    places.append(Place(module, statement))

    def _index_ends(self, name: str, module: Module) -> None:
        parts = name.split(".")
        for start in range(1, len(parts)):
            end = ".".join(parts[start:])
            self._ends.setdefault(end, []).append(module)

    def _parse_module(self, path: Path) -> Module:
        relative = path.relative_to(self.root)
        parts = list(relative.with_suffix("").parts)
        if parts[0] == "src" and len(parts) > 1:
            parts = parts[1:]
        is_package = parts[-1] == "__init__"
        package = parts[:-1]
        if is_package:
            parts = package
        text, tree = _parse_text(path, relative)
        module = Module(path, ".".join(parts), text, tree)
        module.nodes = list(ast.walk(tree))
        for node in module.nodes:
            for child in ast.iter_child_nodes(node):
                module.parents[child] = node
            if _assigns_name(node):
                function_name = ast.unparse(node.value)
                module.renamed.add(function_name)
            elif isinstance(node, ast.Import):
                _record_import(module, node)
            elif isinstance(node, ast.ImportFrom):
                _record_import_from(module, node, package)
        for statement in _list_statements(tree.body):
            _record_definitions(module, statement)
        return module

    def module(self, name: str) -> Module | None:
        """A module by its dotted name, also where the project lies deeper than its root."""
        if name in self.modules:
            return self.modules[name]
        ends = self._ends.get(name, [])
        if not ends and name.startswith("src."):  # run from the root of the checkout
            return self.module(name.removeprefix("src."))
        return ends[0] if len(ends) == 1 else None

    def find(self, dotted: str, depth: int = 5) -> Place | None:
        """What a dotted name stands for in this project."""
        parts = dotted.split(".")
        for end in range(len(parts) - 1, 0, -1):
            module = self.module(".".join(parts[:end]))
            if module is not None:
                return self._resolve_parts(module, parts[end:], depth)
        return None

    def _resolve_parts(
        self, module: Module, parts: list[str], depth: int
    ) -> Place | None:
        first, *attributes = parts
        node = module.top.get(first)
        if node is not None:
            return _find_attribute(module, node, attributes)
        if not depth:
            return None
        if first in module.imports:
            dotted = ".".join([module.imports[first], *attributes])
            return self.find(dotted, depth - 1)
        for star in module.stars:
            dotted = ".".join([star, *parts])
            place = self.find(dotted, depth - 1)
            if place is not None:
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
        parts.append(module.imports.get(expression.id, expression.id))
        parts.reverse()
        return ".".join(parts)

    def resolve(self, module: Module, expression: ast.AST) -> Place | None:
        """What an expression stands for: a name of this scope or of another file, or a method of `self`."""
        if isinstance(expression, ast.Name):
            name = expression.id
            for around in module.above(expression):
                functions = module.list_inner_functions(around)
                if name in functions:
                    return Place(module, functions[name])
            if name in module.top or name not in module.imports:
                return self._resolve_parts(module, [name], 5)
        if isinstance(expression, ast.Attribute):
            owner = expression.value
            owner_name = owner.id if isinstance(owner, ast.Name) else ""
            if owner_name in ("self", "cls"):
                return self._resolve_self(module, expression)
            if isinstance(module.top.get(owner_name), ast.ClassDef):
                parts = [owner_name, expression.attr]
                return self._resolve_parts(module, parts, 1)
        dotted = self.dotted(module, expression)
        if not dotted or get_package(dotted) in module.top:
            return None
        return self.find(dotted)

    def _resolve_self(self, module: Module, attribute: ast.Attribute) -> Place | None:
        """The method that `self` names: of its own class, otherwise the only one of that name."""
        owner = module.find_enclosing_class(attribute)
        for place in self.methods.get(attribute.attr, ()):
            if place.module.parents.get(place.node) is owner:
                return place
        return self.method(attribute.attr)

    def list_namesakes(self, place: Place) -> list[Place]:
        """A function with the others of its name, as in the branches of an `if`: any may be the one."""
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


def _parse_text(path: Path, relative: Path) -> tuple[str, ast.Module]:
    """Read and parse a file.

    Raises:
        RefusedError: The file is not Python.
    """
    try:
        text = decode_source(path.read_bytes())
        return text, ast.parse(text)
    except SyntaxError as error:
        place = f"{relative.as_posix()}:{error.lineno}"
        message = _format_parse_error(place, error.msg)
        raise RefusedError(message) from error
    except (ValueError, LookupError, RecursionError, MemoryError) as error:
        reason = str(error) or "it is nested too deeply"
        message = _format_parse_error(relative.as_posix(), reason)
        raise RefusedError(message) from error


def _format_parse_error(place: str, reason: str) -> str:
    return f"{place}: not read as Python: {reason}; fix it, or {NEWER}"


def _assigns_name(node: ast.AST) -> TypeGuard[ast.Attribute]:
    """Whether a node is the `function.__name__` of an assignment to it."""
    if not isinstance(node, ast.Attribute) or not isinstance(node.ctx, ast.Store):
        return False
    return node.attr == "__name__"


def _record_import(module: Module, node: ast.Import) -> None:
    for name in node.names:
        if name.asname:
            module.imports[name.asname] = name.name
        else:
            package = get_package(name.name)
            module.imports[package] = package


def _record_import_from(
    module: Module, node: ast.ImportFrom, package: list[str]
) -> None:
    base: list[str] = []
    if node.level:
        base = package[: len(package) - node.level + 1]
    if node.module:
        base = [*base, node.module]
    start = ".".join(base)
    for name in node.names:
        local = name.asname or name.name
        module.imports[local] = f"{start}.{name.name}".strip(".")
        if name.name == "*":
            module.stars.append(start)


def _record_definitions(module: Module, node: ast.stmt) -> None:
    """Record the function, the class or the values that a statement binds to names."""
    targets: list[ast.expr] = []
    value: ast.expr | None = None
    if isinstance(node, (*FUNCTIONS, ast.ClassDef)):
        module.top[node.name] = node
    elif isinstance(node, ast.Assign):
        targets = node.targets
        value = node.value
    elif isinstance(node, ast.AnnAssign):
        targets = [node.target]
        value = node.value
    if value is None:
        return
    for target in targets:
        if isinstance(target, ast.Name):
            module.top[target.id] = value


def _find_scope(module: Module, node: ast.AST) -> ast.AST | None:
    """The function, class or file that a node is defined in."""
    for parent in module.above(node):
        if isinstance(parent, (*FUNCTIONS, ast.ClassDef, ast.Module)):
            return parent
    return None


def get_package(dotted: str) -> str:
    """The first part of a dotted name."""
    package, _, _ = dotted.partition(".")
    return package


def _find_attribute(
    module: Module, node: ast.AST, attributes: Iterable[str]
) -> Place | None:
    """A definition, or the method of it that its attributes name."""
    for name in attributes:
        method = _find_own_method(node, name)
        if method is None:
            return None
        node = method
    return Place(module, node)


def _find_own_method(node: ast.AST, name: str) -> Function | None:
    """The method of a name that the body of a class defines."""
    if not isinstance(node, ast.ClassDef):
        return None
    for statement in node.body:
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
    values = list(call.args)
    for keyword in call.keywords:
        values.append(keyword.value)
    return values


def index_keywords(call: ast.Call) -> dict[str, ast.expr]:
    """The keyword arguments of a call by name."""
    return {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg}


def list_keyword_values(call: ast.Call, *names: str) -> list[ast.expr]:
    """The keyword arguments of some names, in the order of the call."""
    return [keyword.value for keyword in call.keywords if keyword.arg in names]


def has_spread_keywords(call: ast.Call) -> bool:
    """Whether a call passes keyword arguments that its source does not name: `**options`."""
    return any(keyword.arg is None for keyword in call.keywords)


def is_abstract(node: ast.AST) -> bool:
    """Whether a function has no body: only `...`, an error that it is not implemented, or the mark of an abstract one."""
    if not isinstance(node, FUNCTIONS):
        return False
    if any("abstract" in ast.unparse(decorator) for decorator in node.decorator_list):
        return True
    body = node.body[1:] if ast.get_docstring(node) is not None else node.body
    match body:
        case [ast.Raise(exc=ast.expr() as error)]:
            return "NotImplementedError" in ast.unparse(error)
        case [ast.Expr(value=ast.Constant(value=value))]:
            return value is ...
    return False


def list_parameter_names(function: Function) -> set[str]:
    """The names of a function's parameters."""
    return {argument.arg for argument in list_parameters(function)}


def list_parameters(function: Function) -> list[ast.arg]:
    """Every parameter of a function, but for those that take any number."""
    arguments = function.args
    by_position = arguments.posonlyargs + arguments.args
    return by_position + arguments.kwonlyargs


def index_defaults(function: Function | None) -> dict[str, ast.expr]:
    """The defaults of a function's parameters, by name."""
    if function is None:
        return {}
    signature = function.args
    positional = [*signature.posonlyargs, *signature.args]
    first = len(positional) - len(signature.defaults)
    defaults: dict[str, ast.expr] = {}
    for argument, default in zip(positional[first:], signature.defaults, strict=True):
        defaults[argument.arg] = default
    for argument, value in zip(
        signature.kwonlyargs, signature.kw_defaults, strict=True
    ):
        if value is not None:
            defaults[argument.arg] = value
    return defaults


def list_caller_parameters(
    function: Function | None,
) -> Iterator[tuple[str, ast.expr | None]]:
    """The parameters of a tool's function that a caller gives, each with its annotation."""
    if function is None:
        return
    for parameter in list_parameters(function):
        annotation = parameter.annotation
        text = ast.unparse(annotation) if annotation else ""
        if parameter.arg not in INJECTED and "Context" not in text:
            yield parameter.arg, annotation


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
    adopted = set(_find_adopted_folders(root))
    for path in sorted(root.rglob("*.py")):
        *folders, _ = path.relative_to(root).parts
        if _is_ignored(folders) or not path.is_file():
            continue
        if any(map(path.is_relative_to, adopted)):
            continue
        if path.is_symlink() and path.resolve().is_relative_to(root):
            continue  # its target is read
        if not _is_test(path):
            yield path


def _is_ignored(folders: list[str]) -> bool:
    """Whether the folders of a file, from the root on, hold no code of the server."""
    if folders and folders[0] in BESIDE:
        return True
    if not NEVER.isdisjoint(folders):
        return True
    return any(name.startswith(".") for name in folders)


def _is_test(path: Path) -> bool:
    if path.name == "conftest.py":
        return True
    if not path.name.startswith("test_"):
        return False
    return PROOFS.search(path.read_bytes()) is not None


def _find_adopted_folders(root: Path) -> Iterator[Path]:
    """Find the folders that come from the template."""
    for profile in root.rglob("policy/profile.py"):
        if POLICY_MARK in profile.read_bytes():
            yield profile.parent
    for marker in root.rglob(ENGINE_MARKS[0]):
        folder = marker.parent
        if all((folder / name).is_file() for name in ENGINE_MARKS):
            yield folder


def _list_statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements of a file, also those under `if` and `try`."""
    for node in body:
        yield node
        if not isinstance(node, ast.If | ast.Try | ast.With | ast.ExceptHandler):
            continue
        for block in ("body", "orelse", "finalbody", "handlers"):
            yield from _list_statements(getattr(node, block, []))

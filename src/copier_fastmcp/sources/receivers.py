"""The class of the object on which a tool is registered, as far as the source proves it."""

import ast
from collections.abc import Iterator

from .modules import (
    FUNCTIONS,
    Function,
    Module,
    Place,
    Project,
    get_package,
    list_parameters,
)

FASTMCP, SDK_1, SDK_2 = "FastMCP", "SDK 1", "SDK 2"
# Classes whose method `tool` accepts `annotations`, by their full names.
SERVER_CLASSES = {
    "fastmcp.FastMCP": FASTMCP,
    "fastmcp.server.FastMCP": FASTMCP,
    "fastmcp.server.server.FastMCP": FASTMCP,
    "mcp.server.FastMCP": SDK_1,
    "mcp.server.fastmcp.FastMCP": SDK_1,
    "mcp.server.fastmcp.server.FastMCP": SDK_1,
    "mcp.server.MCPServer": SDK_2,
    "mcp.server.mcpserver.MCPServer": SDK_2,
    "mcp.server.mcpserver.server.MCPServer": SDK_2,
}
# Classes whose class method `from_function` accepts `annotations`.
TOOL_CLASSES = {
    "fastmcp.tools.Tool": FASTMCP,
    "fastmcp.tools.FunctionTool": FASTMCP,
    "fastmcp.tools.tool.Tool": FASTMCP,
    "fastmcp.tools.tool.FunctionTool": FASTMCP,
    "fastmcp.tools.base.Tool": FASTMCP,
    "fastmcp.tools.function_tool.FunctionTool": FASTMCP,
    "mcp.server.fastmcp.tools.Tool": SDK_1,
    "mcp.server.fastmcp.tools.base.Tool": SDK_1,
    "mcp.server.mcpserver.tools.Tool": SDK_2,
    "mcp.server.mcpserver.tools.base.Tool": SDK_2,
}
DECORATORS = {
    "fastmcp.tools.tool": FASTMCP,
    "fastmcp.tool": FASTMCP,
    "fastmcp.contrib.mcp_mixin.mcp_tool": FASTMCP,
    "fastmcp.contrib.mcp_mixin.mcp_mixin.mcp_tool": FASTMCP,
}
ANNOTATION_CLASSES = {
    "mcp.ToolAnnotations",
    "mcp.types.ToolAnnotations",
    "mcp_types.ToolAnnotations",
    "mcp_types._types.ToolAnnotations",
}
TOOL_TYPES = {"mcp.Tool", "mcp.types.Tool", "mcp_types.Tool", "mcp_types._types.Tool"}
DEEPEST = 6


class Receivers:
    """Resolves expressions of one project to the classes of FastMCP and of the SDK."""

    def __init__(self, project: Project) -> None:
        """Learn where the method `tool` of an object or a class is replaced."""
        self.project = project
        self._calls: dict[str, list[tuple[Module, ast.Call]]] = {}
        for module in project.modules.values():
            for node in module.nodes:
                if isinstance(node, ast.Call):
                    name = _last_name(node.func)
                    self._calls.setdefault(name, []).append((module, node))
        self.replaced = any(self._replaces_tool())

    def find_registration_framework(self, module: Module, site: ast.expr) -> str:
        """The framework whose method a decorator or a call is, and which accepts `annotations` there.

        Returns:
            `FastMCP`, `SDK 1` or `SDK 2`; empty where the source does not prove it.
        """
        target = site.func if isinstance(site, ast.Call) else site
        name = self.resolve_external_name(module, target)
        if name in DECORATORS:
            return DECORATORS[name]
        if not isinstance(target, ast.Attribute):
            return ""
        if target.attr == "from_function":
            owner = self.resolve_external_name(module, target.value)
            return TOOL_CLASSES.get(owner, "")
        if self.replaced or target.attr not in ("tool", "add_tool"):
            return ""
        framework = self.find_framework(module, target.value)
        if target.attr == "add_tool" and framework == FASTMCP:
            return ""  # FastMCP's own `add_tool` has no annotations
        return framework

    def find_framework(
        self, module: Module, expression: ast.AST | None, depth: int = DEEPEST
    ) -> str:
        """The framework of the server that an expression holds; empty where that is not certain."""
        if expression is None or not depth:
            return ""
        if isinstance(expression, ast.Await):
            return self.find_framework(module, expression.value, depth)
        if isinstance(expression, ast.Call):
            return self._find_call_framework(module, expression, depth - 1)
        if isinstance(expression, ast.Name):
            return self._find_name_framework(module, expression, depth - 1)
        if isinstance(expression, ast.Attribute):
            return self._find_attribute_framework(module, expression, depth - 1)
        return ""

    def resolve_external_name(
        self, module: Module, expression: ast.AST, depth: int = DEEPEST
    ) -> str:
        """The full name that an expression has outside the project; empty where it may have several."""
        dotted = self.project.dotted(module, expression)
        if not dotted:
            return ""
        first = _first_name(expression)
        if len(_import_targets(module, first)) > 1:
            return ""
        for _ in range(depth):
            above, _, name = dotted.rpartition(".")
            inner = self.project.module(above) if above else None
            if inner is None or name in inner.top or name not in inner.imports:
                return dotted
            if len(_import_targets(inner, name)) > 1:
                return ""
            dotted = inner.imports[name]
        return dotted

    def find_server_framework(
        self, module: Module, expression: ast.AST, depth: int = DEEPEST
    ) -> str:
        """The framework of a class: one of FastMCP or of the SDK, or a subclass that keeps its `tool`."""
        if isinstance(expression, ast.Subscript):
            expression = expression.value
        class_name = self.resolve_external_name(module, expression)
        own_framework = SERVER_CLASSES.get(class_name, "")
        if not own_framework and isinstance(expression, ast.Name):
            own_framework = _find_common_class(module, expression.id)
        if own_framework or not depth:
            return own_framework
        place = self.project.resolve(module, expression)
        if place is None or not isinstance(place.node, ast.ClassDef):
            return ""
        for method in place.node.body:
            if not isinstance(method, FUNCTIONS):
                continue
            if method.name in ("tool", "add_tool") and not _forwards_options(method):
                return ""
        for base in place.node.bases:
            framework = self.find_server_framework(place.module, base, depth - 1)
            if framework:
                return framework
        return ""

    def is_annotations(self, module: Module, call: ast.Call) -> bool:
        """Whether a call makes the protocol's own ToolAnnotations."""
        return self.resolve_external_name(module, call.func) in ANNOTATION_CLASSES

    def is_tool_type(self, module: Module, call: ast.Call) -> bool:
        """Whether a call makes the protocol's own Tool, as low-level servers list them."""
        return self.resolve_external_name(module, call.func) in TOOL_TYPES

    def _find_call_framework(self, module: Module, call: ast.Call, depth: int) -> str:
        if framework := self.find_server_framework(module, call.func):
            return framework
        place = self.project.resolve(module, call.func)
        if place is None or not isinstance(place.node, FUNCTIONS):
            return ""
        if place.node.returns is not None:
            return self._find_annotation_framework(place.module, place.node.returns)
        returned: list[tuple[Module, ast.expr]] = []
        for node in ast.walk(place.node):
            if isinstance(node, ast.Return) and node.value is not None:
                returned.append((place.module, node.value))
        return self._find_common_framework(returned, depth)

    def _find_name_framework(self, module: Module, name: ast.Name, depth: int) -> str:
        for around in module.above(name):
            if not isinstance(around, FUNCTIONS):
                continue
            values = _list_assigned_places(module, around, name.id)
            if values:
                return self._find_common_framework(values, depth)
            argument = _find_parameter(around, name.id)
            if argument is not None:
                return self._find_parameter_framework(module, around, argument, depth)
        if name.id in module.top:
            values = _list_assigned_places(module, module.tree, name.id)
            return self._find_common_framework(values, depth)
        if len(_import_targets(module, name.id)) != 1:
            return ""
        place = self.project.find(module.imports[name.id])
        return self._find_place_framework(place, name.id, depth)

    def _find_place_framework(self, place: Place | None, name: str, depth: int) -> str:
        if place is None or not isinstance(place.node, ast.expr):
            return ""
        module = place.module
        values = _list_assigned_places(module, module.tree, name)
        return self._find_common_framework(values or [(module, place.node)], depth)

    def _find_attribute_framework(
        self, module: Module, attribute: ast.Attribute, depth: int
    ) -> str:
        held = attribute.value
        if isinstance(held, ast.Name) and held.id in ("self", "cls"):
            owner = module.find_enclosing_class(attribute)
            if owner is None:
                return ""
            return self._find_member_framework(module, owner, attribute.attr, depth)
        place = self.project.resolve(module, attribute)
        if place is not None and isinstance(place.node, ast.expr):
            return self._find_place_framework(place, attribute.attr, depth)
        class_place = self._find_project_class(module, held, depth)
        if class_place is None or not isinstance(class_place.node, ast.ClassDef):
            return ""
        module, owner = class_place.module, class_place.node
        return self._find_member_framework(module, owner, attribute.attr, depth)

    def _find_project_class(
        self, module: Module, held: ast.expr, depth: int
    ) -> Place | None:
        """The class of the project that an expression is an instance of; None where that is not certain."""
        if not depth or not isinstance(held, ast.Name | ast.Call):
            return None
        if isinstance(held, ast.Call):
            place = self.project.resolve(module, held.func)
            return place if place and isinstance(place.node, ast.ClassDef) else None
        for around in module.above(held):
            if not isinstance(around, FUNCTIONS):
                continue
            if _list_assigned_values(around, held.id):
                continue
            argument = _find_parameter(around, held.id)
            if argument is not None:
                return self._find_parameter_class(module, around, argument, depth)
        place = self.project.resolve(module, held)
        if place is not None and isinstance(place.node, ast.Call):
            return self._find_project_class(place.module, place.node, depth - 1)
        return None

    def _find_parameter_class(
        self, module: Module, function: Function, argument: ast.arg, depth: int
    ) -> Place | None:
        if argument.arg == "self":
            owner = module.parents.get(function)
            return Place(module, owner) if isinstance(owner, ast.ClassDef) else None
        if argument.annotation is not None and not _is_any(argument.annotation):
            return self._resolve_annotation(module, argument.annotation)
        first: Place | None = None
        for where, value in self._list_passed_values(module, function, argument):
            place = self._find_project_class(where, value, depth - 1)
            if place is None:
                return None
            first = first or place
            if place.node is not first.node:
                return None
        return first

    def _resolve_annotation(self, module: Module, annotation: ast.expr) -> Place | None:
        parsed = _parse_annotation(annotation)
        if parsed is None:
            return None
        place = self.project.resolve(module, parsed)
        return place if place and isinstance(place.node, ast.ClassDef) else None

    def _find_member_framework(
        self, module: Module, owner: ast.ClassDef, name: str, depth: int
    ) -> str:
        """The framework of what every assignment to an attribute of a class puts there."""
        values: list[tuple[Module, ast.expr]] = []
        for node in ast.walk(owner):
            if isinstance(node, ast.Assign):
                if any(_is_member(target, name) for target in node.targets):
                    values.append((module, node.value))
            elif isinstance(node, ast.AnnAssign):
                member = _is_member(node.target, name)
                if member or (node in owner.body and _first_name(node.target) == name):
                    return self._find_annotation_framework(module, node.annotation)
        return self._find_common_framework(values, depth)

    def _find_parameter_framework(
        self, module: Module, function: Function, argument: ast.arg, depth: int
    ) -> str:
        """The framework of a parameter: by its annotation, else what every call in the project gives it."""
        if argument.annotation is not None and not _is_any(argument.annotation):
            return self._find_annotation_framework(module, argument.annotation)
        values = self._list_passed_values(module, function, argument)
        return self._find_common_framework(values, depth)

    def _list_passed_values(
        self, module: Module, function: Function, argument: ast.arg
    ) -> list[tuple[Module, ast.expr]]:
        """What the calls in the project give for a parameter; nothing where one of them cannot be seen."""
        owner = module.parents.get(function)
        in_class = isinstance(owner, ast.ClassDef)
        called = function.name
        if isinstance(owner, ast.ClassDef) and function.name == "__init__":
            called = owner.name
        values: list[tuple[Module, ast.expr]] = []
        for place, call in self._calls.get(called, ()):
            value = _find_argument(function, call, argument.arg, skips_first=in_class)
            if value is None:
                return []
            values.append((place, value))
        return values

    def _find_annotation_framework(self, module: Module, annotation: ast.expr) -> str:
        """The framework that an annotation names; `X | None`, `"X"` and `X[T]` count as X."""
        parsed = _parse_annotation(annotation)
        if parsed is None or isinstance(parsed, ast.Constant):
            return ""
        if isinstance(parsed, ast.BinOp):
            inner = _find_optional_type(parsed)
            return self._find_annotation_framework(module, inner) if inner else ""
        if isinstance(parsed, ast.Subscript):
            if _last_name(parsed.value) in ("Optional", "Annotated"):
                first = parsed.slice
                if isinstance(first, ast.Tuple):
                    first = first.elts[0]
                return self._find_annotation_framework(module, first)
            parsed = parsed.value
        return self.find_server_framework(module, parsed)

    def _find_common_framework(
        self, values: list[tuple[Module, ast.expr]], depth: int
    ) -> str:
        """The one framework that all of several values are of; a None among them does not count."""
        frameworks: set[str] = set()
        for module, value in values:
            if not _is_none(value):
                frameworks.add(self.find_framework(module, value, depth))
        return frameworks.pop() if len(frameworks) == 1 else ""

    def _replaces_tool(self) -> Iterator[bool]:
        for module in self.project.modules.values():
            for node in module.nodes:
                if not isinstance(node, ast.Attribute) or node.attr != "tool":
                    continue
                if isinstance(node.ctx, ast.Store):
                    yield self._is_server(module, node.value)
        for module, call in self._calls.get("setattr", ()):
            if len(call.args) < 2:
                continue
            owner, name = call.args[:2]
            if isinstance(name, ast.Constant) and name.value == "tool":
                yield self._is_server(module, owner)

    def _is_server(self, module: Module, expression: ast.expr) -> bool:
        """Whether an expression is a server, or the class of one."""
        if self.find_framework(module, expression):
            return True
        return bool(self.find_server_framework(module, expression))


def _find_parameter(function: Function, name: str) -> ast.arg | None:
    for argument in list_parameters(function):
        if argument.arg == name:
            return argument
    return None


def _parse_annotation(annotation: ast.expr) -> ast.expr | None:
    """An annotation as an expression, also where it is written as text; None where that text is no Python."""
    if not isinstance(annotation, ast.Constant):
        return annotation
    if not isinstance(annotation.value, str):
        return annotation
    try:
        return ast.parse(annotation.value, mode="eval").body
    except SyntaxError:
        return None


def _find_optional_type(union: ast.BinOp) -> ast.expr | None:
    """The X of `X | None`."""
    if _is_none(union.right):
        return union.left
    return union.right if _is_none(union.left) else None


def _is_none(expression: ast.expr) -> bool:
    return isinstance(expression, ast.Constant) and expression.value is None


def _is_any(annotation: ast.expr) -> bool:
    return ast.unparse(annotation) in ("Any", "typing.Any", "object")


def _is_member(target: ast.expr, name: str) -> bool:
    """Whether an expression is `self.name`."""
    if not isinstance(target, ast.Attribute) or target.attr != name:
        return False
    return isinstance(target.value, ast.Name) and target.value.id == "self"


def _forwards_options(method: Function) -> bool:
    """Whether an overridden method hands every keyword argument to the method that it overrides."""
    options = method.args.kwarg
    if options is None:
        return False
    forwarded = []
    for node in ast.walk(method):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        held = node.func.value
        if isinstance(held, ast.Call) and _last_name(held.func) == "super":
            forwarded.append(_spreads_keywords(node, options.arg))
    return bool(forwarded) and all(forwarded)


def _spreads_keywords(call: ast.Call, name: str) -> bool:
    """Whether a call passes on the keyword arguments of a name: `**options`."""
    for keyword in call.keywords:
        if keyword.arg is None and _first_name(keyword.value) == name:
            return True
    return False


def _first_name(expression: ast.AST) -> str:
    while isinstance(expression, ast.Attribute | ast.Subscript):
        expression = expression.value
    return expression.id if isinstance(expression, ast.Name) else ""


def _last_name(expression: ast.AST) -> str:
    if isinstance(expression, ast.Attribute):
        return expression.attr
    return expression.id if isinstance(expression, ast.Name) else ""


def _import_targets(module: Module, name: str) -> set[str]:
    """What the imports of a file may make of a name: more than one thing behind `try` or `if`."""
    targets: set[str] = set()
    if name not in module.imports:
        return targets
    for node in module.nodes:
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                if (alias.asname or alias.name) == name:
                    dots = "." * node.level
                    targets.add(f"{dots}{node.module}:{alias.name}")
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if alias.asname == name:
                    targets.add(alias.name)
                elif alias.asname is None and get_package(alias.name) == name:
                    targets.add(name)
    return targets


def _find_common_class(module: Module, name: str) -> str:
    """The framework of a server class that a file imports from one of several places.

    Returns:
        SDK 1 for classes of several frameworks, since the others take its annotations too; empty: one is unknown.
    """
    frameworks: set[str] = set()
    for target in _import_targets(module, name):
        frameworks.add(SERVER_CLASSES.get(target.replace(":", "."), ""))
    if not frameworks or "" in frameworks:
        return ""
    return frameworks.pop() if len(frameworks) == 1 else SDK_1


def _list_assigned_values(scope: ast.AST, name: str) -> list[ast.expr]:
    """The values that are assigned to a name in a scope, also by `with` and in branches."""
    values: list[ast.expr] = []
    level: list[ast.AST] = list(ast.iter_child_nodes(scope))
    while level:
        node = level.pop()
        if isinstance(node, (*FUNCTIONS, ast.ClassDef, ast.Lambda)):
            continue
        targets: list[ast.expr] = []
        value: ast.expr | None = None
        if isinstance(node, ast.Assign):
            targets = node.targets
            value = node.value
        elif isinstance(node, ast.AnnAssign | ast.NamedExpr):
            targets = [node.target]
            value = node.value
        elif isinstance(node, ast.For | ast.AsyncFor):
            targets = [node.target]
            value = ast.Tuple([], ast.Load())  # one of several values
        if value is not None:
            for target in targets:
                if isinstance(target, ast.Name) and target.id == name:
                    values.append(value)
        level.extend(ast.iter_child_nodes(node))
    return values


def _list_assigned_places(
    module: Module, scope: ast.AST, name: str
) -> list[tuple[Module, ast.expr]]:
    """The values that are assigned to a name in a scope, each with its file."""
    return [(module, value) for value in _list_assigned_values(scope, name)]


def _find_argument(
    function: Function, call: ast.Call, name: str, *, skips_first: bool
) -> ast.expr | None:
    """What a call gives for a parameter; None where that cannot be seen."""
    for keyword in call.keywords:
        if keyword.arg == name:
            return keyword.value
    parameters = function.args.posonlyargs + function.args.args
    names = [parameter.arg for parameter in parameters]
    if skips_first and names and names[0] in ("self", "cls"):
        names = names[1:]
    if name not in names:
        return None
    place = names.index(name)
    arguments = call.args[: place + 1]
    if len(arguments) <= place:
        return None
    if any(isinstance(value, ast.Starred) for value in arguments):
        return None
    return arguments[place]

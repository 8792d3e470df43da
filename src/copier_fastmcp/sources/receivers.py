"""The class of the object on which a tool is registered, as far as the source proves it."""

import ast
from collections.abc import Iterator

from .modules import FUNCTIONS, Function, Module, Place, Project, list_parameters

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
DECORATORS = {"fastmcp.tools.tool": FASTMCP, "fastmcp.tool": FASTMCP}
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
            return TOOL_CLASSES.get(
                self.resolve_external_name(module, target.value), ""
            )
        if self.replaced:
            return ""
        framework = self.find_framework(module, target.value)
        if target.attr == "tool":
            return framework
        if target.attr == "add_tool" and framework in (SDK_1, SDK_2):
            return framework
        return ""

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
        own_framework = SERVER_CLASSES.get(
            self.resolve_external_name(module, expression), ""
        )
        if own_framework or not depth:
            return own_framework
        place = self.project.resolve(module, expression)
        if place is None or not isinstance(place.node, ast.ClassDef):
            return ""
        for method in place.node.body:
            if not isinstance(method, FUNCTIONS) or method.name not in (
                "tool",
                "add_tool",
            ):
                continue
            if not _forwards_options(method):
                return ""
        for base in place.node.bases:
            if base_framework := self.find_server_framework(
                place.module, base, depth - 1
            ):
                return base_framework
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
        returned = [
            node.value
            for node in ast.walk(place.node)
            if isinstance(node, ast.Return) and node.value is not None
        ]
        return self._find_common_framework(
            [(place.module, value) for value in returned], depth
        )

    def _find_name_framework(self, module: Module, name: ast.Name, depth: int) -> str:
        for around in module.above(name):
            if not isinstance(around, FUNCTIONS):
                continue
            if _list_assigned_values(around, name.id):
                values = [
                    (module, value) for value in _list_assigned_values(around, name.id)
                ]
                return self._find_common_framework(values, depth)
            for argument in list_parameters(around):
                if argument.arg == name.id:
                    return self._find_parameter_framework(
                        module, around, argument, depth
                    )
        if name.id in module.top:
            values = [
                (module, value) for value in _list_assigned_values(module.tree, name.id)
            ]
            return self._find_common_framework(values, depth) if values else ""
        if len(_import_targets(module, name.id)) != 1:
            return ""
        place = self.project.find(module.imports[name.id])
        return self._find_place_framework(place, name.id, depth)

    def _find_place_framework(self, place: Place | None, name: str, depth: int) -> str:
        if place is None or not isinstance(place.node, ast.expr):
            return ""
        values = [
            (place.module, value)
            for value in _list_assigned_values(place.module.tree, name)
        ]
        return self._find_common_framework(
            values or [(place.module, place.node)], depth
        )

    def _find_attribute_framework(
        self, module: Module, attribute: ast.Attribute, depth: int
    ) -> str:
        held = attribute.value
        if isinstance(held, ast.Name) and held.id in ("self", "cls"):
            owner = next(
                (n for n in module.above(attribute) if isinstance(n, ast.ClassDef)),
                None,
            )
            return (
                self._find_member_framework(module, owner, attribute.attr, depth)
                if owner
                else ""
            )
        place = self.project.resolve(module, attribute)
        if place is not None and isinstance(place.node, ast.expr):
            return self._find_place_framework(place, attribute.attr, depth)
        owner_place = self._find_project_class(module, held, depth)
        if owner_place is not None and isinstance(owner_place.node, ast.ClassDef):
            return self._find_member_framework(
                owner_place.module, owner_place.node, attribute.attr, depth
            )
        return ""

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
            for argument in list_parameters(around):
                if argument.arg == held.id and not _list_assigned_values(
                    around, held.id
                ):
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
        values = self._list_passed_values(module, function, argument)
        classes = [
            self._find_project_class(where, value, depth - 1) for where, value in values
        ]
        nodes = {place.node for place in classes if place}
        return classes[0] if len(nodes) == 1 and None not in classes else None

    def _resolve_annotation(self, module: Module, annotation: ast.expr) -> Place | None:
        if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
            try:
                annotation = ast.parse(annotation.value, mode="eval").body
            except SyntaxError:
                return None
        place = self.project.resolve(module, annotation)
        return place if place and isinstance(place.node, ast.ClassDef) else None

    def _find_member_framework(
        self, module: Module, owner: ast.ClassDef, name: str, depth: int
    ) -> str:
        """The framework of what every assignment to an attribute of a class puts there."""
        values: list[tuple[Module, ast.expr]] = []
        for node in ast.walk(owner):
            if isinstance(node, ast.Assign):
                for target in node.targets:
                    if _is_member(target, name):
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
        return self._find_common_framework(
            self._list_passed_values(module, function, argument), depth
        )

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
        if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
            try:
                annotation = ast.parse(annotation.value, mode="eval").body
            except SyntaxError:
                return ""
        if isinstance(annotation, ast.Constant):
            return ""
        if isinstance(annotation, ast.BinOp):
            sides = [
                side
                for side in (annotation.left, annotation.right)
                if not _is_none(side)
            ]
            return (
                self._find_annotation_framework(module, sides[0])
                if len(sides) == 1
                else ""
            )
        if isinstance(annotation, ast.Subscript):
            if ast.unparse(annotation.value).rpartition(".")[2] in (
                "Optional",
                "Annotated",
            ):
                inner = annotation.slice
                first = inner.elts[0] if isinstance(inner, ast.Tuple) else inner
                return self._find_annotation_framework(module, first)
            return self.find_server_framework(module, annotation.value)
        return self.find_server_framework(module, annotation)

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
                    yield bool(
                        self.find_framework(module, node.value)
                        or self.find_server_framework(module, node.value)
                    )
                    continue
        for module, call in self._calls.get("setattr", ()):
            named = call.args[1] if len(call.args) > 1 else None
            if isinstance(named, ast.Constant) and named.value == "tool":
                yield bool(
                    self.find_framework(module, call.args[0])
                    or self.find_server_framework(module, call.args[0])
                )


def _is_none(expression: ast.expr) -> bool:
    return isinstance(expression, ast.Constant) and expression.value is None


def _is_any(annotation: ast.expr) -> bool:
    return ast.unparse(annotation) in ("Any", "typing.Any", "object")


def _is_member(target: ast.expr, name: str) -> bool:
    return (
        isinstance(target, ast.Attribute)
        and target.attr == name
        and isinstance(target.value, ast.Name)
        and target.value.id == "self"
    )


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
        if isinstance(node, ast.Import | ast.ImportFrom):
            for alias in node.names:
                local = alias.asname or (
                    alias.name
                    if isinstance(node, ast.ImportFrom)
                    else alias.name.split(".")[0]
                )
                if local == name:
                    source = (
                        f"{'.' * node.level}{node.module}"
                        if isinstance(node, ast.ImportFrom)
                        else ""
                    )
                    plain = alias.name if alias.asname else local
                    targets.add(f"{source}:{alias.name}" if source else plain)
    return targets


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
            targets, value = node.targets, node.value
        elif isinstance(node, ast.AnnAssign | ast.NamedExpr):
            targets, value = [node.target], node.value
        elif isinstance(node, ast.For | ast.AsyncFor):
            targets, value = [node.target], ast.Tuple([], ast.Load())  # one of several
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
    names = [
        argument.arg for argument in (*function.args.posonlyargs, *function.args.args)
    ]
    if skips_first and names and names[0] in ("self", "cls"):
        names = names[1:]
    if name not in names:
        return None
    place = names.index(name)
    arguments = call.args[: place + 1]
    if len(arguments) <= place or any(
        isinstance(value, ast.Starred) for value in arguments
    ):
        return None
    return arguments[place]

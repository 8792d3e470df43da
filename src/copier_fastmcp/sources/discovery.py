"""The tools of a server, found in its source in every style in which they are written."""

import ast
from collections.abc import Iterator, Sequence
from dataclasses import replace

from .low_level import LowLevelTools
from .modules import (
    FUNCTIONS,
    Function,
    Module,
    Place,
    Project,
    get_package,
    list_functions,
    list_keyword_values,
    list_names,
    list_parameter_names,
)
from .mounts import find_mounts, name_server
from .receivers import DECORATORS, Receivers
from .registrations import RegistrationArguments, SourceTool

SERVERS = ("FastMCP", "MCPServer")
MADE_ELSEWHERE = {
    "from_openapi": "the tools of an OpenAPI document",
    "from_fastapi": "the tools of a FastAPI application",
    "as_proxy": "the tools of another server",
    "create_proxy": "the tools of another server",
}
DECLARE = "say what each does with declare(name, behavior)"
NOT_FUNCTIONS = (ast.Constant, ast.JoinedStr, ast.Starred)
RESOLVABLE = (ast.Name, ast.Attribute, ast.Call)
LAMBDA = "it is a lambda; write it as a function, or use policy.tool(...)"
LOOP = "it is registered in a loop; call policy.tool(mcp, function, behavior=...) there"


class ToolDiscovery(RegistrationArguments):
    """Finds the tools of a project."""

    def __init__(self, project: Project) -> None:
        """Learn which server is mounted in which."""
        self.project = project
        self.receivers = Receivers(project)
        self.mounted, self.prefixes = find_mounts(project)
        # Registrations of what a function around them gets, and those that a decorator has led to.
        self._passed_on: list[SourceTool] = []
        self._followed: set[ast.AST] = set()

    def find_tools(self) -> list[SourceTool]:
        """Every tool, in the order of the files."""
        rows: dict[tuple[str, int], SourceTool] = {}
        for tool in self._list_registered_tools():
            prefix = self.prefixes.get(tool.server, "")
            named = replace(tool, name=f"{prefix}{tool.name}", local=tool.name)
            site = named.function or named.site
            rows.setdefault((named.name, id(site)), named)
        for tool in self._passed_on:
            if tool.site not in self._followed:
                rows.setdefault((tool.name, id(tool.site)), tool)
        if any(tool.reason for tool in rows.values()):
            for tool in self._list_marked_tools():
                rows.setdefault((tool.name, id(tool.function)), tool)
        for tool in LowLevelTools(self.project, self.receivers).find():
            rows.setdefault((tool.name, id(tool.site)), tool)
        return sorted(rows.values(), key=_sort_by_place)

    def _list_registered_tools(self) -> Iterator[SourceTool]:
        for module in self.project.modules.values():
            for node in module.nodes:
                yield from self._list_decorated_tools(module, node)
                yield from self._list_called_tools(module, node)

    def _list_marked_tools(self) -> Iterator[SourceTool]:
        """The functions that a decorator of the project marks as tools, for a loop that registers them."""
        for module in self.project.modules.values():
            for node in module.nodes:
                if not isinstance(node, FUNCTIONS):
                    continue
                for decorator in node.decorator_list:
                    tool = self._build_marked_tool(module, node, decorator)
                    if tool is not None:
                        yield tool

    def _build_marked_tool(
        self, module: Module, function: Function, decorator: ast.expr
    ) -> SourceTool | None:
        call = decorator if isinstance(decorator, ast.Call) else None
        target = call.func if call else decorator
        place = self.project.resolve(module, target)
        if place is None or not isinstance(place.node, FUNCTIONS):
            return None
        marker = place.node.name
        if "tool" not in marker.split("_"):
            return None
        if any(self._list_inner_registrations(module, target)):
            return None
        registration = SourceTool("", module, decorator)
        if call:
            registration = self.parse_registration(module, call)
        name = registration.name or function.name
        return replace(
            registration,
            name=name,
            local=name,
            site=decorator,
            function=function,
            home=module,
            own_decorator=marker,
            marked=True,
        )

    # decorators

    def _list_decorated_tools(
        self, module: Module, node: ast.AST
    ) -> Iterator[SourceTool]:
        if not isinstance(node, FUNCTIONS):
            return
        for decorator in node.decorator_list:
            call = decorator if isinstance(decorator, ast.Call) else None
            target = call.func if call else decorator
            place = Place(module, node)
            if self._is_registration(module, target):
                yield self._build_tool(module, decorator, call, place)
                continue
            if self._may_register(module, decorator):
                tool = self._build_tool(module, decorator, None, place)
                yield replace(tool, own_decorator=ast.unparse(decorator))
                continue
            for inner in self._list_inner_registrations(module, target):
                self._followed.add(inner.node)
                tool = self._build_tool(module, decorator, call, place)
                registration = self.parse_registration(inner.module, inner.node)
                name = node.name
                if call is not None and list_keyword_values(call, "name"):
                    name = tool.name
                yield replace(
                    tool,
                    name=self._format_inner_name(inner.node, name),
                    own_decorator=ast.unparse(target),
                    hints=tool.hints or registration.hints,
                )

    def _may_register(self, module: Module, decorator: ast.expr) -> bool:
        """Whether a decorator is chosen while the server starts: `(mcp.tool if DEBUG else plain)`."""
        if not isinstance(decorator, ast.IfExp | ast.BoolOp):
            return False
        for node in ast.walk(decorator):
            if isinstance(node, ast.expr) and self._is_registration(module, node):
                return True
        return False

    def _is_registration(self, module: Module, target: ast.expr) -> bool:
        """Whether an expression is `mcp.tool`, of whatever holds a server."""
        if isinstance(target, ast.Name):
            return module.imports.get(target.id) in DECORATORS
        if not isinstance(target, ast.Attribute) or target.attr != "tool":
            return False
        return self._is_server(module, target.value)

    def _is_server(self, module: Module, expression: ast.expr) -> bool:
        place = self.project.resolve(module, expression)
        if place and isinstance(place.node, ast.Call):
            class_name = self.project.dotted(place.module, place.node.func)
            package, dot, _ = class_name.partition(".")
            if not dot or package in ("fastmcp", "mcp"):
                return True
            own_packages = {get_package(name) for name in self.project.modules}
            return package in own_packages
        name = self.project.dotted(module, expression)
        return get_package(name) != "pydantic_ai"

    def _format_inner_name(self, call: ast.AST, name: str) -> str:
        """The name that a decorator of the project's own gives: the one that it got, or that with more around it."""
        if not isinstance(call, ast.Call):
            return name
        for value in list_keyword_values(call, "name"):
            if not isinstance(value, ast.JoinedStr):
                continue
            text = ""
            for part in value.values:
                text += str(part.value) if isinstance(part, ast.Constant) else name
            return text
        return name

    def _list_inner_registrations(
        self, module: Module, target: ast.expr
    ) -> Iterator[Place]:
        """The calls that register inside a decorator of the project's own, one level down."""
        place = self._resolve_decorator(module, target)
        if place is None or not isinstance(place.node, FUNCTIONS):
            return
        for node in ast.walk(place.node):
            if not isinstance(node, ast.Call):
                continue
            if not isinstance(node.func, ast.Attribute):
                continue
            registers = self._is_registration(place.module, node.func)
            if not registers and node.func.attr != "add_tool":
                continue
            if self._takes_parameter(place.module, node, place.node):
                yield Place(place.module, node)

    def _resolve_decorator(self, module: Module, target: ast.expr) -> Place | None:
        """The function of the project that a decorator is, or that has made it: `tool = make_gate(mcp)`."""
        place = self.project.resolve(module, target)
        if place is None and isinstance(target, ast.Attribute):
            return self.project.method(target.attr)
        if place is not None and isinstance(place.node, FUNCTIONS):
            return place
        for value in self._list_values(module, target):
            if isinstance(value.node, ast.Call):
                maker = self.project.resolve(value.module, value.node.func)
                if maker is not None and isinstance(maker.node, FUNCTIONS):
                    return maker
        return place

    def _takes_parameter(
        self, module: Module, call: ast.Call, around: Function
    ) -> bool:
        """Whether what a call registers comes from outside: it is given, or it is a parameter."""
        names: set[str] = set()
        for function in list_functions(around):
            names |= list_parameter_names(function)
            if self._wraps_parameter(module, function):
                names.add(function.name)
        outer = module.parents.get(call)
        calls = [call]
        if isinstance(outer, ast.Call):
            calls.append(outer)
        used: set[str] = set()
        for outer_call in calls:
            for argument in outer_call.args:
                used |= list_names(argument)
        returned = isinstance(outer, ast.Return) and not call.args
        return bool(names & used) or returned

    def _wraps_parameter(self, module: Module, function: ast.AST) -> bool:
        """Whether a function wraps a parameter of the one around it: `@functools.wraps(function)`."""
        parameters: set[str] = set()
        for around in module.list_enclosing_functions(function):
            parameters |= list_parameter_names(around)
        for decorator in getattr(function, "decorator_list", ()):
            if not isinstance(decorator, ast.Call) or not decorator.args:
                continue
            is_wraps = ast.unparse(decorator.func).rpartition(".")[2] == "wraps"
            if is_wraps and ast.unparse(decorator.args[0]) in parameters:
                return True
        return False

    # calls

    def _list_called_tools(self, module: Module, node: ast.AST) -> Iterator[SourceTool]:
        if not isinstance(node, ast.Call):
            return
        function = node.func
        if isinstance(function, ast.Call):
            if self._is_registration(module, function.func):
                yield from self._build_registered_tools(module, function, node.args[:1])
        elif isinstance(function, ast.Attribute):
            owner = self.project.dotted(module, function.value)
            is_maker = owner.endswith(SERVERS) or "proxy" in owner.lower()
            if function.attr in MADE_ELSEWHERE and is_maker:
                origin = MADE_ELSEWHERE[function.attr]
                reason = f"{origin} are known when it runs; {DECLARE}"
                yield SourceTool("*", module, node, exact=False, reason=reason)
            else:
                functions = self._list_registered_functions(module, node, function)
                yield from self._build_registered_tools(module, node, functions)

    def _list_registered_functions(
        self, module: Module, call: ast.Call, method: ast.Attribute
    ) -> Sequence[ast.expr]:
        """The functions that a call of a method registers as tools; empty where it registers none."""
        owner = self.project.dotted(module, method.value)
        functions: Sequence[ast.expr] = call.args[:1]
        if method.attr == "from_function" and owner.endswith("Tool"):
            return functions or list_keyword_values(call, "fn")
        if method.attr == "tool" and functions:
            if isinstance(functions[0], NOT_FUNCTIONS):
                return []
            return functions if self._is_registration(module, method) else []
        if method.attr != "add_tool":
            return []
        functions = functions or list_keyword_values(call, "fn")
        functions = functions or list_keyword_values(call, "tool")
        if not functions or isinstance(functions[0], ast.Call):
            return []
        return [] if self._holds_tool(module, functions[0]) else functions

    def _holds_tool(self, module: Module, expression: ast.expr) -> bool:
        """Whether a name holds a Tool that was made elsewhere, and so is found there."""
        for place in self._list_values(module, expression):
            if not isinstance(place.node, ast.Call):
                continue
            if isinstance(place.node.func, ast.Attribute):
                return place.node.func.attr == "from_function"
        return False

    def _build_registered_tools(
        self, module: Module, call: ast.Call, functions: Sequence[ast.expr]
    ) -> Iterator[SourceTool]:
        for expression in functions:
            places = list(self._resolve_functions(module, expression))
            if not places:
                yield from self._build_unresolved_tool(module, call, expression)
            for place in places:
                if not self._wraps_parameter(place.module, place.node):
                    yield self._build_tool(module, call, call, place)

    def _build_unresolved_tool(
        self, module: Module, call: ast.Call, expression: ast.expr
    ) -> Iterator[SourceTool]:
        """A tool whose function is not in the source; one that is a parameter is remembered."""
        tool = self._build_tool(module, call, call, None)
        if isinstance(expression, ast.Lambda):
            yield replace(tool, reason=LAMBDA)
            return
        reason = self._explain_dynamic_function(module, expression)
        tool = replace(tool, exact=False, reason=reason)
        if self._is_parameter(module, expression):
            if not self._is_method_of_server(module, expression):
                self._passed_on.append(tool)
            return
        if tool.name == "*":
            tool = replace(tool, name=ast.unparse(expression))
        yield tool

    def _explain_dynamic_function(self, module: Module, expression: ast.expr) -> str:
        for node in module.above(expression):
            if isinstance(node, ast.For | ast.comprehension):
                return LOOP
        return f"its function is made while the server starts; {DECLARE}"

    def _is_method_of_server(self, module: Module, expression: ast.expr) -> bool:
        """Whether an expression is in a method that stands in for a server's own, and hands on what it gets."""
        functions = module.list_enclosing_functions(expression)
        return any(function.name in ("tool", "add_tool") for function in functions)

    def _is_parameter(self, module: Module, expression: ast.expr) -> bool:
        """Whether a name is a parameter of the function around it: an own decorator, found where it is used."""
        names = list_names(expression)
        for around in module.list_enclosing_functions(expression):
            parameters = list_parameter_names(around)
            if names & (parameters - {"self", "cls", "mcp", "app", "server"}):
                return True
        return False

    def _resolve_functions(
        self, module: Module, expression: ast.expr, depth: int = 4
    ) -> Iterator[Place]:
        """The functions that an expression may be: also through a wrapper, and a loop over a list."""
        place = self.project.resolve(module, expression)
        if place and isinstance(place.node, FUNCTIONS):
            yield from self.project.list_namesakes(place)
        elif isinstance(expression, ast.Attribute):
            method = self.project.method(expression.attr)
            if method is not None:
                yield method
        elif depth and isinstance(expression, ast.Call):
            yield from self._resolve_wrapped_function(module, expression, depth)
        elif depth:
            yield from self._resolve_assigned_functions(module, expression, depth)

    def _resolve_wrapped_function(
        self, module: Module, call: ast.Call, depth: int
    ) -> Iterator[Place]:
        """The function that a wrapper gets: its first argument, or the first name of a function after that."""
        for position, argument in enumerate(call.args):
            if position and not isinstance(argument, ast.Name):
                continue
            places = list(self._resolve_functions(module, argument, depth - 1))
            if places:
                yield from places
                return

    def _resolve_assigned_functions(
        self, module: Module, expression: ast.expr, depth: int
    ) -> Iterator[Place]:
        """The functions that are assigned to a name, or are in the list that a loop runs over, each once."""
        node_ids: set[int] = set()
        for value in self._list_values(module, expression):
            for part in _list_elements(value.node):
                if part is expression or not isinstance(part, RESOLVABLE):
                    continue
                for place in self._resolve_functions(value.module, part, depth - 1):
                    node_id = id(place.node)
                    if node_id not in node_ids:
                        node_ids.add(node_id)
                        yield place

    def _list_values(self, module: Module, expression: ast.expr) -> Iterator[Place]:
        """What is assigned to a name around it, or what a loop takes it from."""
        if not isinstance(expression, ast.Name):
            return
        name = expression.id
        for around in module.above(expression):
            if isinstance(around, ast.For) and expression.id in list_names(
                around.target
            ):
                if isinstance(around.target, ast.Name):
                    place = self.project.resolve(module, around.iter)
                    yield place or Place(module, around.iter)
                return
            if not isinstance(around, (*FUNCTIONS, ast.Module)):
                continue
            for node in ast.walk(around):
                if isinstance(node, ast.Assign) and node.value is not expression:
                    if name in map(_get_name, node.targets):
                        yield Place(module, node.value)
                elif isinstance(node, ast.For) and _get_name(node.target) == name:
                    place = self.project.resolve(module, node.iter)
                    yield place or Place(module, node.iter)

    # what a registration says

    def _build_tool(
        self, module: Module, site: ast.expr, call: ast.Call | None, place: Place | None
    ) -> SourceTool:
        framework = self.receivers.find_registration_framework(module, site)
        registration = SourceTool("", module, site)
        target = site
        if call:
            target = call.func
            is_known = bool(framework)
            registration = self.parse_registration(module, call, named_first=is_known)
        server = ""
        if isinstance(target, ast.Attribute):
            server = name_server(self.project, module, target.value)
        function: Function | None = None
        if place and isinstance(place.node, FUNCTIONS):
            function = place.node
        name = registration.name
        if not name:
            name = function.name if function else "*"
            if _is_renamed(place):
                registration = replace(registration, exact=False)
        return replace(
            registration,
            name=name,
            site=site,
            function=function,
            home=place.module if place else None,
            server=server,
            framework=framework,
        )


def _sort_by_place(tool: SourceTool) -> tuple[str, int]:
    return str(tool.module.path), tool.site.lineno


def _list_elements(node: ast.AST) -> Sequence[ast.AST]:
    """The elements of a list as it is written, otherwise the node itself."""
    if isinstance(node, ast.List | ast.Tuple | ast.Set):
        return node.elts
    return [node]


def _is_renamed(place: Place | None) -> bool:
    """Whether the `__name__` of a function is set while the server starts."""
    if place is None or not isinstance(place.node, FUNCTIONS):
        return False
    return place.node.name in place.module.renamed


def _get_name(expression: ast.expr) -> str:
    """The name that an expression is; empty where it is none."""
    return expression.id if isinstance(expression, ast.Name) else ""

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
    list_functions,
    list_keyword_values,
    list_names,
    list_parameter_names,
)
from .mounts import find_mounts, name_server
from .receivers import Receivers
from .registrations import RegistrationArguments, SourceTool

SERVERS = ("FastMCP", "MCPServer")
MADE_ELSEWHERE = {
    "from_openapi": "the tools of an OpenAPI document",
    "from_fastapi": "the tools of a FastAPI application",
    "as_proxy": "the tools of another server",
    "create_proxy": "the tools of another server",
}
DECLARE = "say what each does with declare(name, behavior)"
LOOP = "it is registered in a loop; call policy.tool(mcp, function, behavior=...) there"


class ToolDiscovery(RegistrationArguments):
    """Finds the tools of a project."""

    def __init__(self, project: Project) -> None:
        """Learn which server is mounted in which."""
        self.project = project
        self.receivers = Receivers(project)
        self.mounted, self.prefixes = find_mounts(project)

    def find_tools(self) -> list[SourceTool]:
        """Every tool, in the order of the files."""
        rows: dict[tuple[str, int], SourceTool] = {}
        for module in self.project.modules.values():
            for node in module.nodes:
                for registration in (
                    *self._list_decorated_tools(module, node),
                    *self._list_called_tools(module, node),
                ):
                    prefix = self.prefixes.get(registration.server, "")
                    named = replace(
                        registration,
                        name=f"{prefix}{registration.name}",
                        local=registration.name,
                    )
                    place = named.function or named.site
                    rows.setdefault((named.name, id(place)), named)
        if any(tool.reason for tool in rows.values()):
            for tool in self._list_marked_tools():
                rows.setdefault((tool.name, id(tool.function)), tool)
        for tool in LowLevelTools(self.project, self.receivers).find():
            rows.setdefault((tool.name, id(tool.site)), tool)
        return sorted(
            rows.values(), key=lambda row: (str(row.module.path), row.site.lineno)
        )

    def _list_marked_tools(self) -> Iterator[SourceTool]:
        """The functions that a decorator of the project marks as tools, for a loop that registers them."""
        for module in self.project.modules.values():
            for node in module.nodes:
                for decorator in (
                    node.decorator_list if isinstance(node, FUNCTIONS) else ()
                ):
                    call = decorator if isinstance(decorator, ast.Call) else None
                    target = call.func if call else decorator
                    place = self.project.resolve(module, target)
                    if place is None or not isinstance(place.node, FUNCTIONS):
                        continue
                    name = place.node.name
                    if "tool" not in name.split("_") or any(
                        self._list_inner_registrations(module, target)
                    ):
                        continue
                    registration = (
                        self.parse_registration(module, call)
                        if call
                        else SourceTool("", module, decorator)
                    )
                    marked = node.name if isinstance(node, FUNCTIONS) else ""
                    yield replace(
                        registration,
                        name=registration.name or marked,
                        local=registration.name or marked,
                        site=decorator,
                        function=node if isinstance(node, FUNCTIONS) else None,
                        home=module,
                        own_decorator=name,
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
            if self._is_registration(module, target):
                yield self._build_tool(module, decorator, call, Place(module, node))
            for inner in (
                self._list_inner_registrations(module, target)
                if not self._is_registration(module, target)
                else ()
            ):
                name = ast.unparse(target)
                tool = self._build_tool(module, decorator, call, Place(module, node))
                inner_registration = self.parse_registration(inner.module, inner.node)
                has_name = call is not None and bool(list_keyword_values(call, "name"))
                wire_name = self._format_inner_name(
                    inner.node, tool.name if has_name else node.name
                )
                yield replace(
                    tool,
                    name=wire_name,
                    own_decorator=name,
                    hints=tool.hints or inner_registration.hints,
                )

    def _is_registration(self, module: Module, target: ast.expr) -> bool:
        """Whether an expression is `mcp.tool`, of whatever holds a server."""
        if isinstance(target, ast.Name):
            return module.imports.get(target.id) in (
                "fastmcp.tools.tool",
                "fastmcp.tool",
            )
        if not (isinstance(target, ast.Attribute) and target.attr == "tool"):
            return False
        return self._is_server(module, target.value)

    def _is_server(self, module: Module, expression: ast.expr) -> bool:
        place = self.project.resolve(module, expression)
        if place and isinstance(place.node, ast.Call):
            class_name = self.project.dotted(place.module, place.node.func)
            package = class_name.split(".")[0]
            own_packages = {name.split(".")[0] for name in self.project.modules}
            foreign = "." in class_name and package not in {
                "fastmcp",
                "mcp",
                *own_packages,
            }
            return not foreign
        return self.project.dotted(module, expression).split(".")[0] != "pydantic_ai"

    def _format_inner_name(self, call: ast.AST, name: str) -> str:
        """The name that a decorator of the project's own gives: the one that it got, or that with more around it."""
        for value in (
            list_keyword_values(call, "name") if isinstance(call, ast.Call) else ()
        ):
            if isinstance(value, ast.JoinedStr):
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
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                holds = (
                    self._is_registration(place.module, node.func)
                    or node.func.attr == "add_tool"
                )
                if holds and self._takes_parameter(place.module, node, place.node):
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
        calls = [call, *([outer] if isinstance(outer, ast.Call) else [])]
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
        if isinstance(function, ast.Call) and self._is_registration(
            module, function.func
        ):
            yield from self._build_registered_tools(module, function, node.args[:1])
        elif isinstance(function, ast.Attribute):
            owner = self.project.dotted(module, function.value)
            if function.attr in MADE_ELSEWHERE and (
                owner.endswith(SERVERS) or "proxy" in owner.lower()
            ):
                reason = (
                    f"{MADE_ELSEWHERE[function.attr]} are known when it runs; {DECLARE}"
                )
                yield SourceTool("*", module, node, exact=False, reason=reason)
            elif function.attr == "from_function" and owner.endswith("Tool"):
                yield from self._build_registered_tools(
                    module, node, node.args[:1] or list_keyword_values(node, "fn")
                )
            elif (
                function.attr == "tool"
                and node.args
                and not isinstance(
                    node.args[0], ast.Constant | ast.JoinedStr | ast.Starred
                )
                and self._is_registration(module, function)
            ):
                yield from self._build_registered_tools(module, node, node.args[:1])
            elif function.attr == "add_tool":
                functions = (
                    node.args[:1]
                    or list_keyword_values(node, "fn")
                    or list_keyword_values(node, "tool")
                )
                is_call = isinstance(functions[0], ast.Call) if functions else True
                if (
                    functions
                    and not is_call
                    and not self._holds_tool(module, functions[0])
                ):
                    yield from self._build_registered_tools(module, node, functions)

    def _holds_tool(self, module: Module, expression: ast.expr) -> bool:
        """Whether a name holds a Tool that was made elsewhere, and so is found there."""
        for place in self._list_values(module, expression):
            if isinstance(place.node, ast.Call) and isinstance(
                place.node.func, ast.Attribute
            ):
                return place.node.func.attr == "from_function"
        return False

    def _build_registered_tools(
        self, module: Module, call: ast.Call, functions: Sequence[ast.expr]
    ) -> Iterator[SourceTool]:
        for expression in functions:
            places = list(self._resolve_functions(module, expression))
            if not places and isinstance(expression, ast.Lambda):
                reason = (
                    "it is a lambda; write it as a function, or use policy.tool(...)"
                )
                yield replace(self._build_tool(module, call, call, None), reason=reason)
            elif not places and not self._is_parameter(module, expression):
                tool = self._build_tool(module, call, call, None)
                name = tool.name if tool.name != "*" else ast.unparse(expression)
                yield replace(
                    tool,
                    name=name,
                    exact=False,
                    reason=self._explain_dynamic_function(module, expression),
                )
            for place in places:
                if not self._wraps_parameter(place.module, place.node):
                    yield self._build_tool(module, call, call, place)

    def _explain_dynamic_function(self, module: Module, expression: ast.expr) -> str:
        loops = any(
            isinstance(node, ast.For | ast.comprehension)
            for node in module.above(expression)
        )
        return (
            LOOP
            if loops
            else f"its function is made while the server starts; {DECLARE}"
        )

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
            return
        if isinstance(expression, ast.Attribute):
            if function_place := self.project.method(expression.attr):
                yield function_place
            return
        if not depth:
            return
        if isinstance(expression, ast.Call):
            for argument in expression.args[:1]:
                yield from self._resolve_functions(module, argument, depth - 1)
            return
        node_ids: set[int] = set()
        for value in self._list_values(module, expression):
            node = value.node
            parts = (
                node.elts
                if isinstance(node, ast.List | ast.Tuple | ast.Set)
                else [node]
            )
            for part in parts:
                if (
                    isinstance(part, ast.Name | ast.Attribute | ast.Call)
                    and part is not expression
                ):
                    for function_place in self._resolve_functions(
                        value.module, part, depth - 1
                    ):
                        if id(function_place.node) not in node_ids:
                            node_ids.add(id(function_place.node))
                            yield function_place

    def _list_values(self, module: Module, expression: ast.expr) -> Iterator[Place]:
        """What is assigned to a name around it, or what a loop takes it from."""
        if not isinstance(expression, ast.Name):
            return
        for around in module.above(expression):
            if not isinstance(around, (*FUNCTIONS, ast.Module)):
                continue
            for node in ast.walk(around):
                if isinstance(node, ast.Assign) and node.value is not expression:
                    targets = [_find_name(target) for target in node.targets]
                    if expression.id in targets:
                        yield Place(module, node.value)
                elif (
                    isinstance(node, ast.For)
                    and isinstance(node.target, ast.Name)
                    and node.target.id == expression.id
                ):
                    place = self.project.resolve(module, node.iter)
                    yield place or Place(module, node.iter)

    # what a registration says

    def _build_tool(
        self, module: Module, site: ast.expr, call: ast.Call | None, place: Place | None
    ) -> SourceTool:
        framework = self.receivers.find_registration_framework(module, site)
        registration = SourceTool("", module, site)
        if call:
            registration = self.parse_registration(
                module, call, named_first=bool(framework)
            )
        function = place.node if place and isinstance(place.node, FUNCTIONS) else None
        target = call.func if call else site
        held = target.value if isinstance(target, ast.Attribute) else None
        server = name_server(self.project, module, held) if held is not None else ""
        name = registration.name or (function.name if function else "*")
        if (
            function
            and place
            and not registration.name
            and function.name in place.module.renamed
        ):
            registration = replace(
                registration, exact=False
            )  # its __name__ is set while the server starts
        return replace(
            registration,
            name=name,
            site=site,
            function=function,
            home=place.module if place else None,
            server=server,
            framework=framework,
        )


def _find_name(expression: ast.expr) -> str:
    """The name that an expression is; empty where it is none."""
    return expression.id if isinstance(expression, ast.Name) else ""

"""Tools of low-level servers: listed as literals of the protocol's Tool, called by their name in one function."""

import ast
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from .modules import (
    FUNCTIONS,
    Function,
    Module,
    Place,
    Project,
    index_keywords,
    list_keyword_values,
    list_names,
)
from .receivers import SDK_1, SDK_2, Receivers
from .registrations import RegistrationArguments, SourceTool

NO_FUNCTION = "the low-level Server has no functions to declare; move to FastMCP"
AT_RUN_TIME = "it is listed from data that is known when the server runs"
HANDLER_NAMES = (
    "{}",
    "_{}",
    "handle_{}",
    "_handle_{}",
    "{}_handler",
    "{}_tool",
    "tool_{}",
    "do_{}",
)
# Functions that hand on the tools that they get.
COPIES = {"list", "tuple", "sorted", "filter", "values"}
SCHEMA_KEYWORDS = {"inputSchema": SDK_1, "input_schema": SDK_2}


class LowLevelTools(RegistrationArguments):
    """Finds the tools of low-level servers."""

    def __init__(self, project: Project, receivers: Receivers) -> None:
        """Remember the project."""
        self.project = project
        self.receivers = receivers

    def find(self) -> Iterator[SourceTool]:
        """Every tool that is listed as a literal, and one row for each list that is made at run time."""
        for module in self.project.modules.values():
            for node in module.nodes:
                if isinstance(node, FUNCTIONS) and _lists_tools(node):
                    yield from self._build_dynamic_lists(module, node)
                if not isinstance(node, ast.Call):
                    continue
                if self.receivers.is_tool_type(module, node):
                    yield from self._build_listed_tools(module, node)
                for handler in list_keyword_values(node, "on_list_tools"):
                    place = self.project.resolve(module, handler)
                    if place and isinstance(place.node, FUNCTIONS):
                        yield from self._build_dynamic_lists(place.module, place.node)

    def _build_dynamic_lists(
        self, module: Module, handler: Function
    ) -> Iterator[SourceTool]:
        """One row for each part of a list of tools that is made while the server runs."""
        for part in DynamicLists(self.project, self.receivers).find(module, handler):
            yield SourceTool(
                "*",
                module,
                part,
                exact=False,
                reason=AT_RUN_TIME,
                low_level=True,
            )

    def _build_listed_tools(
        self, module: Module, call: ast.Call
    ) -> Iterator[SourceTool]:
        keywords = index_keywords(call)
        schema = _find_schema_keyword(keywords)
        if schema is None or "name" not in keywords:
            return
        tool = replace(
            self.parse_registration(module, call, named_first=False),
            framework=SCHEMA_KEYWORDS[schema],
            low_level=True,
            reason=NO_FUNCTION,
        )
        name = self.resolve_constant(module, keywords["name"])
        if not name:
            yield replace(tool, name="*", exact=False, reason=AT_RUN_TIME)
            return
        tool = replace(
            tool,
            name=name,
            local=name,
            exact=True,
            schema=_parse_schema(keywords[schema]),
        )
        handler = self._find_handler(module, name)
        if handler and isinstance(handler.node, FUNCTIONS):
            tool = replace(tool, function=handler.node, home=handler.module)
        yield tool

    def resolve_constant(self, module: Module, expression: ast.expr) -> str:
        """A text that the source shows: a constant, a name for one, or a member of an enumeration."""
        if isinstance(expression, ast.Constant):
            return expression.value if isinstance(expression.value, str) else ""
        if isinstance(expression, ast.Attribute) and expression.attr == "value":
            return self.resolve_constant(module, expression.value)
        if isinstance(expression, ast.Attribute):
            owner = self.project.resolve(module, expression.value)
            if owner is not None and isinstance(owner.node, ast.ClassDef):
                value = _find_member_value(owner.node, expression.attr)
                if value is not None:
                    return self.resolve_constant(owner.module, value)
        if isinstance(expression, ast.Name | ast.Attribute):
            text, is_whole = self.resolve_text(module, expression)
            return text if is_whole else ""
        return ""

    def _find_handler(self, module: Module, name: str) -> Place | None:
        """What runs for a name: a branch, an entry of a table, or a function of that name."""
        candidates = dict.fromkeys([module, *self.project.modules.values()])
        for candidate in candidates:
            for node in candidate.nodes:
                branch = self._find_branch(candidate, node, name)
                if branch:
                    return self._build_branch_function(candidate, node, branch)
                if isinstance(node, ast.Dict):
                    entry = self._find_table_entry(candidate, node, name)
                    if entry is not None:
                        return entry
        _, _, last_part = name.rpartition(".")
        plain = last_part.replace("-", "_")
        names = {pattern.format(plain) for pattern in HANDLER_NAMES}
        for candidate in candidates:
            for node in candidate.nodes:
                if isinstance(node, FUNCTIONS) and node.name in names:
                    return Place(candidate, node)
        return None

    def _find_branch(self, module: Module, node: ast.AST, name: str) -> list[ast.stmt]:
        """The statements that an `if` or a `case` runs for a name."""
        if isinstance(node, ast.If):
            values = _list_compared_values(node.test)
            if self._has_constant(module, values, name):
                return node.body
        elif isinstance(node, ast.match_case):
            values = _list_matched_values(node.pattern)
            if self._has_constant(module, values, name):
                return node.body
        return []

    def _has_constant(
        self, module: Module, elements: list[ast.expr], name: str
    ) -> bool:
        return any(self.resolve_constant(module, part) == name for part in elements)

    def _find_table_entry(
        self, module: Module, table: ast.Dict, name: str
    ) -> Place | None:
        """The function that a table has under a name."""
        for key, value in zip(table.keys, table.values, strict=True):
            if key is None or self.resolve_constant(module, key) != name:
                continue
            if isinstance(value, ast.Lambda):
                statement = ast.copy_location(ast.Expr(value.body), value)
                return self._build_branch_function(module, value, [statement])
            place = self.project.resolve(module, value)
            if place is not None and isinstance(place.node, FUNCTIONS):
                return place
        return None

    def _build_branch_function(
        self, module: Module, node: ast.AST, body: list[ast.stmt]
    ) -> Place:
        """A branch as a function of its own, with what the function around it does before any branch."""
        around = module.find_enclosing_function(node)
        before = [] if around is None else _list_common_statements(around, node)
        branch = ast.parse("async def branch(): ...").body[0]
        if not isinstance(branch, ast.AsyncFunctionDef):
            raise TypeError("an async function is not parsed as one")
        branch.body = [*before, *body]
        if around is not None:
            branch.args = around.args
        ast.copy_location(branch, body[0])
        module.parents[branch] = module.parents[around] if around else module.tree
        return Place(module, branch)


def _find_schema_keyword(keywords: Mapping[str, ast.expr]) -> str | None:
    """The keyword that a listed tool passes its schema with."""
    for keyword in SCHEMA_KEYWORDS:
        if keyword in keywords:
            return keyword
    return None


class DynamicLists:
    """Finds the parts of a list of tools that the source does not show."""

    def __init__(self, project: Project, receivers: Receivers) -> None:
        """Remember the project."""
        self.project = project
        self.receivers = receivers
        self._visited: set[tuple[Function, str]] = set()

    def find(
        self, module: Module, handler: Function, depth: int = 2
    ) -> Iterator[ast.expr]:
        """The expressions of a handler that may be tools and show none.

        Args:
            module: The file of the handler.
            handler: A function that returns tools.
            depth: How many calls farther down functions of the project are read.
        """
        for node in ast.walk(handler):
            if isinstance(node, ast.Return) and node.value is not None:
                yield from self._find_in(module, handler, node.value, depth)

    def _find_in(
        self, module: Module, handler: Function, value: ast.expr, depth: int
    ) -> Iterator[ast.expr]:
        parts: list[ast.expr] = []
        match value:
            case ast.List(elts=elements) | ast.Tuple(elts=elements):
                parts = elements
            case ast.BinOp(left=left, right=right):
                parts = [left, right]
            case ast.IfExp(body=body, orelse=orelse):
                parts = [body, orelse]
            case ast.Starred(value=inner) | ast.Await(value=inner):
                parts = [inner]
            case ast.ListComp(elt=element, generators=[generator, *_]):
                is_call = isinstance(element, ast.Call | ast.Name)
                parts = [generator.iter] if isinstance(element, ast.Name) else []
                if not is_call:
                    yield value
            case ast.Name() if (handler, value.id) not in self._visited:
                self._visited.add((handler, value.id))
                parts = _list_assigned_parts(handler, value.id)
            case ast.Call():
                yield from self._find_in_call(module, handler, value, depth)
        for part in parts:
            yield from self._find_in(module, handler, part, depth)

    def _find_in_call(
        self, module: Module, handler: Function, call: ast.Call, depth: int
    ) -> Iterator[ast.expr]:
        if self.receivers.is_tool_type(module, call):
            return
        name = ast.unparse(call.func).rpartition(".")[2]
        place = self.project.resolve(module, call.func)
        if place and isinstance(place.node, FUNCTIONS):
            if depth and not _returns_one_tool(place.node):
                for _ in self.find(place.module, place.node, depth - 1):
                    yield call
                    return
        elif name == "ListToolsResult":
            for listed in list_keyword_values(call, "tools"):
                yield from self._find_in(module, handler, listed, depth)
        elif name in COPIES:
            for argument in call.args:
                yield from self._find_in(module, handler, argument, depth)
        elif isinstance(call.func, ast.Name):
            yield call


def _returns_one_tool(function: Function) -> bool:
    """Whether a function makes one tool, which is found where it is made."""
    return function.returns is not None and "Tool" in ast.unparse(function.returns)


def _lists_tools(function: Function) -> bool:
    """Whether a decorator makes a function the handler that lists the tools."""
    for decorator in function.decorator_list:
        target = decorator.func if isinstance(decorator, ast.Call) else None
        if isinstance(target, ast.Attribute) and target.attr == "list_tools":
            return True
    return False


def _list_assigned_parts(function: Function, name: str) -> list[ast.expr]:
    """What a function assigns to a local name, and what it adds to that."""
    parts: list[ast.expr] = []
    for node in ast.walk(function):
        if isinstance(node, ast.Assign):
            names = [ast.unparse(target) for target in node.targets]
            if name in names and name not in list_names(node.value):
                parts.append(node.value)
        elif isinstance(node, ast.AugAssign) and ast.unparse(node.target) == name:
            parts.append(node.value)
        elif isinstance(node, ast.Call) and ast.unparse(node.func) == f"{name}.extend":
            parts.extend(node.args)
    return parts


def read_listed_parameters(tool: SourceTool) -> dict[str, Any]:
    """The properties of the schema that a tool is listed with."""
    properties = (tool.schema or {}).get("properties")
    return properties if isinstance(properties, dict) else {}


def _parse_schema(expression: ast.expr) -> dict[str, Any] | None:
    """A schema that is a literal in the source; where parts of it are made elsewhere, the names of its properties."""
    try:
        value = ast.literal_eval(expression)
    except (ValueError, TypeError, SyntaxError, RecursionError):
        value = None
    if isinstance(value, dict):
        return value
    if not isinstance(expression, ast.Dict):
        return None
    for key, part in zip(expression.keys, expression.values, strict=True):
        is_properties = isinstance(key, ast.Constant) and key.value == "properties"
        if is_properties and isinstance(part, ast.Dict):
            return _build_untyped_schema(part)
    return None


def _build_untyped_schema(properties: ast.Dict) -> dict[str, Any]:
    """A schema that has only the names of its properties."""
    schemas: dict[str, Any] = {}
    for key in properties.keys:
        if isinstance(key, ast.Constant):
            schemas[str(key.value)] = {}
    return {"type": "object", "properties": schemas}


def _find_member_value(owner: ast.ClassDef, name: str) -> ast.expr | None:
    """What the body of a class assigns to a name."""
    for statement in owner.body:
        if not isinstance(statement, ast.Assign):
            continue
        for target in statement.targets:
            if isinstance(target, ast.Name) and target.id == name:
                return statement.value
    return None


def _list_compared_values(test: ast.expr) -> list[ast.expr]:
    """What a condition compares: `name == "x"`, `name in ("x", "y")`."""
    values: list[ast.expr] = []
    if not isinstance(test, ast.Compare):
        return values
    if not isinstance(test.ops[0], ast.Eq | ast.In):
        return values
    for side in (test.left, *test.comparators):
        values.extend(_list_elements(side))
    return values


def _list_matched_values(pattern: ast.pattern) -> list[ast.expr]:
    """The values that a `case` names, also with `|` between them."""
    patterns = [pattern]
    if isinstance(pattern, ast.MatchOr):
        patterns = pattern.patterns
    values: list[ast.expr] = []
    for alternative in patterns:
        if isinstance(alternative, ast.MatchValue):
            values.append(alternative.value)
    return values


def _list_elements(expression: ast.expr) -> list[ast.expr]:
    if isinstance(expression, ast.Tuple | ast.List | ast.Set):
        return expression.elts
    return [expression]


def _list_common_statements(function: Function, node: ast.AST) -> list[ast.stmt]:
    """The plain statements of a function before a branch of it."""
    statements: list[ast.stmt] = []
    level = list(function.body)
    while level:
        statement = level.pop(0)
        if any(inner is node for inner in ast.walk(statement)):
            if isinstance(statement, ast.Try | ast.With | ast.AsyncWith):
                level = list(statement.body)
                continue
            break
        if isinstance(statement, ast.Assign | ast.AnnAssign | ast.Expr):
            statements.append(statement)
    return statements

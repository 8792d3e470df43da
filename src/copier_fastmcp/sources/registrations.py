"""What a registration says of its tool: name, title, description, tags, hints."""

import ast
from dataclasses import dataclass, field, replace
from typing import Any

from copier_fastmcp_engine.testing.lock import HINTS

from .modules import Function, Module, Project, index_keywords

SNAKE = {
    "read_only_hint": "readOnlyHint",
    "destructive_hint": "destructiveHint",
    "idempotent_hint": "idempotentHint",
    "open_world_hint": "openWorldHint",
}


FRAMEWORKS = {
    "fastmcp": "FastMCP",
    "mcp.server.fastmcp": "SDK 1",
    "mcp.server.mcpserver": "SDK 2",
}


# Expressions that a name for a text may stand for.
TEXTS = (ast.Constant, ast.BinOp, ast.JoinedStr)


@dataclass(frozen=True)
class SourceTool:
    """A tool as its source registers it.

    Attributes:
        name: Its name on the wire; `exact` is false where a part is only known when it runs.
        module: The file that registers it.
        site: The decorator or the call that registers it.
        function: Its function, None where there is none to decorate.
        home: The file of the function.
        local: Its name without what a mount puts in front of it.
        hints: The hints that it has, by their names on the wire.
        framework: The framework whose registration this certainly is; empty where that is not certain.
        marked: Whether a decorator of the project only marks it, and a loop registers it.
        low_level: Whether a low-level server lists it as a Tool, and calls it by its name.
        schema: The input schema that it is listed with, where its source shows that.
        reason: Why it cannot be adopted.
    """

    name: str
    module: Module
    site: ast.expr
    function: Function | None = None
    home: Module | None = None
    exact: bool = True
    title: str | None = None
    description: str | None = None
    tags: tuple[str, ...] = ()
    hints: dict[str, bool] = field(default_factory=dict)
    annotated: ast.expr | None = None
    own_decorator: str = ""
    server: str = ""
    local: str = ""
    framework: str = ""
    marked: bool = False
    low_level: bool = False
    schema: dict[str, Any] | None = None
    reason: str = ""

    @property
    def line(self) -> int:
        """Where it is registered."""
        if self.low_level or self.function is None:
            return self.site.lineno
        return self.function.lineno

    @property
    def docstring(self) -> str:
        """What models read."""
        if self.low_level:
            return self.description or ""
        if self.description or self.function is None:
            return self.description or ""
        return ast.get_docstring(self.function) or ""


class RegistrationArguments:
    """Reads the arguments of registrations of one project."""

    project: Project

    def parse_registration(
        self, module: Module, call: ast.AST, *, named_first: bool = True
    ) -> SourceTool:
        """The name, the title, the hints and the tags that a call says.

        Args:
            module: The file.
            call: The call that registers.
            named_first: Whether a text that comes first is the name, as in methods of a known server class.
        """
        site = call if isinstance(call, ast.expr) else ast.Constant(None)
        tool = SourceTool("", module, site)
        if not isinstance(call, ast.Call):
            return tool
        named = index_keywords(call)
        name = named.get("name")
        if name is None and named_first:
            name = _find_leading_text(call)
        if name is not None:
            text, is_whole = self.resolve_text(module, name)
            if text and _is_name(text):
                tool = replace(tool, name=text, exact=is_whole)
        title = description = None
        if "title" in named:
            title, _ = self.resolve_text(module, named["title"])
        if "description" in named:
            description, _ = self.resolve_text(module, named["description"])
        annotations = named.get("annotations")
        hints, annotated_title = self.parse_hints(
            module, annotations or _find_positional_hints(call)
        )
        title_words = (title or annotated_title or "").split()
        return replace(
            tool,
            title=" ".join(title_words) or None,
            description=description,
            tags=_list_tags(named.get("tags")),
            hints=hints,
            annotated=annotations,
        )

    def resolve_text(self, module: Module, value: ast.expr) -> tuple[str, bool]:
        """A text, and whether it is all of it: of one put together, the last constant part."""
        if isinstance(value, ast.Constant):
            is_text = isinstance(value.value, str)
            return (str(value.value), True) if is_text else ("", False)
        if isinstance(value, ast.Name | ast.Attribute):
            place = self.project.resolve(module, value)
            if place and isinstance(place.node, TEXTS):
                return self.resolve_text(place.module, place.node)
        text = ""
        parts = _list_text_parts(value)
        is_whole = bool(parts) and not isinstance(value, ast.Call)
        for part in parts:
            part_text, is_known = self.resolve_text(module, part)
            text += part_text
            is_whole = is_whole and is_known
        return text, is_whole

    def parse_hints(
        self, module: Module, value: ast.expr | None, depth: int = 3
    ) -> tuple[dict[str, bool], str | None]:
        """The hints of an `annotations=`: a mapping, a ToolAnnotations, or a name for one of them."""
        entry = self._resolve_entry(module, value, depth)
        hints: dict[str, bool] = {}
        title = None
        for name, item in _list_entries(entry):
            plain = item.value if isinstance(item, ast.Constant) else None
            wire = SNAKE.get(name, name)
            if wire in HINTS and isinstance(plain, bool):
                hints[wire] = plain
            elif name == "title" and isinstance(plain, str):
                title = plain
        return hints, title

    def _resolve_entry(
        self, module: Module, value: ast.expr | None, depth: int
    ) -> ast.expr | None:
        """Follow names, and entries of tables, to the expression that they stand for."""
        if not depth:
            return value
        if isinstance(value, ast.Name | ast.Attribute):
            place = self.project.resolve(module, value)
            if place and isinstance(place.node, ast.expr):
                return self._resolve_entry(place.module, place.node, depth - 1)
        if isinstance(value, ast.Subscript) and isinstance(value.slice, ast.Constant):
            place = self.project.resolve(module, value.value)
            if place and isinstance(place.node, ast.Dict):
                key = str(value.slice.value)
                for name, item in _list_entries(place.node):
                    if name == key:
                        return self._resolve_entry(place.module, item, depth - 1)
        return value


def _find_leading_text(call: ast.Call) -> ast.expr | None:
    """The first argument of a call, if it is a text."""
    first = call.args[0] if call.args else None
    if isinstance(first, ast.Constant) and isinstance(first.value, str):
        return first
    return None


def _find_positional_hints(call: ast.Call) -> ast.expr | None:
    """The mapping of hints that a decorator of the project's own is passed without a name."""
    for argument in call.args:
        if not isinstance(argument, ast.Dict):
            continue
        names = {name for name, _ in _list_entries(argument)}
        if not names.isdisjoint({*HINTS, *SNAKE}):
            return argument
    return None


def _list_tags(expression: ast.expr | None) -> tuple[str, ...]:
    tags: list[str] = []
    for element in getattr(expression, "elts", ()):
        if isinstance(element, ast.Constant):
            tags.append(str(element.value))
    return tuple(tags)


def _list_text_parts(value: ast.expr) -> list[ast.expr]:
    """The expressions that a text is put together from."""
    if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Add):
        return [value.left, value.right]
    if isinstance(value, ast.Call):
        return value.args
    parts: list[ast.expr] = []
    if isinstance(value, ast.JoinedStr):
        for part in value.values:
            if isinstance(part, ast.FormattedValue):
                part = part.value
            parts.append(part)
    return parts


def _list_entries(value: ast.AST | None) -> list[tuple[str, ast.expr]]:
    """The entries of a mapping, or the keyword arguments of a call."""
    if isinstance(value, ast.Call):
        return list(index_keywords(value).items())
    entries: list[tuple[str, ast.expr]] = []
    if isinstance(value, ast.Dict):
        for key, item in zip(value.keys, value.values, strict=True):
            if isinstance(key, ast.Constant):
                entries.append((str(key.value), item))
    return entries


def _is_name(text: str) -> bool:
    for separator in "_-./":
        text = text.replace(separator, "")
    return text.isalnum()


def list_frameworks(project: Project) -> set[str]:
    """Which frameworks the files of a project import: FastMCP, SDK 1 or SDK 2."""
    frameworks: set[str] = set()
    for module in project.modules.values():
        for target in module.imports.values():
            for package, framework in FRAMEWORKS.items():
                if target == package or target.startswith(f"{package}."):
                    frameworks.add(framework)
    return frameworks

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
        tool = SourceTool(
            "", module, call if isinstance(call, ast.expr) else ast.Constant(None)
        )
        if not isinstance(call, ast.Call):
            return tool
        named = index_keywords(call)
        first = call.args[0] if call.args else None
        text = isinstance(first, ast.Constant) and isinstance(first.value, str)
        name = named.get("name") or (first if text and named_first else None)
        if name is not None:
            value, exact = self.resolve_text(module, name)
            if value and _is_name(value):
                tool = replace(tool, name=value, exact=exact)
        title = description = None
        if "title" in named:
            title, _ = self.resolve_text(module, named["title"])
        if "description" in named:
            description, _ = self.resolve_text(module, named["description"])
        hints, inner = self.parse_hints(module, named.get("annotations"))
        tags = named.get("tags")
        words: list[str] = []
        for tag in getattr(tags, "elts", ()):
            if isinstance(tag, ast.Constant):
                words.append(str(tag.value))
        return replace(
            tool,
            title=" ".join((title or inner or "").split()) or None,
            description=description,
            tags=tuple(words),
            hints=hints,
            annotated=named.get("annotations"),
        )

    def resolve_text(self, module: Module, value: ast.expr) -> tuple[str, bool]:
        """A text, and whether it is all of it: of one put together, the last constant part."""
        if isinstance(value, ast.Constant):
            return (value.value, True) if isinstance(value.value, str) else ("", False)
        parts: list[tuple[str, bool]] = []
        if isinstance(value, ast.Name | ast.Attribute):
            place = self.project.resolve(module, value)
            if place and isinstance(
                place.node, ast.Constant | ast.BinOp | ast.JoinedStr
            ):
                return self.resolve_text(place.module, place.node)
        elif isinstance(value, ast.BinOp) and isinstance(value.op, ast.Add):
            parts = [
                self.resolve_text(module, value.left),
                self.resolve_text(module, value.right),
            ]
        elif isinstance(value, ast.JoinedStr):
            for part in value.values:
                inner = part.value if isinstance(part, ast.FormattedValue) else part
                parts.append(self.resolve_text(module, inner))
        elif isinstance(value, ast.Call):
            parts.append(("", False))
            for argument in value.args:
                parts.append(self.resolve_text(module, argument))
        text = "".join(text for text, _ in parts)
        return text, bool(parts) and all(is_whole for _, is_whole in parts)

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
            key = str(value.slice.value)
            if place and isinstance(place.node, ast.Dict):
                for name, item in _list_entries(place.node):
                    if name == key:
                        return self._resolve_entry(place.module, item, depth - 1)
        return value


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

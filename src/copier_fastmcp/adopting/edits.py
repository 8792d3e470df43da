"""Edit Python files by offset and keep every other byte, comments and line ends included."""

import ast
import difflib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from ..errors import RefusedError
from ..sources.modules import (
    FUNCTIONS,
    Module,
    detect_encoding,
    list_passed_values,
)

Arguments = ast.Call | ast.Dict
ImportNode = ast.Import | ast.ImportFrom
# The end of a list of arguments that ends with a comma.
TRAILING_COMMA = re.compile(r"[\s)]*,")
LINE_END = re.compile("\r\n|\r|\n")


class ImportOrder(NamedTuple):
    """The sort key of an import: its package, then `import` before `from`, then its name."""

    package: str
    is_from: bool
    name: str


@dataclass(frozen=True)
class Edit:
    """A text that replaces the characters from `start` to `end`."""

    start: int
    end: int
    text: str


@dataclass
class Edited:
    """A file with pending edits."""

    module: Module
    edits: list[Edit] = field(default_factory=list)
    imports: list[str] = field(default_factory=list)

    @cached_property
    def line_starts(self) -> list[int]:
        """Where each line begins, as Python counts lines."""
        starts = [0]
        for line_end in LINE_END.finditer(self.module.text):
            starts.append(line_end.end())
        return starts

    @property
    def newline(self) -> str:
        """The line end of the file."""
        line_end = LINE_END.search(self.module.text)
        return line_end[0] if line_end else "\n"

    def find_offset(self, line: int, column: int) -> int:
        """The offset in the text of a line and of a column, which the tree counts in bytes."""
        line_bytes = self._get_line(line).encode()
        before = line_bytes[:column].decode(errors="ignore")
        return self.find_line_start(line) + len(before)

    def find_line_start(self, line: int) -> int:
        """The offset of a line."""
        return self.line_starts[line - 1]

    def find_span(self, node: ast.expr) -> tuple[int, int]:
        """Where an expression begins and ends."""
        start = self.find_offset(node.lineno, node.col_offset)
        last_line = node.end_lineno or node.lineno
        end = self.find_offset(last_line, node.end_col_offset or 0)
        return start, end

    def replace_node(self, node: ast.expr, text: str) -> None:
        """Replace an expression."""
        start, end = self.find_span(node)
        self.edits.append(Edit(start, end, text))

    def insert(self, offset: int, text: str) -> None:
        """Insert a text."""
        self.edits.append(Edit(offset, offset, text))

    def insert_after(self, node: ast.expr, text: str) -> None:
        """Insert a text right after an expression."""
        _, end = self.find_span(node)
        self.insert(end, text)

    def add_arguments(self, call: Arguments, *texts: str) -> None:
        """Append arguments to a call, or pairs to a mapping, in the present layout."""
        _, end = self.find_span(call)
        closing = end - 1
        values = _list_values(call)
        if not values:
            self.insert(closing, ", ".join(texts))
            return
        last_end = self._find_last_end(values)
        remainder = self.module.text[last_end:closing]
        lead = self._find_argument_lead(call, values)
        added = f" {', '.join(texts)}"
        if lead:
            added = "".join(f"{lead}{text}," for text in texts)
        comma = TRAILING_COMMA.match(remainder)
        if comma:
            self.insert(last_end + comma.end(), added)
            return
        offset = last_end + _find_end(remainder)
        if not lead:
            inside = self.module.text[:closing]
            offset = len(inside.rstrip())
        self.insert(offset, f",{added}")

    def _find_last_end(self, values: Iterable[ast.expr]) -> int:
        last_end = 0
        for value in values:
            _, end = self.find_span(value)
            last_end = max(last_end, end)
        return last_end

    def _find_argument_lead(self, call: Arguments, values: Sequence[ast.expr]) -> str:
        """The line end and the indentation before each argument; empty where they share the line of the call."""
        first_line = min(value.lineno for value in values)
        last_line = max(value.end_lineno or 0 for value in values)
        begins_on_own_line = first_line > call.lineno
        ends_on_own_line = call.end_lineno != last_line
        if begins_on_own_line and ends_on_own_line:
            return self.newline + self._get_indent(first_line)
        return ""

    def insert_above(self, line: int, text: str) -> None:
        """Insert a line before another one, with the same indentation."""
        start = self.find_line_start(line)
        indent = self._get_indent(line)
        self.insert(start, f"{indent}{text}{self.newline}")

    def insert_below(self, node: ast.stmt, text: str) -> None:
        """Insert a line after a statement, with the same indentation."""
        offset = self._find_line_after(node)
        indent = self._get_indent(node.lineno)
        lead = "" if self._begins_line(offset) else self.newline
        self.insert(offset, f"{lead}{indent}{text}{self.newline}")

    def add_import(self, line: str) -> None:
        """Add an import once, after the leading imports of the file."""
        present_lines = self.module.text.splitlines()
        if line not in self.imports and line not in present_lines:
            self.imports.append(line)

    def _get_line(self, line: int) -> str:
        """A line with its end; empty before the first one."""
        start = self.find_line_start(line)
        end = self._find_line_end(line)
        return self.module.text[start:end]

    def _get_indent(self, line: int) -> str:
        text = self._get_line(line)
        code = text.lstrip(" \t")
        return text.removesuffix(code)

    def _find_line_end(self, line: int) -> int:
        """The offset after a line and its end."""
        if line < len(self.line_starts):
            return self.line_starts[line]
        return len(self.module.text)

    def _find_line_after(self, node: ast.stmt) -> int:
        return self._find_line_end(node.end_lineno or node.lineno)

    def _begins_line(self, offset: int) -> bool:
        if offset == 0:
            return True
        return self.module.text[offset - 1] in "\r\n"

    def _list_leading_imports(self) -> list[ImportNode]:
        """The imports that the file begins with."""
        import_nodes: list[ImportNode] = []
        for position, node in enumerate(self.module.tree.body):
            if isinstance(node, ast.Import | ast.ImportFrom):
                import_nodes.append(node)
            elif position or not _is_constant(node):
                break
        return import_nodes

    def _add_import_line(self, line: str) -> Edit:
        """The insertion of a new import, on a line of its own."""
        edit = self._place_import(line)
        if self._begins_line(edit.start):
            return edit
        return _insert(edit.start, self.newline + edit.text)

    def _place_import(self, line: str) -> Edit:
        """The insertion of a new import: sorted among those of its package, else last."""
        imports = self._list_leading_imports()
        (statement,) = ast.parse(line).body
        order = _get_import_order(statement)
        text = line + self.newline
        siblings: list[ImportNode] = []
        later: list[ImportNode] = []
        for node in imports:
            node_order = _get_import_order(node)
            if node_order.package == order.package:
                siblings.append(node)
                if node_order > order:
                    later.append(node)
        if later and not self._has_comment_above(later[0]):
            start = self.find_line_start(later[0].lineno)
            return _insert(start, text)
        if siblings:
            end = self._find_line_after(siblings[-1])
            return _insert(end, text)
        return self._place_first_import(line, imports)

    def _has_comment_above(self, node: ast.stmt) -> bool:
        above = self._get_line(node.lineno - 1)
        return above.lstrip().startswith("#")

    def _place_first_import(self, line: str, imports: Sequence[ImportNode]) -> Edit:
        """The insertion of the first import of a package."""
        text = line + self.newline
        relative_import = _find_relative_import(imports)
        if relative_import and not line.startswith("from ."):
            above = self._get_line(relative_import.lineno - 1)
            if not above.strip():
                start = self.find_line_start(relative_import.lineno)
                return _insert(start, text + self.newline)
        first = self.module.tree.body[0]
        if imports or _is_constant(first):
            last = imports[-1] if imports else first
            end = self._find_line_after(last)
            lead = "" if relative_import else self.newline
            return _insert(end, lead + text)
        blank_lines = self.newline
        if isinstance(first, (*FUNCTIONS, ast.ClassDef)):
            blank_lines += self.newline
        start = self._find_code_start()
        return _insert(start, text + blank_lines)

    def _find_code_start(self) -> int:
        """The offset after the leading comments, such as the interpreter and the encoding."""
        start = 0
        for line in self.module.text.splitlines(keepends=True):
            if not line.startswith("#"):
                break
            start += len(line)
        return start

    def _extend_import(self, line: str) -> Edit | None:
        """An import of the same package on one line, with one more name in the order of linters."""
        head, _, name = line.partition(" import ")
        if not head.startswith("from "):
            return None
        for node in self._list_leading_imports():
            present = ast.unparse(node)
            present_head, _, present_names = present.partition(" import ")
            if present_head != head:
                continue
            start = self.find_offset(node.lineno, node.col_offset)
            end = self._find_line_after(node)
            text = self.module.text[start:end].rstrip()
            if text != present:
                return None  # a comment, or several lines
            names = [*present_names.split(", "), name]
            names.sort(key=_get_name_order)
            extended = f"{head} import {', '.join(names)}"
            return Edit(start, start + len(text), extended)
        return None

    @property
    def text(self) -> str:
        """The text of the file with the edits."""
        edits: list[Edit] = []
        for line in sorted(self.imports):
            edit = self._extend_import(line)
            edits.append(edit or self._add_import_line(line))
        # An import precedes a decorator at the same offset.
        edits += self.edits
        edits.sort(key=_get_span)
        text = self.module.text
        for edit in reversed(edits):
            before = text[: edit.start]
            after = text[edit.end :]
            text = before + edit.text + after
        return text

    def format_diff(self, name: str) -> str:
        """The edits as a patch."""
        return format_patch(name, self.module.text, self.text)

    def encode_edits(self) -> bytes:
        """The bytes to write, in the encoding of the file.

        Raises:
            RefusedError: The file has changed since it was read.
        """
        present = self.module.path.read_bytes()
        encoding = detect_encoding(present)
        if present.decode(encoding) != self.module.text:
            name = self.module.path.name
            raise RefusedError(f"{name}: it was edited in the meantime; do it again")
        edited_text = self.text
        # What could not be loaded again is not written; compiling sees more than parsing.
        compile(edited_text, str(self.module.path), "exec", dont_inherit=True)
        # A reason may quote a file in another encoding.
        return edited_text.encode(encoding, "backslashreplace")


def _insert(offset: int, text: str) -> Edit:
    return Edit(offset, offset, text)


def _get_span(edit: Edit) -> tuple[int, int]:
    return edit.start, edit.end


def _get_name_order(name: str) -> tuple[bool, bool, str]:
    """The sort key of an imported name: constants, then classes, then functions."""
    return not name.isupper(), name[:1].islower(), name


def _is_constant(node: ast.stmt) -> bool:
    """Whether a statement is a literal, as a docstring is."""
    if not isinstance(node, ast.Expr):
        return False
    return isinstance(node.value, ast.Constant)


def _find_end(text: str) -> int:
    """The end of the parentheses around a value, from the text after it; those in comments do not count."""
    end = 0
    for token in re.finditer(r"#[^\r\n]*|\)", text):
        if token[0] == ")":
            end = token.end()
    return end


def _list_values(call: Arguments) -> list[ast.expr]:
    """The arguments of a call, or the values of a mapping."""
    if isinstance(call, ast.Call):
        return list_passed_values(call)
    return call.values


def _find_relative_import(nodes: Iterable[ImportNode]) -> ast.ImportFrom | None:
    """The first relative import."""
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and node.level:
            return node
    return None


def _get_import_order(node: ast.stmt) -> ImportOrder:
    """The sort key of an import."""
    if isinstance(node, ast.ImportFrom):
        name = f"{'.' * node.level}{node.module or ''}"
        package, _, _ = name.partition(".")
        return ImportOrder(package or ".", True, name.lower())
    name = ""
    if isinstance(node, ast.Import):
        name = node.names[0].name
    package, _, _ = name.partition(".")
    return ImportOrder(package, False, name.lower())


def format_patch(name: str, before: str, after: str) -> str:
    """The difference of two texts of a file, as a patch."""
    old = before.splitlines(keepends=True)
    new = after.splitlines(keepends=True)
    patch = ""
    for line in difflib.unified_diff(old, new, f"a/{name}", f"b/{name}"):
        patch += line if line.endswith("\n") else f"{line}\n"
    return patch

"""Edit Python files by offset and keep every other byte, comments and line ends included."""

import ast
import difflib
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property

from ..errors import RefusedError
from ..sources.modules import (
    FUNCTIONS,
    Module,
    detect_encoding,
    list_passed_values,
)


@dataclass
class Edited:
    """A file with pending edits."""

    module: Module
    edits: list[tuple[int, int, str]] = field(default_factory=list)
    imports: list[str] = field(default_factory=list)

    @cached_property
    def line_starts(self) -> list[int]:
        """Where each line begins, as Python counts lines."""
        ends = re.finditer("\r\n|\r|\n", self.module.text)
        return [0, *(end.end() for end in ends)]

    @property
    def newline(self) -> str:
        """The line end of the file."""
        line_end = re.search("\r\n|\n|\r", self.module.text)
        return line_end[0] if line_end else "\n"

    def find_offset(self, line: int, column: int) -> int:
        """The offset in the text of a line and of a column, which the tree counts in bytes."""
        start = self.line_starts[line - 1]
        end = (
            self.line_starts[line]
            if line < len(self.line_starts)
            else len(self.module.text)
        )
        text = self.module.text[start:end].encode()
        return start + len(text[:column].decode(errors="ignore"))

    def find_span(self, node: ast.expr) -> tuple[int, int]:
        """Where an expression begins and ends."""
        end = self.find_offset(node.end_lineno or node.lineno, node.end_col_offset or 0)
        return self.find_offset(node.lineno, node.col_offset), end

    def replace_node(self, node: ast.expr, text: str) -> None:
        """Replace an expression."""
        self.edits.append((*self.find_span(node), text))

    def add_arguments(self, call: ast.Call | ast.Dict, *texts: str) -> None:
        """Append arguments to a call, or pairs to a mapping, in the present layout."""
        _, end = self.find_span(call)
        inside, text = self.module.text[: end - 1], ", ".join(texts)
        values = list_passed_values(call) if isinstance(call, ast.Call) else call.values
        if not values:
            self.edits.append((end - 1, end - 1, text))
            return
        last = max(self.find_span(value)[1] for value in values)
        first = min(value.lineno for value in values)
        last_line = max(value.end_lineno or 0 for value in values)
        spread = first > call.lineno and call.end_lineno != last_line
        comma = re.match(r"[\s)]*,", self.module.text[last : end - 1])
        place = last + (
            comma.end() if comma else _find_end(self.module.text[last : end - 1])
        )
        if spread:
            indent = re.match(r"[ \t]*", self._line(first))
            lead = f"{self.newline}{indent[0] if indent else ''}"
            text = "".join(f"{lead}{argument}," for argument in texts)
            self.edits.append((place, place, text if comma else f",{text}"))
        else:
            place = place if comma else len(inside.rstrip())
            self.edits.append((place, place, f" {text}" if comma else f", {text}"))

    def insert_above(self, line: int, text: str) -> None:
        """Insert a line before another one, with the same indentation."""
        indent = re.match(r"[ \t]*", self._line(line))
        place = self.line_starts[line - 1]
        self.edits.append(
            (place, place, f"{indent[0] if indent else ''}{text}{self.newline}")
        )

    def insert_below(self, node: ast.stmt, text: str) -> None:
        """Insert a line after a statement, with the same indentation."""
        indent = re.match(r"[ \t]*", self._line(node.lineno))
        end = node.end_lineno or node.lineno
        place = (
            self.line_starts[end]
            if end < len(self.line_starts)
            else len(self.module.text)
        )
        ended = place == 0 or self.module.text[place - 1] in "\r\n"
        lead = "" if ended else self.newline
        self.edits.append(
            (place, place, f"{lead}{indent[0] if indent else ''}{text}{self.newline}")
        )

    def add_import(self, line: str) -> None:
        """Add an import once, after the leading imports of the file."""
        if line not in self.imports and line not in self.module.text.splitlines():
            self.imports.append(line)

    def _line(self, line: int) -> str:
        end = (
            self.line_starts[line]
            if line < len(self.line_starts)
            else len(self.module.text)
        )
        return self.module.text[self.line_starts[line - 1] : end]

    def _list_leading_imports(self) -> list[ast.Import | ast.ImportFrom]:
        """The imports that the file begins with."""
        import_nodes: list[ast.Import | ast.ImportFrom] = []
        for at, node in enumerate(self.module.tree.body):
            if isinstance(node, ast.Import | ast.ImportFrom):
                import_nodes.append(node)
            elif at or not (
                isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
            ):
                break
        return import_nodes

    def _place_import(self, line: str) -> tuple[int, str]:
        """The offset and the text of a new import: sorted among those of its package, else last."""
        nodes, new = (
            self._list_leading_imports(),
            _import_order(ast.parse(line).body[0]),
        )
        alike = [node for node in nodes if _import_order(node)[0] == new[0]]
        later: ast.stmt | None = None
        for node in alike:
            if _import_order(node) > new:
                later = node
                break
        text = line + self.newline
        if later and not self._line(later.lineno - 1).lstrip().startswith("#"):
            return self.line_starts[later.lineno - 1], text
        if alike:
            return self._find_line_after(alike[-1]), text
        relative_import = _find_relative_import(nodes)
        if (
            relative_import
            and not self._line(relative_import.lineno - 1).strip()
            and not line.startswith("from .")
        ):
            return self.line_starts[relative_import.lineno - 1], text + self.newline
        first = self.module.tree.body[0]
        doc = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
        if nodes or doc:
            place = self._find_line_after(nodes[-1] if nodes else first)
            return place, text if relative_import else self.newline + text
        defines = isinstance(first, (*FUNCTIONS, ast.ClassDef))
        return self._find_code_start(), text + self.newline * (1 + defines)

    def _find_code_start(self) -> int:
        """The offset after the leading comments, such as the interpreter and the encoding."""
        lines = self.module.text.splitlines(keepends=True)
        start = 0
        for line in lines:
            if line[:1] != "#":
                break
            start += len(line)
        return start

    def _extend_import(self, line: str) -> tuple[int, int, str] | None:
        """An import of the same package on one line, with one more name in the order of linters."""
        new = ast.parse(line).body[0]
        for node in (
            self._list_leading_imports() if isinstance(new, ast.ImportFrom) else ()
        ):
            if (
                not isinstance(node, ast.ImportFrom)
                or ast.unparse(node).split(" import ")[0] != (line.split(" import ")[0])
            ):
                continue
            start, end = (
                self.find_offset(node.lineno, node.col_offset),
                self._find_line_after(node),
            )
            text = self.module.text[start:end].rstrip()
            if text != ast.unparse(node):
                return None  # a comment, or several lines
            names = text.split(" import ")[1].split(", ")
            names.append(line.split(" import ")[1])
            names.sort(key=lambda name: (not name.isupper(), name[:1].islower(), name))
            head = line.split(" import ")[0]
            return start, start + len(text), f"{head} import {', '.join(names)}"
        return None

    def _find_line_after(self, node: ast.stmt) -> int:
        line = node.end_lineno or node.lineno
        return (
            self.line_starts[line]
            if line < len(self.line_starts)
            else len(self.module.text)
        )

    @property
    def text(self) -> str:
        """The text of the file with the edits."""
        edits: list[tuple[int, int, str]] = []
        for line in sorted(self.imports):
            if joined := self._extend_import(line):
                edits.append(joined)
                continue
            place, import_text = self._place_import(line)
            ended = not place or self.module.text[place - 1] in "\r\n"
            edits.append(
                (place, place, import_text if ended else self.newline + import_text)
            )
        edits += (
            self.edits
        )  # an import stands in front of a decorator at the same place
        text = self.module.text
        order = sorted(
            range(len(edits)), key=lambda at: (*edits[at][:2], at), reverse=True
        )
        for at in order:
            start, end, new = edits[at]
            text = text[:start] + new + text[end:]
        return text

    def diff(self, name: str) -> str:
        """The edits as a patch."""
        pair = (self.module.text.splitlines(True), self.text.splitlines(True))
        lines = difflib.unified_diff(*pair, f"a/{name}", f"b/{name}")
        patch = ""
        for line in lines:
            patch += line if line.endswith("\n") else f"{line}\n"
        return patch

    def encoded(self) -> bytes:
        """The bytes to write, in the encoding of the file."""
        held = self.module.path.read_bytes()
        encoding = detect_encoding(held)
        if held.decode(encoding) != self.module.text:
            raise RefusedError(
                f"{self.module.path.name}: it was edited in the meantime; do it again"
            )
        edited_text = self.text
        # What could not be loaded again is not written; compiling sees more than parsing.
        compile(edited_text, str(self.module.path), "exec", dont_inherit=True)
        return edited_text.encode(
            encoding, "backslashreplace"
        )  # a reason may quote a file in another one


def _find_end(text: str) -> int:
    """The end of the parentheses around a value, from the text after it; those in comments do not count."""
    end = 0
    for token in re.finditer(r"#[^\r\n]*|\)", text):
        if token[0] == ")":
            end = token.end()
    return end


def _find_relative_import(
    nodes: Iterable[ast.Import | ast.ImportFrom],
) -> ast.ImportFrom | None:
    """The first relative import."""
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and node.level:
            return node
    return None


def _import_order(node: ast.stmt) -> tuple[str, bool, str]:
    """The sort key of an import: its package, then `import` before `from`, then its name."""
    if isinstance(node, ast.ImportFrom):
        name = f"{'.' * node.level}{node.module or ''}"
        return ("." * bool(node.level) or name.split(".")[0]), True, name.lower()
    name = node.names[0].name if isinstance(node, ast.Import) else ""
    return name.split(".")[0], False, name.lower()

"""Edits of Python files by place: what is not edited keeps every byte, its comments and its line ends."""

import ast
import difflib
import re
from dataclasses import dataclass, field
from functools import cached_property

from .sources import Module


@dataclass
class Edited:
    """A file with edits that are not written yet."""

    module: Module
    edits: list[tuple[int, int, str]] = field(default_factory=list)
    imports: list[str] = field(default_factory=list)

    @cached_property
    def starts(self) -> list[int]:
        """Where each line begins, as Python counts lines."""
        ends = re.finditer("\r\n|\r|\n", self.module.text)
        return [0, *(end.end() for end in ends)]

    @property
    def newline(self) -> str:
        """The line end of the file."""
        found = re.search("\r\n|\n|\r", self.module.text)
        return found[0] if found else "\n"

    def at(self, line: int, column: int) -> int:
        """The place of what a tree calls a line and a column, which counts bytes."""
        start = self.starts[line - 1]
        end = self.starts[line] if line < len(self.starts) else len(self.module.text)
        text = self.module.text[start:end].encode()
        return start + len(text[:column].decode(errors="ignore"))

    def span(self, node: ast.expr) -> tuple[int, int]:
        """Where an expression begins and ends."""
        end = self.at(node.end_lineno or node.lineno, node.end_col_offset or 0)
        return self.at(node.lineno, node.col_offset), end

    def replaces(self, node: ast.expr, text: str) -> None:
        """Write another expression in its place."""
        self.edits.append((*self.span(node), text))

    def argues(self, call: ast.Call | ast.Dict, *texts: str) -> None:
        """Add arguments behind those of a call, or pairs behind those of a mapping, in the form in which they stand."""
        _, end = self.span(call)
        inside, text = self.module.text[: end - 1], ", ".join(texts)
        keywords = call.keywords if isinstance(call, ast.Call) else []
        given = [*(word.value for word in keywords)]
        given += call.args if isinstance(call, ast.Call) else call.values
        if not given:
            self.edits.append((end - 1, end - 1, text))
            return
        last = max(self.span(one)[1] for one in given)
        first = min(one.lineno for one in given)
        spread = first > call.lineno and call.end_lineno != max(
            one.end_lineno or 0 for one in given
        )
        comma = re.match(r"[\s)]*,", self.module.text[last : end - 1])
        place = last + (comma.end() if comma else 0)
        if spread:
            indent = re.match(r"[ \t]*", self._line(first))
            lead = f"{self.newline}{indent[0] if indent else ''}"
            text = "".join(f"{lead}{each}," for each in texts)
            self.edits.append((place, place, text if comma else f",{text}"))
        else:
            place = place if comma else len(inside.rstrip())
            self.edits.append((place, place, f" {text}" if comma else f", {text}"))

    def above(self, line: int, text: str) -> None:
        """Put a line in front of another one, as far to the right as that."""
        indent = re.match(r"[ \t]*", self._line(line))
        place = self.starts[line - 1]
        self.edits.append((place, place, f"{indent[0] if indent else ''}{text}{self.newline}"))

    def below(self, node: ast.stmt, text: str) -> None:
        """Put a line behind a statement, as far to the right as that."""
        indent = re.match(r"[ \t]*", self._line(node.lineno))
        end = node.end_lineno or node.lineno
        place = self.starts[end] if end < len(self.starts) else len(self.module.text)
        ended = place == 0 or self.module.text[place - 1] in "\r\n"
        lead = "" if ended else self.newline
        self.edits.append(
            (place, place, f"{lead}{indent[0] if indent else ''}{text}{self.newline}")
        )

    def imported(self, line: str) -> None:
        """Import something once, behind the imports that the file begins with."""
        if line not in self.imports and line not in self.module.text.splitlines():
            self.imports.append(line)

    def _line(self, line: int) -> str:
        end = self.starts[line] if line < len(self.starts) else len(self.module.text)
        return self.module.text[self.starts[line - 1] : end]

    def _import_place(self) -> int:
        line = 0
        for node in self.module.tree.body:
            doc = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
            if isinstance(node, ast.Import | ast.ImportFrom) or (doc and not line):
                line = node.end_lineno or node.lineno
            else:
                break
        return self.starts[line] if line < len(self.starts) else len(self.module.text)

    def _ours_last(self) -> bool:
        """Whether the last import in front is one of the project itself; else a blank line goes between."""
        last = ""
        for node in self.module.tree.body:
            if isinstance(node, ast.ImportFrom):
                last = f"{'.' * node.level}{node.module or ''}"
            elif isinstance(node, ast.Import):
                last = node.names[0].name
        first = self.imports[0].split()[1].split(".")[0]
        return last.startswith(".") or last.split(".")[0] == first

    @property
    def text(self) -> str:
        """The file as it is with the edits."""
        edits = list(self.edits)
        if self.imports:
            place = self._import_place()
            lines = "".join(f"{line}{self.newline}" for line in sorted(self.imports))
            before = self.module.text[:place]
            lines = lines if self._ours_last() else self.newline + lines
            lines = lines if not before or before[-1] in "\r\n" else self.newline + lines
            edits.append((place, place, lines))
        text = self.module.text
        order = sorted(range(len(edits)), key=lambda at: (*edits[at][:2], at), reverse=True)
        for start, end, new in (edits[at] for at in order):
            text = text[:start] + new + text[end:]
        return text

    def diff(self, name: str) -> str:
        """What the edits change, as a patch."""
        pair = (self.module.text.splitlines(True), self.text.splitlines(True))
        lines = difflib.unified_diff(*pair, f"a/{name}", f"b/{name}")
        return "".join(line if line.endswith("\n") else f"{line}\n" for line in lines)

    def encoded(self) -> bytes:
        """The bytes to write, in the encoding of the file."""
        import io
        import tokenize

        held = self.module.path.read_bytes()
        encoding, _ = tokenize.detect_encoding(io.BytesIO(held).readline)
        made = self.text
        ast.parse(made)  # what could not be read again is not written
        return made.encode(encoding)

"""Edits of Python source: the name of a tool, and imports of its module in the author's other files."""

import ast
import re
from dataclasses import dataclass
from importlib.util import resolve_name
from pathlib import Path

from ..project.repository import git

WIDTH = 100  # of generated code
Located = ast.expr | ast.keyword | ast.alias | ast.stmt  # nodes with a place
POLICY = re.compile("src/[^/]+/(engine|policy)/|tests/policy/")  # not the author's
ORIGIN = re.compile(rb"from\s+\.*\s*([\w.]+)")  # what an import names


def _class_prefix(name: str) -> str:
    return "".join(part.title() for part in name.split("_"))


def rename_identifier(text: str, old: str, new: str) -> str:
    """Replace the name of a tool, and those of its classes, wherever they are whole words."""
    old_class = _class_prefix(old)
    text = re.sub(rf"\b{old}\b", new, text)
    classes = rf"\b{old_class}(?=Result\b|Item\b|Request\b)"
    return re.sub(classes, _class_prefix(new), text)


class Source:
    """The source of a file, with the byte offsets of its nodes."""

    def __init__(self, text: str) -> None:
        """Read the source."""
        self.text = text
        self.raw = text.encode()
        self._line_starts = [0]
        for line in self.raw.splitlines(keepends=True):
            self._line_starts.append(self._line_starts[-1] + len(line))

    def start(self, node: Located) -> int:
        return self._line_starts[node.lineno - 1] + node.col_offset

    def end(self, node: Located) -> int:
        line = (node.end_lineno or 1) - 1
        return self._line_starts[line] + (node.end_col_offset or 0)

    def replace(self, start: int, end: int, replacement: bytes) -> str:
        return (self.raw[:start] + replacement + self.raw[end:]).decode()

    def insert_keyword(self, call: ast.Call, keyword: bytes) -> str:
        """Return the text with a further keyword at the end of a call, formatted like the call."""
        start = self.start(call)
        end = self.end(call)
        closing_line = self.raw.rfind(b"\n", start, end) + 1
        last = max(self.end(argument) for argument in call.keywords)
        separator = re.sub(b"#.*", b"", self.raw[last:closing_line])
        indent = self.raw[closing_line : end - 1]
        is_exploded = closing_line > last and b"," in separator and not indent.strip()
        if is_exploded:
            line = indent + b"    " + keyword + b",\n"
            return self.replace(closing_line, closing_line, line)
        flat = self.raw[start:last] + b", " + keyword + self.raw[last:end]
        if b"\n" not in flat and len(flat) > WIDTH:
            flat = self._explode(call, keyword)
        return self.replace(start, end, flat)

    def _explode(self, call: ast.Call, keyword: bytes) -> bytes:
        """Return a call with a line for each argument and a further keyword."""
        head = self.raw[self.start(call) : self.end(call)].partition(b"(")[0]
        lines = [head, b"(\n"]
        for argument in (*call.args, *call.keywords):
            segment = ast.get_source_segment(self.text, argument) or ""
            lines.append(f"    {segment},\n".encode())
        lines += [b"    ", keyword, b",\n)"]
        return b"".join(lines)


@dataclass(frozen=True)
class Moved:
    """A tool that gets another name.

    Attributes:
        package: The package of its module.
        old: Its name.
        new: Its new name.
        is_file: Whether its file gets the new name too.
    """

    package: str
    old: str
    new: str
    is_file: bool

    def find_member(self, name: str) -> str:
        """Return the new name of a function or class of its module; empty where it has none."""
        new_name = rename_identifier(name, self.old, self.new)
        return new_name if new_name != name else ""


def rename_imports(text: str, module: str, moved: Moved) -> str:
    """Let the imports of a file name a renamed tool; the rest of the file uses what it used.

    Args:
        text: The file.
        module: The name of its module.
        moved: The tool.
    """
    source = Source(text)
    package = module.rpartition(".")[0]
    edits: list[tuple[int, int, str]] = []
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.ImportFrom):
            continue
        try:
            origin = resolve_name("." * node.level + (node.module or ""), package)
        except ImportError:
            continue
        origin = origin.rstrip(".")
        members = {}
        if origin == f"{moved.package}.{moved.old}":
            members = {
                alias.name: moved.find_member(alias.name) for alias in node.names
            }
            if moved.is_file:
                edits.append(_rename_origin(source, node, moved))
        elif origin == moved.package and moved.is_file:
            members = {moved.old: moved.new}
        for alias in node.names:
            if new_name := members.get(alias.name):
                replacement = f"{new_name} as {alias.asname or alias.name}"
                edits.append((source.start(alias), source.end(alias), replacement))
    raw = source.raw
    for start, end, replacement in sorted(edits, reverse=True):
        raw = raw[:start] + replacement.encode() + raw[end:]
    return raw.decode()


def _rename_origin(
    source: "Source", node: ast.ImportFrom, moved: Moved
) -> tuple[int, int, str]:
    """Return the edit of the module that an import names."""
    start = source.start(node)
    match = ORIGIN.match(source.raw, start)
    assert match is not None
    parent, dot, _ = match[1].decode().rpartition(".")
    return match.start(1), match.end(1), f"{parent}{dot}{moved.new}"


def rename_imports_in_project(path: Path, old: str, new: str) -> dict[Path, str]:
    """Return the author's files that import a tool's module, with their new text."""
    package = ".".join(path.with_suffix("").parts[1:-1])
    moved = Moved(package, old, new, is_file=path.stem == old)
    texts = {}
    for name in git(Path(), "ls-files", "-z", "--", "*.py").split("\0"):
        file = Path(name)
        if not name or file == path or POLICY.match(name):
            continue
        text = file.read_text("utf-8")
        if old not in text:
            continue
        parts = file.with_suffix("").parts
        module = ".".join(parts[1:] if parts[0] == "src" else parts)
        new_text = rename_imports(text, module, moved)
        if new_text != text:
            texts[file] = new_text
    return texts


def find_importing_files(path: Path, name: str) -> list[Path]:
    """Return the author's files that import a tool's module, as a rename would edit them."""
    return sorted(rename_imports_in_project(path, name, f"{name}_renamed"))

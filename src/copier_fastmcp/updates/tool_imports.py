"""Edits of Python source: the name of a tool, and imports of its module in the author's other files."""

import ast
import re
from collections.abc import Iterator
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
        whole = self.raw[self.start(call) : self.end(call)]
        head, _, _ = whole.partition(b"(")
        lines = [head, b"(\n"]
        for argument in (*call.args, *call.keywords):
            segment = ast.get_source_segment(self.text, argument) or ""
            lines.append(f"    {segment},\n".encode())
        lines += [b"    ", keyword, b",\n)"]
        return b"".join(lines)


@dataclass(frozen=True, order=True)
class Edit:
    """Bytes that replace a part of a source."""

    start: int
    end: int
    replacement: bytes


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
        if new_name == name:
            return ""
        return new_name


def rename_imports(text: str, module: str, moved: Moved) -> str:
    """Let the imports of a file name a renamed tool; the rest of the file uses what it used.

    Args:
        text: The file.
        module: The name of its module.
        moved: The tool.
    """
    source = Source(text)
    package, _, _ = module.rpartition(".")
    edits: list[Edit] = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom):
            origin = _resolve_origin(node, package)
            if origin:
                edits += _rename_import(source, node, origin, moved)
    raw = source.raw
    for edit in sorted(edits, reverse=True):
        raw = raw[: edit.start] + edit.replacement + raw[edit.end :]
    return raw.decode()


def _resolve_origin(node: ast.ImportFrom, package: str) -> str:
    """Return the module that a statement in a package imports from; empty outside of every package."""
    relative_name = "." * node.level + (node.module or "")
    try:
        return resolve_name(relative_name, package).rstrip(".")
    except ImportError:
        return ""


def _rename_import(
    source: Source,
    node: ast.ImportFrom,
    origin: str,
    moved: Moved,
) -> Iterator[Edit]:
    """Yield the edits of one import.

    Args:
        source: The file.
        node: The import.
        origin: The module that it imports from.
        moved: The tool.
    """
    new_names: dict[str, str] = {}
    if origin == f"{moved.package}.{moved.old}":
        for alias in node.names:
            new_names[alias.name] = moved.find_member(alias.name)
        if moved.is_file:
            yield _rename_origin(source, node, moved)
    elif origin == moved.package and moved.is_file:
        new_names[moved.old] = moved.new
    for alias in node.names:
        new_name = new_names.get(alias.name)
        if new_name:
            replacement = f"{new_name} as {alias.asname or alias.name}"
            yield Edit(
                start=source.start(alias),
                end=source.end(alias),
                replacement=replacement.encode(),
            )


def _rename_origin(source: Source, node: ast.ImportFrom, moved: Moved) -> Edit:
    """Return the edit of the module that an import names."""
    match = ORIGIN.match(source.raw, source.start(node))
    assert match is not None
    parent, dot, _ = match[1].decode().rpartition(".")
    replacement = f"{parent}{dot}{moved.new}"
    return Edit(
        start=match.start(1),
        end=match.end(1),
        replacement=replacement.encode(),
    )


def rename_imports_in_project(path: Path, old: str, new: str) -> dict[Path, str]:
    """Return the author's files that import a tool's module, with their new text."""
    package = ".".join(path.with_suffix("").parts[1:-1])
    moved = Moved(package, old, new, is_file=path.stem == old)
    texts = {}
    listed = git(Path(), "ls-files", "-z", "--", "*.py")
    for name in listed.split("\0"):
        file = Path(name)
        if not name or file == path or POLICY.match(name):
            continue
        text = file.read_text("utf-8")
        if old not in text:
            continue
        new_text = rename_imports(text, _name_module(file), moved)
        if new_text != text:
            texts[file] = new_text
    return texts


def _name_module(file: Path) -> str:
    """Return the dotted name of a module of the project."""
    parts = file.with_suffix("").parts
    if parts[0] == "src":
        parts = parts[1:]
    return ".".join(parts)


def find_importing_files(path: Path, name: str) -> list[Path]:
    """Return the author's files that import a tool's module, as a rename would edit them."""
    return sorted(rename_imports_in_project(path, name, f"{name}_renamed"))

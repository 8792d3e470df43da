"""Words for what a call does: the methods of client libraries, and statements of SQL and Cypher."""

import ast
import json
import re
from functools import cache
from importlib.resources import files
from typing import Any

from .sources import Module


@cache
def known() -> dict[str, Any]:
    """The vocabulary of client methods."""
    text = files(__package__).joinpath("effects.json").read_text(encoding="utf-8")
    loaded: dict[str, Any] = json.loads(text)
    return loaded


@cache
def calls(group: str) -> dict[str, str]:
    """What each name of a group does."""
    return {name: kind for kind, names in known()[group].items() for name in names.split()}


@cache
def words(group: str) -> frozenset[str]:
    """The names of a group."""
    return frozenset(known()[group].split())


@cache
def _patterns() -> list[tuple[str, re.Pattern[str]]]:
    flags = re.IGNORECASE | re.DOTALL
    return [(kind, re.compile(rf"\s*(?:{text})", flags)) for kind, text in known()["sql"].items()]


def text_of(module: Module, node: ast.expr) -> str:
    """A text that stands in a source, its parts together, a name for what is filled in; empty: not a text, or a part of one."""
    if isinstance(module.parents.get(node), ast.JoinedStr | ast.BinOp | ast.FormattedValue):
        return ""
    return _joined(node)


def _joined(node: ast.AST) -> str:
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else ""
    if isinstance(node, ast.JoinedStr):
        parts = (_joined(v) if isinstance(v, ast.Constant) else "x" for v in node.values)
        return "".join(parts)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return f"{_joined(node.left) or 'x'}{_joined(node.right) or 'x'}"
    return _joined(node.left) if isinstance(node, ast.BinOp) else ""


def sql(text: str) -> str | None:
    """What a statement of SQL, Cypher or GraphQL does; None: it is not a statement."""
    if re.match(r"\s*mutation\b\s*\w*\s*[({]", text):
        return "action"
    if len(text) < 8 or not re.search(
        r"(?is)\b(from|into|set|where|return|table|index|values)\b|^\s*(show|drop|truncate|explain|pragma|merge)\s+\w+\s",
        text,
    ):
        return None
    first = re.match(r"\s*([A-Za-z]+)", text)
    if not first or not (first[1].isupper() or (first[1].islower() and "\n" in text)):
        return None
    return next((kind for kind, pattern in _patterns() if pattern.match(text)), None)

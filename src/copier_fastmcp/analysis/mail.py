"""Reads of mail by IMAP that mark it as read: a whole message fetched from a folder that is open to write."""

import ast
import re
from collections.abc import Iterable, Iterator

from ..sources.modules import index_keywords, list_calls

# `BODY.PEEK[]`, `RFC822.HEADER` and `RFC822.SIZE` mark nothing.
MARKS = re.compile(r"(?i)\bRFC822(?!\.(?:HEADER|SIZE))\b|\bBODY\[")
FETCHES = {"fetch", "uid"}
SELECTS = {"select", "select_folder"}


def find_marking_fetch(functions: Iterable[ast.AST]) -> ast.AST | None:
    """The function that fetches whole messages, where some function opens a folder to write.

    Args:
        functions: The functions of one tool.
    """
    marking: ast.AST | None = None
    is_writable = False
    for function in functions:
        for call in _list_method_calls(function):
            name = call.func.attr if isinstance(call.func, ast.Attribute) else ""
            if name in FETCHES and _names_message(call):
                marking = marking or function
            elif name in SELECTS and call.args and not _is_read_only(call):
                is_writable = True
    return marking if is_writable else None


def _list_method_calls(function: ast.AST) -> Iterator[ast.Call]:
    for call in list_calls(function):
        if isinstance(call.func, ast.Attribute):
            yield call


def _names_message(call: ast.Call) -> bool:
    """Whether a call asks for a whole message, or a part of its body."""
    for argument in call.args:
        for node in ast.walk(argument):
            value = node.value if isinstance(node, ast.Constant) else ""
            if isinstance(value, str | bytes) and MARKS.search(str(value)):
                return True
    return False


def _is_read_only(call: ast.Call) -> bool:
    """Whether a folder is opened to read; also where a parameter says so."""
    readonly = index_keywords(call).get("readonly")
    if readonly is None and len(call.args) > 1:
        readonly = call.args[1]
    if isinstance(readonly, ast.Constant):
        return bool(readonly.value)
    return readonly is not None

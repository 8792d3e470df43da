"""Statements of SQL, Cypher and GraphQL in a source, and what each does."""

import ast
import re
from functools import cache

from ..sources.modules import FUNCTIONS, Module, Project
from .vocabulary import load_vocabulary

# The most cautious behavior comes first
ORDER = (
    "action",
    "delete",
    "put",
    "create",
    "ensure",
    "read",
)
# What calls run a text that they are given.
RUN = {
    "execute",
    "executemany",
    "executescript",
    "exec_driver_sql",
    "exec",
    "raw",
    "command",
    "raw_query",
    "text",
}
RUN |= {
    "query",
    "run",
    "sql",
    "fetch",
    "fetchrow",
    "fetchval",
    "fetchall",
    "fetch_all",
    "fetch_one",
}
RUN |= {"read_sql", "read_sql_query", "execute_query", "run_query", "prepare", "gql"}
# A statement by its form, however it is written; an English sentence does not have it.
FORM = re.compile(
    r"(?is)delete\s+from\s+\S+(?:\s+where\b|\s*;?\s*$)|update\s+\S+\s+set\s+\S+\s*=|(?:insert(?:\s+or\s+\w+)?|replace)\s+into\s+\S+\s*(?:\(|values|select)|"
    r"(?:drop|truncate|alter)\s+table\s|merge\s+into\s|select\s.*\sfrom\s"
)
WORDS = re.compile(
    r"(?is)\b(from|into|set|where|return|table|index|values)\b|^(show|drop|truncate|explain|pragma|merge|grant|revoke|call|exec|vacuum|alter)\s+\w"
)
# A statement that is only a call, where it is known that it runs: `SELECT purge_old_rows(1)`.
CALLS = re.compile(
    r"(?i)(?:select\s+[\w.]+\s*\(|copy\s+\S+\s+to\b|(?:vacuum|reindex|analyze|checkpoint)\s*(?:\w+\s*)?$|"
    r"(?:optimize|refresh)\s+\w|create\s)"
)
SHORTEST = 6  # characters of a statement: VACUUM
# What a trigger does later, at another statement.
TRIGGER = re.compile(r"(?is)(create\s+(?:\w+\s+)?trigger\b.*?)\bbegin\b.*?;\s*end\b")
REMARKS = re.compile(r"(?s)--[^\n]*|/\*.*?\*/")


@cache
def _load_patterns() -> list[tuple[str, re.Pattern[str]]]:
    flags = re.IGNORECASE | re.DOTALL
    return [
        (kind, re.compile(rf"(?:{text})", flags))
        for kind, text in load_vocabulary()["sql"].items()
    ]


def read_text(module: Module, node: ast.expr) -> str:
    """A text that stands in a source, its parts together, a name for what is filled in; empty: not a text, or a part of one."""
    if isinstance(
        module.parents.get(node), ast.JoinedStr | ast.BinOp | ast.FormattedValue
    ):
        return ""
    return join_text(node)


def join_text(node: ast.AST) -> str:
    """The text that an expression is; empty where it is none."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else ""
    if isinstance(node, ast.JoinedStr):
        text = ""
        for part in node.values:
            text += join_text(part) if isinstance(part, ast.Constant) else "x"
        return text
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return f"{join_text(node.left) or 'x'}{join_text(node.right) or 'x'}"
    return join_text(node.left) if isinstance(node, ast.BinOp) else ""


def resolve_text(project: Project, module: Module, node: ast.AST) -> str:
    """The text that a name stands for: a constant of a file or of a class; empty: none, or not one."""
    if isinstance(node, ast.Name) and (
        node.id in module.top or node.id in module.imports
    ):
        place = project.resolve(module, node)
        value = place.node if place else None
    elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        value = _resolve_attribute(project, module, node.value, node.attr)
    else:
        return ""
    return "" if value is None or isinstance(value, FUNCTIONS) else join_text(value)


def _resolve_attribute(
    project: Project, module: Module, owner_name: ast.Name, name: str
) -> ast.AST | None:
    if owner_name.id in ("self", "cls"):
        owner = module.find_enclosing_class(owner_name)
    else:
        place = project.resolve(module, owner_name)
        owner = place.node if place and isinstance(place.node, ast.ClassDef) else None
        if not place and owner_name.id in module.imports:
            imported_module = project.module(module.imports[owner_name.id])
            return imported_module.top.get(name) if imported_module else None
    for node in owner.body if owner else ():
        targets = node.targets if isinstance(node, ast.Assign) else []
        if isinstance(node, ast.AnnAssign):
            targets = [node.target]
        for target in targets:
            if isinstance(target, ast.Name) and target.id == name:
                return getattr(node, "value", None)
    return None


def classify_statement(text: str, *, run: bool = False) -> str | None:
    """What statements of SQL, Cypher or GraphQL do, the most cautious of them; None: it is not a statement.

    `run` says that a call runs the text, so that it needs no other sign of being one.
    """
    if re.search(r"(?m)^\s*mutation\b\s*\w*\s*[({@]", text):
        return "action"
    if GRAPHQL_QUERY.match(text) and text.count("{") == text.count("}"):
        return "read"
    plain = TRIGGER.sub(r"\1", REMARKS.sub(" ", text))
    kinds: set[str | None] = set()
    for statement in plain.split(";"):
        kinds.add(_classify_text(statement.strip(" \t\r\n("), run))
    for kind in ORDER:
        if kind in kinds:
            return kind
    return None


# Statements that only prepare: they lose nothing, and a second run changes nothing.
SETUP = re.compile(
    r"(?is)create\s+(?:unique\s+|virtual\s+)?(?:table\s+if\s+not\s+exists\s+(?!\S+\s+as\b)|(?:index|view|schema|trigger)\s+if\s+not\s+exists\b)|"
    r"create\s+temp(?:orary)?\s+table\b|alter\s+table\s+\S+\s+add\s+(?:column\s+)?\w|pragma\s+(?!(?:\w+\.)?incremental_vacuum\b)"
)
# A query by its form: its word with variables or a selection, or a selection of fields within fields.
GRAPHQL_QUERY = re.compile(
    r"\s*(?:query\b\s*\w*\s*(?:\([^{]*\)\s*)?\{\s*\w|\{\s*[a-z]\w*\s*(?:\([^{]*\)\s*)?\{\s*\w)"
)
CACHE = re.compile(
    "(?i)cache[ds]?(?![a-z])|memo(?:s|ized)?(?![a-z])|migrations?$|schema_version$|alembic_version$"
)
TARGET = re.compile(
    r"(?i)\b(?:into|from|update|table)\s+(?:if\s+not\s+exists\s+)?[\"`\[]?([\w.]+)"
)


def find_target(text: str) -> str:
    """The table that a statement changes; empty where it names none."""
    target = TARGET.search(text)
    return target[1] if target else ""


def creates_trigger(text: str) -> bool:
    """Whether a text is the statement that creates a trigger, and not a schema that has one."""
    return re.match(r"(?i)\s*create\s+(?:\w+\s+)?trigger\b", text) is not None


def is_setup(text: str) -> bool:
    """Whether statements only prepare tables, or keep what names itself a cache or the version of a schema."""
    for part in TRIGGER.sub(r"\1", REMARKS.sub(" ", text)).split(";"):
        statement = part.strip()
        if not statement:
            continue
        if SETUP.match(statement) or statement.lower().startswith(("begin", "commit")):
            continue
        if _classify_text(statement, run=True) == "read":
            continue
        target = TARGET.search(statement)
        if target is None or not CACHE.search(target[1]):
            return False
    return True


def _classify_text(text: str, run: bool) -> str | None:
    is_call = run and CALLS.match(text)
    if len(text) < SHORTEST or not (is_call or WORDS.search(text)):
        return None
    first = re.match(r"[A-Za-z]+", text)
    if not first:
        return None
    shaped = first[0].isupper() or (first[0].islower() and "\n" in text)
    if not (shaped or run or FORM.match(text)):
        return None
    for kind, pattern in _load_patterns():
        if pattern.match(text):
            return kind
    return None

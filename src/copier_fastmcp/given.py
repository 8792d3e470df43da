"""What the arguments of a call say: how it opens a file, which method it sends, what it runs."""

import ast
import re

from .methods import known
from .scopes import Scope
from .sources import FUNCTIONS

PARAMETERS = (
    "query",
    "sql",
    "command",
    "cmd",
    "code",
    "script",
    "statement",
    "cypher",
    "expression",
)


def dispatched(function: ast.AST, call: ast.Call) -> list[tuple[str, bool, str]] | None:
    """What a call of a helper sends that can send anything, as request(url, method="DELETE"); None: it is not such a helper."""
    calls = [n.func for n in ast.walk(function) if isinstance(n, ast.Call)]
    sent = {f.attr for f in calls if isinstance(f, ast.Attribute)} & {*known()["http"], "post"}
    if not isinstance(function, FUNCTIONS) or len(sent) < 3:
        return None
    arguments = function.args
    defaults = zip(reversed(arguments.args), reversed(arguments.defaults), strict=False)
    usual = next((d for a, d in defaults if a.arg in ("method", "verb")), None)
    verb = method_said(call) or str(getattr(usual, "value", "")).lower()
    kind = known()["http"].get(verb)
    return [(kind, True, f"it sends {verb.upper()}")] if kind else []


def mode_of(call: ast.Call) -> str:
    """How a call opens a file, where that is to write."""
    values = [*call.args, *(w.value for w in call.keywords if w.arg == "mode")]
    for value in values:
        if (
            isinstance(value, ast.Constant)
            and isinstance(value.value, str)
            and re.fullmatch("[rwaxbt+]{1,4}", value.value)
            and re.search("[wax+]", value.value)
        ):
            return next((one for one in "ax" if one in value.value), "w")
    return ""


def method_said(call: ast.Call) -> str:
    """The HTTP method that a call names, as in request("DELETE", ...)."""
    values = [*call.args[:2], *(w.value for w in call.keywords if w.arg in ("method", "verb"))]
    for value in values:
        if (
            isinstance(value, ast.Constant)
            and isinstance(value.value, str)
            and re.fullmatch("GET|HEAD|POST|PUT|PATCH|DELETE|OPTIONS", value.value)
        ):
            return value.value.lower()
    return ""


def passed(call: ast.Call, scope: Scope) -> str:
    """The parameter of a tool that a call runs as it is."""
    for value in call.args[:1]:
        if (
            isinstance(value, ast.Name)
            and value.id in scope.parameters
            and value.id.lower() in PARAMETERS
        ):
            return value.id
    return ""

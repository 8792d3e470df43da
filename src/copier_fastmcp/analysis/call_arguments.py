"""The arguments of a call: the mode of a file, the HTTP method, the statement that it runs."""

import ast
import re
from collections.abc import Iterable, Iterator

from ..sources.modules import (
    FUNCTIONS,
    Function,
    has_spread_keywords,
    index_keywords,
    list_calls,
    list_keyword_values,
    list_parameter_names,
)
from .scopes import Scope, root_name
from .vocabulary import load_vocabulary, load_words

PARAMETERS = {
    "query",
    "sql",
    "command",
    "cmd",
    "code",
    "script",
    "statement",
    "cypher",
    "expression",
}
FETCHES = {"sql", "statement", "cypher"}  # fetch(query) may look for a word
WRAPS = {"text", "gql", "SQL", "str", "strip", "rstrip", "encode", "dedent"}
METHODS = {"method", "verb", "http_method", "request_method"}
# Keywords whose texts say nothing of what a call does.
MANNERS = {"encoding", "errors", "mode", "newline", "headers", "timeout"}
ASKS_VERSION = {"--version", "-V", "--help"}
SHORTENS = {"--short", "-q", "--quiet"}
POST = "post"
SENT_POST = ("create", False, "it sends POST")
METHOD = re.compile("GET|HEAD|POST|PUT|PATCH|DELETE|OPTIONS")


def find_dispatched_method(
    function: ast.AST, call: ast.Call
) -> list[tuple[str, bool, str]] | None:
    """The methods that a call of a general helper sends, as request(url, method="DELETE"); None for any other function."""
    methods = {*load_vocabulary()["http"], "post"}
    sent: set[str] = set()
    for inner_call in list_calls(function):
        if isinstance(inner_call.func, ast.Attribute):
            sent.add(inner_call.func.attr)
    if not isinstance(function, FUNCTIONS) or len(sent & methods) < 3:
        return None
    return find_sent_methods(function, call)


def find_sent_methods(
    function: Function, call: ast.Call, texts: Iterable[str] = ()
) -> list[tuple[str, bool, str]]:
    """The method that a helper sends: its argument, as request("DELETE", url), or its default.

    Args:
        function: The helper.
        call: A call of it.
        texts: The texts that the call passes by the names of constants.
    """
    if not METHODS & list_parameter_names(function):
        return []
    verb = find_http_method(call)
    for text in texts:
        if not verb and METHOD.fullmatch(text):
            verb = text.lower()
    if not verb:
        default_method = _find_default_method(function)
        verb = str(getattr(default_method, "value", "")).lower()
    if verb == POST:
        return [SENT_POST]
    kind = load_vocabulary()["http"].get(verb)
    return [(kind, True, f"it sends {verb.upper()}")] if kind else []


def _find_default_method(function: Function) -> ast.expr | None:
    """The default of the parameter that names the HTTP method."""
    signature = function.args
    arguments = [*signature.posonlyargs, *signature.args]
    for argument, default in zip(
        reversed(arguments), reversed(signature.defaults), strict=False
    ):
        if argument.arg in METHODS:
            return default
    for argument, keyword_default in zip(
        signature.kwonlyargs, signature.kw_defaults, strict=True
    ):
        if keyword_default is not None and argument.arg in METHODS:
            return keyword_default
    return None


def find_open_mode(call: ast.Call, *, of_path: bool = False) -> str:
    """The mode in which a call opens a file to write; empty if it only reads.

    Args:
        call: A call of `open`.
        of_path: Whether the object that is opened is the one before the dot, so that the mode comes first.
    """
    positional = call.args if of_path else call.args[1:]
    values = [*positional, *list_keyword_values(call, "mode")]
    for value in values:
        if (
            isinstance(value, ast.Constant)
            and isinstance(value.value, str)
            and re.fullmatch("[rwaxbt+]{1,4}", value.value)
            and re.search("[wax+]", value.value)
        ):
            if "a" in value.value:
                return "a"
            return "x" if "x" in value.value else "w"
    return ""


def find_http_method(call: ast.Call, scope: Scope | None = None) -> str:
    """The HTTP method that a call names, as in request("DELETE", ...)."""
    values = [*call.args[:2], *list_keyword_values(call, *METHODS)]
    for value in values:
        held = (
            scope.assigned.get(value.id)
            if scope and isinstance(value, ast.Name)
            else value
        )
        text = held.value if isinstance(held, ast.Constant) else None
        if isinstance(text, str) and METHOD.fullmatch(text):
            return text.lower()
    return ""


def find_passed_parameter(
    call: ast.Call, name: str, scope: Scope, literal_parameters: frozenset[str]
) -> str:
    """The parameter of a tool that a call runs as it is; `literal_parameters` has those that the caller has written out."""
    statement_names = FETCHES if name.startswith(("fetch", "read")) else PARAMETERS
    for value in call.args[:1]:
        for held in _list_bare_parameters(value, scope):
            if (
                held in scope.parameters - literal_parameters
                and held.lower() in statement_names
            ):
                return held
    return ""


def _list_bare_parameters(
    value: ast.expr, scope: Scope, depth: int = 3
) -> Iterator[str]:
    """The names whose whole value is passed, not just as part of a text."""
    if isinstance(value, ast.Name):
        yield value.id
        if depth and value.id in scope.assigned:
            yield from _list_bare_parameters(scope.assigned[value.id], scope, depth - 1)
    elif isinstance(value, ast.Call) and depth:
        name = (
            value.func.attr
            if isinstance(value.func, ast.Attribute)
            else ast.unparse(value.func)
        )
        receivers = [value.func.value] if isinstance(value.func, ast.Attribute) else []
        for operand in (*value.args[:1], *receivers) if name in WRAPS else ():
            yield from _list_bare_parameters(operand, scope, depth - 1)
    elif isinstance(value, ast.JoinedStr) and depth:
        has_fixed_text = bool(_join_fixed_text(value).strip())
        for part in value.values:
            if isinstance(part, ast.FormattedValue) and not has_fixed_text:
                yield from _list_bare_parameters(part.value, scope, depth - 1)


def _join_fixed_text(text: ast.JoinedStr) -> str:
    """The constant parts of an f-string."""
    fixed = ""
    for part in text.values:
        if isinstance(part, ast.Constant):
            fixed += str(part.value)
    return fixed


def list_passed_texts(call: ast.Call, scope: Scope) -> Iterator[str]:
    """The texts that the arguments of a call contain, also by a local name."""
    values = [*call.args]
    for keyword in call.keywords:
        if keyword.arg not in MANNERS:
            values.append(keyword.value)
    for value in values:
        parts: list[ast.AST] = [value]
        for node in ast.walk(value):
            if isinstance(node, ast.Name) and node.id in scope.assigned:
                parts.append(scope.assigned[node.id])
        for part in parts:
            for node in ast.walk(part):
                if isinstance(node, ast.Constant) and isinstance(node.value, str):
                    yield node.value


def find_argument(function: Function, call: ast.Call, name: str) -> ast.expr | None:
    """The value that a call passes for a parameter; None where its source does not show one."""
    arguments = [*function.args.posonlyargs, *function.args.args]
    if arguments and arguments[0].arg in ("self", "cls"):
        arguments = arguments[1:]
    for argument, value in zip(arguments, call.args, strict=False):
        if isinstance(value, ast.Starred):
            return None
        if argument.arg == name:
            return value
    return index_keywords(call).get(name)


def list_literal_parameters(
    function: Function, call: ast.Call, scope: Scope, literal_parameters: frozenset[str]
) -> frozenset[str]:
    """The parameters of a function for which a call passes a text that its source shows."""
    arguments = [*function.args.posonlyargs, *function.args.args]
    if arguments and arguments[0].arg in ("self", "cls"):
        arguments = arguments[1:]
    passed: dict[str, ast.expr] = {}
    for argument, value in zip(arguments, call.args, strict=False):
        if isinstance(value, ast.Starred):
            return frozenset()
        passed[argument.arg] = value
    passed |= index_keywords(call)
    names = {argument.arg for argument in (*arguments, *function.args.kwonlyargs)}
    if has_spread_keywords(call):
        names = set(passed)
    literals: set[str] = set()
    for name in names:
        argument_value = passed.get(name)
        if argument_value is None or not _is_open_ended(
            argument_value, scope, literal_parameters
        ):
            literals.add(name)
    return frozenset(literals)


def _is_open_ended(
    value: ast.expr, scope: Scope, literal_parameters: frozenset[str]
) -> bool:
    """Whether a value may be a text of the tool's caller."""
    open_parameters = scope.parameters - literal_parameters
    return not open_parameters.isdisjoint(_list_bare_parameters(value, scope))


def find_reading_command(call: ast.Call, scope: Scope) -> str:
    """The command that a call runs, where its source shows that it only reads: `git log`; empty: it does not."""
    arguments = [*call.args[:1], *list_keyword_values(call, "args")]
    command: ast.AST | None = arguments[0] if arguments else None
    if isinstance(command, ast.Starred):
        command = command.value
    is_extended = root_name(command) in scope.extended if command else False
    if isinstance(command, ast.Name):
        command = scope.find_only_value(command.id)
    parts = command.elts if isinstance(command, ast.List | ast.Tuple) else call.args
    words: list[str] = []
    for part in parts:
        value = part.value if isinstance(part, ast.Constant) else ""
        words.append(value if isinstance(value, str) else "")
    if is_extended:
        words.append("")
    program = words[0].rpartition("/")[2] if words else ""
    if program in load_words("reading_programs"):
        return program
    if program == "git":
        return _find_reading_git(words[1:])
    option = words[1] if len(words) > 1 else ""
    if program and len(words) == 2 and option in ASKS_VERSION:
        return f"{program} {option}"
    return ""


def _find_reading_git(words: list[str]) -> str:
    """The command of git, where it only reads.

    Args:
        words: What follows `git`; empty for what the source does not show.
    """
    while len(words) > 1 and words[0] == "-C":  # the folder of the repository
        words = words[2:]
    command = words[0] if words else ""
    if command in load_words("reading_git") or command in ASKS_VERSION:
        return f"git {command}"
    names = [word for word in words[1:] if not word.startswith("-")]
    options = set(words[1:]) - set(names)
    if command == "symbolic-ref" and len(names) == 1 and options <= SHORTENS:
        return f"git {command}"
    return ""

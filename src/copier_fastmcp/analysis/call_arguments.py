"""The arguments of a call: the mode of a file, the HTTP method, the statement that it runs."""

import ast
import re
from collections.abc import Iterable, Iterator, Mapping

from ..sources.modules import (
    FUNCTIONS,
    Function,
    has_spread_keywords,
    index_keywords,
    list_calls,
    list_keyword_values,
    list_parameter_names,
)
from .scopes import Scope
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
ASKS_VERSION = {"--version", "-V", "--help", "-version", "version"}
# What a shell reads as more than one command, or as more than its words.
SHELL = re.compile(r"[;&|<>$`\n*?{}()'\"\\]")
# The words after these programs that only read.
CLOUD_READS = {
    "aws": re.compile(r"[\w-]+ (?:describe|list)-[\w-]+|s3 ls"),
    "gh": re.compile(
        r"(?:pr|issue|repo|run|release|workflow) (?:list|view|status|diff|checks)"
    ),
}
# By these, a program of the clipboard prints what is in it.
PASTES = {"-o", "-out", "--output"}
# What starts a process.
STARTS = {
    "run",
    "Popen",
    "call",
    "check_call",
    "check_output",
    "getoutput",
    "create_subprocess_exec",
    "run_process",
}
Commands = Mapping[str, tuple[str, ...]]
NO_COMMANDS: Commands = {}
SHORTENS = {"--short", "-q", "--quiet"}
POST = "post"
SENT_POST = ("create", False, "it sends POST")
# HTTP methods, the one that changes most last.
BY_CHANGE = ("OPTIONS", "HEAD", "GET", "POST", "PATCH", "PUT", "DELETE")


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
        if not verb and text in BY_CHANGE:
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
    """The HTTP method that a call names, as in request("DELETE", ...); of several the one that changes most."""
    values = [*call.args[:2], *list_keyword_values(call, *METHODS)]
    for value in values:
        held = (
            scope.assigned.get(value.id)
            if scope and isinstance(value, ast.Name)
            else value
        )
        methods = list(_list_methods(held))
        if methods:
            return max(methods, key=BY_CHANGE.index).lower()
    return ""


def _list_methods(value: ast.expr | None) -> Iterator[str]:
    """The HTTP methods that a value may be: both of `"DELETE" if undo else "POST"`."""
    if isinstance(value, ast.IfExp):
        yield from _list_methods(value.body)
        yield from _list_methods(value.orelse)
    text = value.value if isinstance(value, ast.Constant) else None
    if isinstance(text, str) and text in BY_CHANGE:
        yield text


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


def find_reading_command(
    call: ast.Call, scope: Scope, commands: Commands = NO_COMMANDS
) -> str:
    """The command that a call runs, where its source shows that it only reads: `git log`; empty: it does not.

    Args:
        call: A call that starts a process.
        scope: The names of the function that makes the call.
        commands: The words that the caller of that function has written out, by parameter.
    """
    arguments = [*call.args[:1], *list_keyword_values(call, "args")]
    command = arguments[0] if arguments else None
    words = list_command_words(command, scope, commands) if command else None
    if words is None or (len(words) == 1 and len(call.args) > 1):
        words = []  # create_subprocess_exec("git", "log")
        for argument in call.args:
            words.extend(_list_part_words(argument, scope, commands))
    return _find_reading_words(words)


def _find_reading_words(words: list[str]) -> str:
    """The command that some words are, where it only reads."""
    program = words[0].rpartition("/")[2] if words else ""
    if program in load_words("reading_programs"):
        return program
    if program == "git":
        return _find_reading_git(words[1:])
    if program in ("xclip", "xsel") and not PASTES.isdisjoint(words):
        return program
    option = words[1] if len(words) > 1 else ""
    asks_version = len(words) == 2 and option in ASKS_VERSION
    reading_options = load_vocabulary()["reading_commands"].get(program, "").split()
    if program and (asks_version or option in reading_options):
        return f"{program} {option}"
    subcommand = " ".join(words[1:3])
    pattern = CLOUD_READS.get(program)
    is_reading = pattern is not None and pattern.fullmatch(subcommand)
    return f"{program} {subcommand}" if is_reading else ""


def list_command_words(
    command: ast.AST, scope: Scope, commands: Commands = NO_COMMANDS, depth: int = 3
) -> list[str] | None:
    """The words of a command, empty for what the source does not show; None: it shows no command.

    Args:
        command: What is run, or what is passed to a helper that runs it.
        scope: The names of the function around it.
        commands: The words that the caller of that function has written out, by parameter.
        depth: How often a name is followed.
    """
    if isinstance(command, ast.Starred):
        command = command.value
    if isinstance(command, ast.Name):
        return _list_named_words(command.id, scope, commands, depth)
    if isinstance(command, ast.List | ast.Tuple):
        words: list[str] = []
        for part in command.elts:
            words.extend(_list_part_words(part, scope, commands))
        return words
    if isinstance(command, ast.BinOp) and isinstance(command.op, ast.Add):
        left = list_command_words(command.left, scope, commands, depth)
        right = list_command_words(command.right, scope, commands, depth)
        return None if left is None else [*left, *([""] if right is None else right)]
    if isinstance(command, ast.Call) and ast.unparse(command.func) in ("list", "tuple"):
        inner = command.args[0] if command.args else None
        return list_command_words(inner, scope, commands, depth) if inner else None
    if isinstance(command, ast.Constant) and isinstance(command.value, str):
        return None if SHELL.search(command.value) else command.value.split()
    return None


def _list_named_words(
    name: str, scope: Scope, commands: Commands, depth: int
) -> list[str] | None:
    value = scope.find_only_value(name)
    words: list[str] | None = None
    if value is not None and depth:
        words = list_command_words(value, scope, commands, depth - 1)
    elif name in commands and name not in scope.assigned:
        words = list(commands[name])
    if words is not None and name in scope.extended:
        words.append("")
    return words


def _list_part_words(part: ast.expr, scope: Scope, commands: Commands) -> list[str]:
    """The words that one part of a command is: one, or those of `*arguments`."""
    if isinstance(part, ast.Constant):
        return [part.value if isinstance(part.value, str) else ""]
    if isinstance(part, ast.Starred):
        words = list_command_words(part.value, scope, commands)
        return [""] if words is None else words
    if isinstance(part, ast.Name) and len(commands.get(part.id, ())) == 1:
        words = list_command_words(part, scope, commands)
        return words or [""]
    return [""]


def list_passed_commands(
    function: Function, call: ast.Call, scope: Scope, commands: Commands
) -> dict[str, tuple[str, ...]]:
    """The words of commands that a call passes to a function that runs one, by parameter.

    Args:
        function: The function.
        call: A call of it.
        scope: The names of the function that makes the call.
        commands: The words that the caller of that function has written out.
    """
    if not any(_name_callee(inner) in STARTS for inner in list_calls(function)):
        return {}
    parameters = [*function.args.posonlyargs, *function.args.args]
    if parameters and parameters[0].arg in ("self", "cls"):
        parameters = parameters[1:]
    passed: dict[str, tuple[str, ...]] = {}
    values = {**index_keywords(call)}
    if not any(isinstance(value, ast.Starred) for value in call.args):
        for parameter, value in zip(parameters, call.args, strict=False):
            values[parameter.arg] = value
    for name, value in values.items():
        words = list_command_words(value, scope, commands)
        if words:
            passed[name] = tuple(words)
    rest = call.args[len(parameters) :]
    if function.args.vararg is not None and rest:
        words = []
        for value in rest:
            words.extend(_list_part_words(value, scope, commands))
        passed[function.args.vararg.arg] = tuple(words)
    return passed


def _name_callee(call: ast.Call) -> str:
    """The last part of what a call names."""
    return ast.unparse(call.func).rpartition(".")[2]


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

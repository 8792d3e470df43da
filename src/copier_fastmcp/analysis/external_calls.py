"""What a call does that leaves the project, by the name of what it calls."""

import ast
import builtins
import re
import sys
from collections.abc import Iterator

from ..auditing.verbs import parse_name, split_name
from ..sources.modules import Module, Project, list_keyword_values, list_names
from .call_arguments import find_http_method, find_open_mode, find_passed_parameter
from .scopes import Scope, is_temporary, root_name, shorten_expression
from .statements import RUN
from .vocabulary import load_calls, load_vocabulary, load_words

KINDS = {
    "read": "read",
    "add": "create",
    "ensure": "ensure",
    "change": "put",
    "remove": "delete",
}
HTTP_METHODS = {"get", "head", "options", "post", "put", "patch", "delete"}
CallEffect = tuple[str, bool, str]
# Objects that stand for what is stored elsewhere.
STORED = re.compile(
    r"\.(?:objects|filter|filter_by|where|query|document|doc|collection|table|ref|reference|child|worksheet)\b"
)
HELD = re.compile(r"\b(?:StringIO|BytesIO|stdout|stderr|hashlib)\b")
OURS = {
    "fastmcp",
    "mcp",
    "mcp_types",
    "pydantic",
    "typing_extensions",
    *sys.stdlib_module_names,
}
# Modules of Python's own whose functions change nothing, whatever their verbs.
HARMLESS = {
    "atexit",
    "ssl",
    "secrets",
    "math",
    "re",
    "json",
    "datetime",
    "statistics",
    "itertools",
    "copy",
}
HARMLESS |= {
    "functools",
    "collections",
    "textwrap",
    "string",
    "operator",
    "decimal",
    "base64",
}
HARMLESS |= {
    "hashlib",
    "hmac",
    "html",
    "uuid",
    "inspect",
    "dataclasses",
    "contextlib",
    "struct",
}
ASKS = {
    "request",
    "command",
    "mutation",
}  # a class of a client: DeleteMessageRequest(...)
MAKES = {
    "engine",
    "model",
    "agent",
    "app",
    "server",
    "tool",
    "parser",
    "factory",
    "pool",
    "context",
}
MAKES |= {
    "config",
    "loader",
    "reader",
    "chain",
    "graph",
    "provider",
    "transport",
    "schema",
    "embeddings",
}


def find_external_effects(
    project: Project,
    module: Module,
    call: ast.Call,
    scope: Scope,
    literal_parameters: frozenset[str],
) -> Iterator[CallEffect]:
    """What a call does: a kind, whether that is sure, and words for it."""
    dotted = project.dotted(module, call.func)
    text = f"it calls {shorten_expression(call.func)}()"
    temporary = is_temporary(ast.unparse(call))
    if kind := load_calls("functions").get(dotted):
        if not (
            temporary
            and kind in ("ensure", "delete", "put")
            and dotted != "shutil.move"
        ):
            yield kind, True, text
        return
    if dotted in ("open", "builtins.open", "io.open", "aiofiles.open") or (
        isinstance(call.func, ast.Attribute) and call.func.attr == "open" and call.args
    ):
        if (mode := find_open_mode(call)) and not temporary:
            kind = {"a": "append", "x": "create"}.get(mode, "save")
            yield kind, True, f"{text} to write"
        return
    name = dotted.rpartition(".")[2]
    if name in ("urlopen", "Request") and (
        len(call.args) > 1 or list_keyword_values(call, "data")
    ):
        yield "create", False, "it sends POST"
    if dotted.split(".")[0] in HARMLESS & {*module.imports.values()}:
        return
    if isinstance(call.func, ast.Attribute):
        yield from _classify_method(
            call, call.func, scope, literal_parameters, text, temporary=temporary
        )
    elif kind := load_vocabulary()["http"].get(verb := find_http_method(call, scope)):
        yield kind, True, f"it sends {verb.upper()}"
    elif isinstance(call.func, ast.Name):
        yield from _classify_function(module, call.func.id, scope, text)


def _classify_function(
    module: Module, name: str, scope: Scope, text: str
) -> Iterator[CallEffect]:
    """What a function of another package says by its verb."""
    target = module.imports.get(name)
    local = name in scope.assigned or name in scope.parameters or name in module.top
    if target is None and (local or hasattr(builtins, name)):
        return
    for star in module.stars if target is None else ():
        if kind := load_calls("functions").get(f"{star}.{name}"):
            yield kind, True, text
            return
    if target is None and not module.stars:
        return
    if target and target.split(".")[0] in OURS:
        return
    parts = split_name((target or name).rpartition(".")[2])
    makes = MAKES | load_words("plumbing")
    if name[:1].isupper() and (not parts or parts[-1] not in ASKS):
        return
    verbs = parse_name("_".join(parts))
    if len(parts) > 1 and verbs and verbs[0].kind != "read" and parts[-1] not in makes:
        yield KINDS.get(verbs[0].kind, "action"), False, text


def _classify_method(
    call: ast.Call,
    function: ast.Attribute,
    scope: Scope,
    literal_parameters: frozenset[str],
    text: str,
    *,
    temporary: bool,
) -> Iterator[CallEffect]:
    name, held = function.attr, function.value
    origin = root_name(held)
    if origin in ("logger", "logging", "log", "ctx", "context", "json", "re", "math"):
        return
    client = re.search(
        rf"(?:^|[._])_?(?:{load_vocabulary()['senders']})",
        shorten_expression(held).lower(),
    )
    if (
        client
        and (kind := load_vocabulary()["http"].get(name))
        and (call.args or call.keywords)
    ):
        yield kind, True, text
        return
    if verb := find_http_method(call, scope):
        if kind := load_vocabulary()["http"].get(verb):
            yield kind, True, f"it sends {verb.upper()}"
        return
    if client and name == "request" and call.args:
        if ast.unparse(call.args[0]) not in literal_parameters and not isinstance(
            call.args[0], ast.Constant
        ):
            yield (
                "action",
                False,
                f"it sends what {shorten_expression(call.args[0])} says",
            )
        return
    if kind := load_vocabulary()["containers"].get(name):
        yield from _classify_container(call, kind, name, held, scope, text)
        return
    if name in RUN and _is_routed_to_readers(call):
        yield "read", True, text
        return
    if name in RUN and (
        parameter := find_passed_parameter(call, name, scope, literal_parameters)
    ):
        yield "action", False, f"it runs what {parameter!r} says"
        return
    if name == "replace" and len(call.args) == 1 and not call.keywords:
        if not isinstance(call.args[0], ast.Dict):
            yield "put", True, text  # of a path: that of a text takes two
        return
    if kind := load_calls("calls").get(name):
        if name == "exists" or not temporary:
            yield kind, True, text
        return
    if name in load_words("savers") and not temporary:
        count = len(call.args) + len(call.keywords)
        alone = name == "dump" and count < 2
        alone = alone or (name.startswith("to_") and not count)  # gives back a text
        if not alone and not HELD.search(_describe_origin(held, scope)):
            yield "save", True, text
        return
    if name == "close" and call.args:
        yield "action", False, text
        return
    if name in load_words("nothing") or (
        name == "send" and "session" in shorten_expression(held).lower()
    ):
        return  # a session sends what a request says
    if name.startswith("_"):
        stored = name in ("__setitem__", "__delitem__") and scope.is_lasting(held)
        yield from [("put", True, text)] * stored
        return
    if name in ("delete", "delete_async", "adelete"):
        yield "delete", True, text
        return
    if _is_constant(name):
        return  # a template of an address, as endpoints.BUILD(number=1)
    if verbs := parse_name(name):
        yield KINDS.get(verbs[0].kind, "action"), False, text


def _is_constant(name: str) -> bool:
    """Whether what is called is named as a constant, and not as a method of HTTP."""
    return name.isupper() and len(name) > 1 and name.lower() not in HTTP_METHODS


def _is_routed_to_readers(call: ast.Call) -> bool:
    """Whether a query names the members of a cluster that only read, which refuse to write."""
    for keyword in call.keywords:
        if keyword.arg == "routing_control":
            return ast.unparse(keyword.value).rpartition(".")[2] == "READ"
    return False


def _classify_container(
    call: ast.Call, kind: str, name: str, held: ast.expr, scope: Scope, text: str
) -> Iterator[CallEffect]:
    """What the method of a container does, where that is more than an object of this call."""
    if (
        name == "pop"
        and call.args
        and not isinstance(call.args[0], ast.Constant | ast.UnaryOp)
    ):
        kind = "delete"  # of a named thing
    if scope.is_lasting(held):
        yield kind, True, text
        return
    capital = root_name(held)[:1].isupper()  # Note.update(seen=True)
    is_stored = (capital or scope.is_foreign(held)) and bool(call.keywords)
    is_stored = is_stored or bool(
        re.search("session|db", root_name(held))
        or STORED.search(_describe_origin(held, scope))
    )
    if is_stored and name in ("add", "update", "remove", "insert"):
        yield (
            {"add": "create", "insert": "create", "remove": "delete"}.get(name, "put"),
            True,
            text,
        )


def _describe_origin(held: ast.expr, scope: Scope, depth: int = 3) -> str:
    """An expression as a text, and what the names in it were made from."""
    origins = [ast.unparse(held)]
    if depth:
        for name in sorted(list_names(held) & scope.assigned.keys()):
            origins.append(_describe_origin(scope.assigned[name], scope, depth - 1))
    return " ".join(origins)


def is_preparation(name: str) -> bool:
    """Whether a helper only prepares: a connection, a log, a cache."""
    parts = split_name(name)
    if any(verb.kind in ("remove", "run") for verb in parse_name(name)):
        return False
    return bool({*parts[:1], *parts[-1:]} & load_words("plumbing"))

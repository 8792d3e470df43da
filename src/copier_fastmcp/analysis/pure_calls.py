"""Whether a call is known to do nothing but compute, or to ask a database what its source shows."""

import ast
import builtins

from ..sources.modules import Module, Project, list_keyword_values
from .scopes import Scope, root_name
from .statements import RUN, classify_statement, join_text, resolve_text
from .vocabulary import load_vocabulary, load_words

MODULES = {
    "math",
    "re",
    "json",
    "datetime",
    "statistics",
    "itertools",
    "functools",
    "collections",
}
MODULES |= {
    "textwrap",
    "string",
    "operator",
    "decimal",
    "fractions",
    "copy",
    "time",
    "typing",
}
MODULES |= {
    "pathlib",
    "uuid",
    "base64",
    "hashlib",
    "random",
    "html",
    "difflib",
    "heapq",
    "bisect",
}
MODULES |= {"numpy", "scipy", "Crypto", "Cryptodome"}
# Names of other packages that only compute, look something up or make an object.
NAMES = {
    "os.path",
    "os.getenv",
    "os.environ.get",
    "os.getcwd",
    "os.cpu_count",
    "urllib.parse",
    "urllib.request.Request",
    "shutil.which",
    "contextlib",
    "dataclasses",
    "platform",
    "io.BytesIO",
    "io.StringIO",
    "yaml.safe_load",
    "traceback.format_exc",
    "inspect.signature",
    "threading.Lock",
    "threading.RLock",
    "asyncio.Lock",
    "asyncio.Semaphore",
    "asyncio.gather",
    "asyncio.sleep",
    "asyncio.wait_for",
    "httpx.AsyncClient",
    "httpx.Client",
    "httpx.Timeout",
    "httpx.Limits",
    "requests.Session",
    "aiohttp.ClientSession",
    "aiohttp.ClientTimeout",
}
# Of the methods that nobody counts as effects, those that may start or keep something.
STARTS = {
    "execute",
    "executemany",
    "commit",
    "run",
    "begin_transaction",
    "create_task",
    "submit",
}
STARTS |= {
    "start_soon",
    "to_thread",
    "run_sync",
    "run_in_executor",
    "set_attribute",
    "mount",
}
STARTS |= {
    "invalidate",
    "cache_clear",
    "getattr",
    "setattr",
    "partial",
    "open",
    "session",
}
RUNS = {
    "exec",
    "eval",
    "open",
    "setattr",
    "delattr",
    "compile",
    "input",
    "__import__",
    "globals",
}
# What the packages of the protocol make for an answer: TextContent, ToolError
PROTOCOL = {"mcp", "mcp_types", "fastmcp"}
ANSWERS = ("Content", "Error", "Result")
LITERALS = (
    ast.Dict,
    ast.List,
    ast.Set,
    ast.DictComp,
    ast.ListComp,
    ast.SetComp,
    ast.Constant,
)


# Methods of OpenTelemetry, which note how a call went for those who operate the server.
TRACES = {
    "add_event",
    "record_exception",
    "set_attribute",
    "set_attributes",
    "set_status",
    "start_as_current_span",
    "start_span",
    "update_name",
}


def is_trace(call: ast.Call) -> bool:
    """Whether a call notes something for a trace: a method of a tracer or a span."""
    if not isinstance(call.func, ast.Attribute) or call.func.attr not in TRACES:
        return False
    words = root_name(call.func.value).lower().split("_")
    return words[-1] in ("span", "tracer")


def is_pure_call(
    project: Project,
    module: Module,
    call: ast.Call,
    scope: Scope,
    literal_parameters: frozenset[str],
) -> bool:
    """Whether a call that leaves the project only computes; what is not known does not."""
    dotted = project.dotted(module, call.func)
    package = dotted.split(".")[0]
    imported = {name.split(".")[0] for name in module.imports.values()}
    is_module = package in imported and (package in MODULES or _is_named(dotted))
    is_answer = package in PROTOCOL and dotted.endswith(ANSWERS)
    is_known = is_module or is_answer or is_trace(call) or _opens_to_read(call, dotted)
    if is_known or _hands_on(call, dotted, scope):
        return True
    if isinstance(call.func, ast.Name):
        local = call.func.id in scope.assigned or call.func.id in module.top
        builtin = hasattr(builtins, call.func.id) and call.func.id not in RUNS
        return (builtin and not local) or package in MODULES
    if not isinstance(call.func, ast.Attribute):
        return False
    name = call.func.attr
    if name in load_vocabulary()["containers"]:
        return isinstance(scope.assigned.get(root_name(call.func.value)), LITERALS)
    if name in RUN:
        return all(
            _is_shown_statement(project, module, statement, scope, literal_parameters)
            for statement in call.args[:1]
        )
    return name in load_words("nothing") - STARTS or name in load_words("frames")


def _is_named(dotted: str) -> bool:
    """Whether a dotted name, or what it is in, only computes, looks something up or makes an object."""
    parts = dotted.split(".")
    return any(".".join(parts[:end]) in NAMES for end in range(1, len(parts) + 1))


def _hands_on(call: ast.Call, dotted: str, scope: Scope) -> bool:
    """Whether a call runs a function in a thread, which is read by itself as its source names it."""
    if dotted != "asyncio.to_thread" or not call.args:
        return False
    function = call.args[0]
    if isinstance(function, ast.Name) and function.id in scope.local_names:
        return False
    is_named = isinstance(function, ast.Name | ast.Attribute)
    return is_named and root_name(function) not in scope.parameters - {"self", "cls"}


def _opens_to_read(call: ast.Call, dotted: str) -> bool:
    """Whether a call opens a file to read."""
    if dotted not in ("open", "builtins.open", "io.open"):
        return False
    mode = [*call.args[1:2], *list_keyword_values(call, "mode")]
    if not mode:
        return True
    value = mode[0].value if isinstance(mode[0], ast.Constant) else ""
    return isinstance(value, str) and value in ("r", "rb", "rt")


def _is_shown_statement(
    project: Project,
    module: Module,
    statement: ast.expr,
    scope: Scope,
    literal_parameters: frozenset[str],
) -> bool:
    """Whether a statement that is run stands in the source."""
    if isinstance(statement, ast.Name) and statement.id in literal_parameters:
        return True  # whoever calls this function has written it out
    held = (
        scope.assigned.get(statement.id, statement)
        if isinstance(statement, ast.Name)
        else statement
    )
    return (
        classify_statement(
            join_text(held) or resolve_text(project, module, held), run=True
        )
        is not None
    )

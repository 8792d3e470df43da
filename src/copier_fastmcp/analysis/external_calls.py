"""What a call does that leaves the project, by the name of what it calls."""

import ast
import builtins
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

from ..auditing.verbs import Verb, find_verb, parse_name, split_name
from ..auditing.vocabulary import get_word_list
from ..sources.modules import (
    Module,
    Project,
    list_calls,
    list_keyword_values,
    list_names,
)
from .call_arguments import (
    NO_COMMANDS,
    POST,
    SENT_POST,
    Commands,
    find_http_method,
    find_open_mode,
    find_passed_parameter,
    find_reading_command,
    list_passed_texts,
)
from .call_targets import find_run_target
from .pure_calls import is_trace
from .scopes import (
    CALL_LOCAL,
    SIGNALS,
    Scope,
    is_temporary,
    root_name,
    shorten_expression,
)
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
# The effects of these methods where the object is stored in a database.
STORED_KINDS = {
    "add": "create",
    "insert": "create",
    "remove": "delete",
    "update": "put",
}
PLAIN_OBJECTS = {"logger", "logging", "log", "ctx", "context", "json", "re", "math"}
BUILTINS = {"setattr": "put", "delattr": "delete", "next": "consume"}
REMOVALS = {"delete", "remove", "destroy", "erase", "purge"}
WAITING = {"timeout", "block"}
OPENERS = {"open", "builtins.open", "io.open", "aiofiles.open"}
BARE_KINDS = {"add", "ensure", "change", "remove", "act"}
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
# First words of a function that carries out what the next word says: handle_list_notes
CARRIERS = {"do", "handle", "run"}
# Calls of a tool of another server, which is named by the first argument.
REMOTE_CALLS = {"call_tool", "invoke_tool"}
FACTORIES = {"factory", "provider"}
LOCKS = {"lock", "rlock", "mutex", "semaphore"}
STARTED_TASKS = re.compile(
    r"\b(?:\w*executor|pool)\.submit\(|create_task\(|ensure_future\("
)
MATCHES = re.compile(r"\.?(?:finditer|search|match|fullmatch)\(")
THREADS = re.compile(r"(?:threading\.)?(?:Thread|Timer)$")
COPIES = {"copy", "copy2", "copyfile", "copytree", "link", "symlink"}
MOVES = {"move", "replace", "rename"}
TEMPORARY = re.compile(
    r"\b(?:TemporaryDirectory|NamedTemporaryFile|TemporaryFile|mkdtemp|mkstemp)\("
)
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
    "platform",
    "importlib",
    "unicodedata",
    "ctypes",
    "hashlib",
    "hmac",
    "html",
    "uuid",
    "inspect",
    "dataclasses",
    "contextlib",
    "struct",
    "traceback",
    "pydantic_core",
}
# Packages for computing: of their methods only those that save or load write or read.
COMPUTING = {"numpy", "pandas", "polars", "scipy", "Crypto", "Cryptodome"}
TRANSFERS = {"sftp", "scp"}
STREAMS = {"buffer", "buf", "file", "f", "fh", "fp", "stream", "bio"}
DRAWING = {"matplotlib", "seaborn"}
DRAWS = ("set_", "add_", "plot", "fill", "invert", "tick_params")
# A class of a client: DeleteMessageRequest(...)
ASKS = {
    "request",
    "command",
    "mutation",
}
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
    commands: Commands = NO_COMMANDS,
) -> Iterator[CallEffect]:
    """What a call does: a kind, whether that is sure, and words for it.

    Args:
        project: The source of the server.
        module: The file of the call.
        call: The call.
        scope: The names of the function that makes the call.
        literal_parameters: The parameters of that function which its caller has written out.
        commands: The words of commands that its caller has written out, by parameter.
    """
    path = project.dotted(module, call.func)
    dotted = path.removeprefix("builtins.")
    text = f"it calls {shorten_expression(call.func)}()"
    temporary = _is_about_temporary(call, scope)
    if effect := _classify_builtin(call, dotted, scope, text):
        yield effect
        return
    if kind := load_calls("functions").get(dotted):
        yield from _classify_known_function(call, dotted, kind, scope, commands)
        return
    if _opens_file(call, dotted):
        of_path = dotted not in OPENERS and not _is_module(module, call.func)
        if (mode := find_open_mode(call, of_path=of_path)) and not temporary:
            kind = {"a": "append", "x": "create"}.get(mode, "save")
            yield kind, True, f"{text} to write"
        return
    name = dotted.rpartition(".")[2]
    if name in ("urlopen", "Request") and (
        len(call.args) > 1 or list_keyword_values(call, "data")
    ):
        yield SENT_POST
    is_builtin = dotted != path
    if is_builtin or dotted.split(".")[0] in HARMLESS & {*module.imports.values()}:
        return
    if isinstance(call.func, ast.Attribute):
        origin = _describe_global(project, module, call.func.value, scope)
        method = MethodCall(
            call, call.func, scope, literal_parameters, text, temporary, origin
        )
        yield from _classify_method(method)
    elif kind := load_vocabulary()["http"].get(verb := find_http_method(call, scope)):
        yield kind, True, f"it sends {verb.upper()}"
    elif isinstance(call.func, ast.Name):
        yield from _classify_function(module, call.func.id, scope, text)


def _describe_global(
    project: Project, module: Module, held: ast.expr, scope: Scope
) -> str:
    """What a name that is no local one is made from, as its source reads; empty: it is not shown."""
    if isinstance(held, ast.Name) and held.id in scope.assigned:
        is_global = held.id in scope.globals
        return "" if is_global else ast.unparse(scope.assigned[held.id])
    place = project.resolve(module, held)
    node = place.node if place else None
    return ast.unparse(node) if isinstance(node, ast.expr) else ""


def _classify_known_function(
    call: ast.Call, dotted: str, kind: str, scope: Scope, commands: Commands
) -> Iterator[CallEffect]:
    """What a function of the vocabulary does, unless it is about a temporary file."""
    text = f"it calls {shorten_expression(call.func)}()"
    if dotted == "shutil.copytree" and not list_keyword_values(call, "dirs_exist_ok"):
        kind = "create"  # it refuses a folder that exists
    if kind == "action" and (command := find_reading_command(call, scope, commands)):
        yield "read", True, f"it runs {command!r}"
        return
    if kind == "read" and _names_removal(call, scope):
        yield "action", False, f"{text} with an address that removes"
        return
    is_local = kind in ("ensure", "delete", "put", "create")
    if not (is_local and _is_about_temporary(call, scope)):
        yield kind, True, text


def _is_about_temporary(call: ast.Call, scope: Scope) -> bool:
    """Whether a call is about a temporary file, a cache or a log: for a move or a copy, its destination."""
    name = ast.unparse(call.func).rpartition(".")[2]
    if name in COPIES and call.args:
        return _is_temporary_place(call.args[-1], scope)
    if name in MOVES and call.args:
        # what is moved away is lost where it was
        places = [*call.args]
        if len(places) == 1 and isinstance(call.func, ast.Attribute):
            places.append(call.func.value)
        return all(_is_temporary_place(place, scope) for place in places)
    if is_temporary(ast.unparse(call)):
        return True
    places = [*call.args[:1]]
    if isinstance(call.func, ast.Attribute):
        places.append(call.func.value)
    return any(_is_in_temporary(place, scope) for place in places)


def _is_temporary_place(place: ast.expr, scope: Scope) -> bool:
    """Whether an expression names a temporary place, a cache or a log."""
    return is_temporary(ast.unparse(place)) or _is_in_temporary(place, scope)


def _is_in_temporary(place: ast.expr, scope: Scope) -> bool:
    """Whether a local name holds a place that `tempfile` has made, or one below it."""
    if root_name(place) not in scope.assigned:
        return False
    return TEMPORARY.search(_describe_origin(place, scope)) is not None


def _opens_file(call: ast.Call, dotted: str) -> bool:
    """Whether a call opens a file: the function, or the method of a path with a mode."""
    if dotted in OPENERS:
        return True
    is_method = isinstance(call.func, ast.Attribute) and call.func.attr == "open"
    return is_method and bool(call.args or list_keyword_values(call, "mode"))


def _classify_builtin(
    call: ast.Call, dotted: str, scope: Scope, text: str
) -> CallEffect | None:
    """What a function of Python itself changes of an object that outlives the call."""
    kind = BUILTINS.get(dotted)
    if kind is None or not call.args or not scope.is_lasting(call.args[0]):
        return None
    is_named = isinstance(call.args[0], ast.Name | ast.Attribute)
    return (kind, True, text) if is_named else None


def _names_removal(call: ast.Call, scope: Scope) -> bool:
    """Whether the address or a parameter of a request names a removal."""
    for text in list_passed_texts(call, scope):
        if not REMOVALS.isdisjoint(re.split(r"[/?&=.]", text.lower())):
            return True
    return False


def _is_module(module: Module, function: ast.expr) -> bool:
    """Whether a function belongs to an imported module, as `gzip.open`."""
    if not isinstance(function, ast.Attribute) or not isinstance(
        function.value, ast.Name
    ):
        return False
    return function.value.id in module.imports


def _classify_function(
    module: Module, name: str, scope: Scope, text: str
) -> Iterator[CallEffect]:
    """What a function of another package says by its verb."""
    target = module.imports.get(name)
    if target is None and name in scope.enclosing_parameters:
        yield from _classify_bare_verb(name, text)  # register(mcp, send)
        return
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
    verbs = _parse_callee("_".join(parts))
    if len(parts) == 1:
        yield from _classify_bare_verb(parts[0], text)
    if len(parts) > 1 and verbs and verbs[0].kind != "read" and parts[-1] not in makes:
        yield KINDS.get(verbs[0].kind, "action"), False, text


def _classify_bare_verb(name: str, text: str) -> Iterator[CallEffect]:
    """What a function does whose whole name is a verb that writes or sends, as `send`."""
    verb = None if name == "connect" else find_verb(name)
    if verb and verb.kind in BARE_KINDS and verb.word not in get_word_list("nouns"):
        yield KINDS.get(verb.kind, "action"), False, text


@dataclass(frozen=True)
class MethodCall:
    """A call of a method, of an object that is not of this project.

    Attributes:
        call: The call.
        function: The method, with the object that it belongs to.
        scope: The names of the function that makes the call.
        literal_parameters: The parameters of that function which its caller has written out.
        text: The call in words.
        temporary: Whether it is about a temporary file, a cache or a log.
        origin: What the object is made from, as the source of a global or local name reads.
    """

    call: ast.Call
    function: ast.Attribute
    scope: Scope
    literal_parameters: frozenset[str]
    text: str
    temporary: bool
    origin: str = ""

    @property
    def packages(self) -> set[str]:
        """The packages that the file imports."""
        return {name.split(".")[0] for name in self.scope.module.imports.values()}

    @property
    def name(self) -> str:
        """The name of the method."""
        return self.function.attr

    @property
    def owner(self) -> ast.expr:
        """The object whose method is called."""
        return self.function.value

    @property
    def arguments(self) -> list[ast.expr]:
        """The arguments by position."""
        return self.call.args

    @property
    def has_arguments(self) -> bool:
        """Whether the call passes any argument."""
        return bool(self.call.args or self.call.keywords)

    @property
    def computes(self) -> bool:
        """Whether the object is a package for computing, or is made by one in place: `np`, `pd.Series(rows)`."""
        origin = self.scope.module.imports.get(root_name(self.owner), "")
        return origin.split(".")[0] in COMPUTING

    @cached_property
    def is_client(self) -> bool:
        """Whether the object is named as a client of HTTP."""
        senders = load_vocabulary()["senders"]
        owner = shorten_expression(self.owner).lower()
        return re.search(rf"(?:^|[._])_?(?:{senders})", owner) is not None


def _classify_method(method: MethodCall) -> list[CallEffect]:
    """The effects that the first rule for a method gives; the verb in its name is the last rule."""
    if root_name(method.owner) in PLAIN_OBJECTS or is_trace(method.call):
        return []
    for rule in METHOD_RULES:
        effects = rule(method)
        if effects is not None:
            return effects
    if method.computes or (method.name == "rm" and not method.has_arguments):
        return []  # rm() without a name of anything gives something out
    if _is_constant(method.name):
        return []  # a template of an address, as endpoints.BUILD(number=1)
    verbs = _parse_callee(method.name)
    if not verbs:
        return []
    return [(KINDS.get(verbs[0].kind, "action"), False, method.text)]


def _parse_callee(name: str) -> list[Verb]:
    """The verbs in the name of a function; of `run_list_notes` those of what it runs."""
    parts = split_name(name)
    if len(parts) > 1 and parts[0] in CARRIERS:
        verbs = parse_name("_".join(parts[1:]))
        if verbs:
            return verbs
    return parse_name(name)


# The rules: each returns the effects of a method, or None where the method is none of its subject.


def _classify_own_state(method: MethodCall) -> list[CallEffect] | None:
    """A method of what only the running thread or task sees."""
    return [] if CALL_LOCAL.match(method.origin) else None


def _classify_signal(method: MethodCall) -> list[CallEffect] | None:
    """`set` and `clear` of an event, which tell another thread or task to go on, or to stop."""
    if not SIGNALS.match(method.origin):
        return None
    is_local = root_name(method.owner) in method.scope.assigned
    if is_local or method.name not in ("set", "clear"):
        return []
    return [("action", False, method.text)]


def _classify_class(method: MethodCall) -> list[CallEffect] | None:
    """A class of another package, as `models.Filter()`, and no request: `sdk.DeleteRequest()`."""
    is_imported = root_name(method.owner) in method.scope.module.imports
    if not is_imported or not method.name[:1].isupper() or method.name.isupper():
        return None
    words = split_name(method.name)
    return [] if not words or words[-1] not in ASKS else None


def _classify_coordination(method: MethodCall) -> list[CallEffect] | None:
    """What threads and tasks do to each other: a lock that is taken, a task of this call that is cancelled."""
    if method.name.startswith(("acquire", "release")):
        words = split_name(shorten_expression(method.owner).rpartition(".")[2])
        return [] if words and words[-1] in LOCKS else None
    if method.name != "cancel" or method.has_arguments:
        return None
    for value in method.scope.assigned.values():
        if STARTED_TASKS.search(ast.unparse(value)):
            return []
    return None


def _classify_match(method: MethodCall) -> list[CallEffect] | None:
    """`start` of a match of a regular expression, which is a position in a text."""
    if method.name != "start" or method.has_arguments:
        return None
    found = method.scope.assigned.get(root_name(method.owner))
    is_match = found is not None and MATCHES.search(ast.unparse(found))
    return [] if is_match else None


def _classify_thread(method: MethodCall) -> list[CallEffect] | None:
    """`start` and `cancel` of a thread or a timer whose function is read by itself."""
    if method.name not in ("start", "cancel") or method.has_arguments:
        return None
    maker = method.owner
    if isinstance(maker, ast.Name):
        maker = method.scope.find_made_value(maker.id) or maker
    if not isinstance(maker, ast.Call) or not THREADS.match(ast.unparse(maker.func)):
        return None
    target = find_run_target(maker)
    parameters = method.scope.parameters | method.scope.enclosing_parameters
    is_passed = target is None or root_name(target) in parameters - {"self", "cls"}
    is_shown = isinstance(target, ast.Name | ast.Attribute) and not is_passed
    return [] if is_shown else None


def _classify_transfer(method: MethodCall) -> list[CallEffect] | None:
    """A file that is fetched from another machine, or sent to it: `sftp.get(remote, local)`."""
    words = split_name(shorten_expression(method.owner).rpartition(".")[2])
    if not words or words[-1] not in TRANSFERS or len(method.arguments) < 2:
        return None
    kind = {"get": "save", "put": "put"}.get(method.name)
    return None if kind is None else [(kind, True, method.text)]


def _classify_drawing(method: MethodCall) -> list[CallEffect] | None:
    """What is set of a chart or added to it, which is no data until it is saved."""
    if DRAWING.isdisjoint(method.packages) or method.name in load_words("savers"):
        return None
    is_local = root_name(method.owner) in method.scope.local_names
    return [] if is_local and method.name.startswith(DRAWS) else None


def _classify_built_request(method: MethodCall) -> list[CallEffect] | None:
    """A request that is built first and sent by `execute()`: `service.files().update(...)`."""
    if not _has_call(method.owner) or not _is_executed(method):
        return None
    kind = load_calls("built_requests").get(method.name)
    if kind is None:
        return None
    return [(kind, kind != "action", f"{method.text}.execute()")]


def _has_call(owner: ast.expr) -> bool:
    """Whether an object is what a call returned, as `service.files()` and `db.table("notes")`."""
    while isinstance(owner, ast.Attribute):
        owner = owner.value
    return isinstance(owner, ast.Call)


def _is_executed(method: MethodCall) -> bool:
    """Whether what a call returns is sent by `execute()` without a statement, also under a local name."""
    module = method.scope.module
    node: ast.AST = method.call
    around = module.parents.get(node)
    while isinstance(around, ast.Attribute | ast.Call):
        if isinstance(around, ast.Call) and around.func is node:
            if isinstance(node, ast.Attribute) and node.attr == "execute":
                return not around.args
        elif isinstance(around, ast.Call):
            return False
        node, around = around, module.parents.get(around)
    if not isinstance(around, ast.Assign) or not isinstance(
        around.targets[0], ast.Name
    ):
        return False
    function = module.find_enclosing_function(method.call)
    sent = f"{around.targets[0].id}.execute"
    for call in list_calls(function) if function else ():
        if ast.unparse(call.func) == sent and not call.args:
            return True
    return False


def _classify_remote_tool(method: MethodCall) -> list[CallEffect] | None:
    """A call of a tool of another server, whose name says what it does: `call_tool("list_notes")`."""
    if method.name not in REMOTE_CALLS or not method.arguments:
        return None
    named = method.arguments[0]
    if not isinstance(named, ast.Constant) or not isinstance(named.value, str):
        return None
    verbs = parse_name(named.value)
    if not verbs:
        return None
    kind = KINDS.get(verbs[0].kind, "action")
    return [(kind, False, f"{method.text} of {named.value!r}")]


def _classify_client_factory(method: MethodCall) -> list[CallEffect] | None:
    """A factory that makes a client, which is no customer: `client_factory.create_search_client()`."""
    words = split_name(shorten_expression(method.owner).rpartition(".")[2])
    is_factory = bool(words) and words[-1] in FACTORIES
    return [] if is_factory and split_name(method.name)[-1:] == ("client",) else None


def _classify_frame(method: MethodCall) -> list[CallEffect] | None:
    """A method of a frame that returns another one, unless the frame itself changes."""
    if method.name not in load_words("frames"):
        return None
    changes = "inplace" in {keyword.arg for keyword in method.call.keywords}
    if changes and method.scope.is_lasting(method.owner):
        return [("put", True, method.text)]
    return []


def _classify_waiting(method: MethodCall) -> list[CallEffect] | None:
    """`get` of a queue, which takes an entry away: it waits, and names none."""
    if method.name != "get" or method.arguments or not method.call.keywords:
        return None
    names = {keyword.arg for keyword in method.call.keywords}
    if not names <= WAITING or not method.scope.is_lasting(method.owner):
        return None
    return [("consume", True, method.text)]


def _classify_request(method: MethodCall) -> list[CallEffect] | None:
    """A request over HTTP."""
    kinds = load_vocabulary()["http"]
    if method.is_client and method.has_arguments and method.name in kinds:
        if kinds[method.name] == "read" and _names_removal(method.call, method.scope):
            return [("action", False, f"{method.text} with an address that removes")]
        return [(kinds[method.name], True, method.text)]
    if verb := find_http_method(method.call, method.scope):
        if kind := kinds.get(verb):
            return [(kind, True, f"it sends {verb.upper()}")]
        return [SENT_POST] if verb == POST else []
    return None


def _classify_dynamic_request(method: MethodCall) -> list[CallEffect] | None:
    """A request over HTTP whose verb is an argument."""
    if not method.is_client or method.name != "request" or not method.arguments:
        return None
    verb_argument = method.arguments[0]
    if isinstance(verb_argument, ast.Constant):
        return []
    if ast.unparse(verb_argument) in method.literal_parameters:
        return []
    text = f"it sends what {shorten_expression(verb_argument)} says"
    return [("action", False, text)]


def _classify_container_method(method: MethodCall) -> list[CallEffect] | None:
    """A method of a list, a set or a mapping, or of what has the same methods."""
    kind = load_vocabulary()["containers"].get(method.name)
    return None if kind is None else list(_classify_container(method, kind))


def _classify_query(method: MethodCall) -> list[CallEffect] | None:
    """A method that runs a statement or a command."""
    if method.name not in RUN:
        return None
    if _is_routed_to_readers(method.call):
        return [("read", True, method.text)]
    parameter = find_passed_parameter(
        method.call, method.name, method.scope, method.literal_parameters
    )
    if not parameter:
        return None
    return [("action", False, f"it runs what {parameter!r} says")]


def _classify_replacement(method: MethodCall) -> list[CallEffect] | None:
    """`replace` of a path; `replace` of a text has two arguments."""
    if method.name != "replace" or len(method.arguments) != 1 or method.call.keywords:
        return None
    if isinstance(method.arguments[0], ast.Dict):
        return []
    return [("put", True, method.text)]


def _classify_known_method(method: MethodCall) -> list[CallEffect] | None:
    """A method of the vocabulary."""
    kind = load_calls("calls").get(method.name)
    if not kind:
        return None
    if method.temporary and method.name != "exists":
        return []
    return [(kind, True, method.text)]


def _classify_device(method: MethodCall) -> list[CallEffect] | None:
    """What is sent to a device, which acts on it each time, or taken from its buffer."""
    words = split_name(shorten_expression(method.owner).rpartition(".")[2])
    if method.temporary or not words or words[-1] not in load_words("devices"):
        return None
    if not method.has_arguments and method.name == "write":
        return None
    if method.name in ("write", "write_raw", "write_binary_values", "writelines"):
        return [("action", True, f"{method.text} on a device")]
    if method.name.startswith("read") and "serial" in method.packages:
        return [("consume", True, f"{method.text} on a device")]
    return None


def _classify_saver(method: MethodCall) -> list[CallEffect] | None:
    """A method that saves, unless it returns a text or fills a buffer."""
    if method.temporary or method.name not in load_words("savers"):
        return None
    count = len(method.arguments) + len(method.call.keywords)
    if method.name == "dump" and count < 2:
        return []
    if method.name.startswith("to_") and not count:
        return []
    for held in (method.owner, *method.arguments[:1]):
        if HELD.search(_describe_origin(held, method.scope)):
            return []
    return [("save", True, method.text)]


def _classify_close(method: MethodCall) -> list[CallEffect] | None:
    """`close` with an argument closes a thing of the service, and not a connection."""
    if method.name == "seek":
        words = split_name(shorten_expression(method.owner))
        return [] if words and words[-1] in STREAMS else None
    if method.name != "close" or not method.arguments:
        return None
    origin = method.scope.module.imports.get(root_name(method.owner), "")
    if origin.split(".")[0] in DRAWING:
        return []  # a figure, as plt.close(figure)
    return [("action", False, method.text)]


def _classify_harmless_method(method: MethodCall) -> list[CallEffect] | None:
    """A method that does nothing; a session sends what a request says."""
    if method.name in load_words("nothing"):
        return []
    owner = shorten_expression(method.owner).lower()
    return [] if method.name == "send" and "session" in owner else None


def _classify_private_method(method: MethodCall) -> list[CallEffect] | None:
    """A private method, of which only the item access of Python counts."""
    if not method.name.startswith("_"):
        return None
    sets_item = method.name in ("__setitem__", "__delitem__")
    if sets_item and method.scope.is_lasting(method.owner):
        return [("put", True, method.text)]
    return []


def _classify_deletion(method: MethodCall) -> list[CallEffect] | None:
    """`delete`, of whatever object."""
    if method.name not in ("delete", "delete_async", "adelete"):
        return None
    return [("delete", True, method.text)]


METHOD_RULES: tuple[Callable[[MethodCall], list[CallEffect] | None], ...] = (
    _classify_own_state,
    _classify_signal,
    _classify_class,
    _classify_coordination,
    _classify_match,
    _classify_thread,
    _classify_transfer,
    _classify_drawing,
    _classify_built_request,
    _classify_remote_tool,
    _classify_client_factory,
    _classify_frame,
    _classify_waiting,
    _classify_request,
    _classify_dynamic_request,
    _classify_container_method,
    _classify_query,
    _classify_replacement,
    _classify_known_method,
    _classify_device,
    _classify_saver,
    _classify_close,
    _classify_harmless_method,
    _classify_private_method,
    _classify_deletion,
)


def _is_constant(name: str) -> bool:
    """Whether what is called is named as a constant, and not as a method of HTTP."""
    return name.isupper() and len(name) > 1 and name.lower() not in HTTP_METHODS


def _is_routed_to_readers(call: ast.Call) -> bool:
    """Whether a query names the members of a cluster that only read, which refuse to write."""
    for keyword in call.keywords:
        if keyword.arg == "routing_control":
            return ast.unparse(keyword.value).rpartition(".")[2] == "READ"
    return False


def _classify_container(method: MethodCall, kind: str) -> Iterator[CallEffect]:
    """What the method of a container does, where that is more than an object of this call."""
    owner = method.owner
    if method.name == "pop":
        for key in method.arguments[:1]:
            if not isinstance(key, ast.Constant | ast.UnaryOp):
                kind = "delete"  # of a named thing
    if method.scope.is_lasting(owner):
        yield kind, True, method.text
    elif method.name in STORED_KINDS and _is_stored(method):
        yield STORED_KINDS[method.name], True, method.text


def _is_stored(method: MethodCall) -> bool:
    """Whether the object of a method is a record or a collection of a database."""
    origin = root_name(method.owner)
    is_class = origin[:1].isupper()  # Note.update(seen=True)
    if method.call.keywords and (is_class or method.scope.is_foreign(method.owner)):
        return True
    if re.search("session|db", origin):
        return True
    return STORED.search(_describe_origin(method.owner, method.scope)) is not None


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


def is_setup_name(name: str) -> bool:
    """Whether a helper makes what the server itself needs, before any call: a schema, a connection."""
    parts = split_name(name)
    return bool({*parts[:1], *parts[-1:]} & load_words("setup"))

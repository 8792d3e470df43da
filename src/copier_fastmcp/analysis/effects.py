"""What the body of a tool does, and the calls below it, up to three down; nothing of it is run."""

import ast
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace

from ..auditing.verbs import parse_name
from ..sources.modules import (
    FUNCTIONS,
    Function,
    Module,
    Place,
    Project,
    index_keywords,
    list_passed_values,
)
from .call_arguments import (
    find_argument,
    find_dispatched_method,
    find_sent_methods,
    list_literal_parameters,
    list_passed_texts,
)
from .call_targets import describe_dynamic_call, resolve_call
from .external_calls import (
    KINDS,
    CallEffect,
    find_external_effects,
    is_preparation,
)
from .memoization import find_memo_places
from .pure_calls import is_pure_call
from .scopes import Scope, is_temporary, root_name, shorten_expression
from .statements import RUN, classify_statement, is_setup, read_text, resolve_text
from .stores import Stores
from .vocabulary import load_vocabulary, load_words

DEEPEST = 3
MAKING = ("__init__", "__post_init__", "__enter__", "__aenter__", "__exit__")
CREDENTIAL = re.compile(
    r"(?i)(?:token|credential|creds|oauth)s?(?:_?(?:file|path|json))?\b"
)
CREDENTIAL_CALLS = {"open", "write", "write_text", "dump", "remove", "unlink", "chmod"}
ENDINGS = {"kill", "terminate", "send_signal"}
STARTED = re.compile(r"\b(?:Popen|create_subprocess_exec|create_subprocess_shell)\(")
PROCESS = re.compile(r"(?i)(?:^|_|\.)(?:proc|process|child|popen)$")
FunctionFacts = tuple[Scope, Stores, list[tuple[str, str]], set[ast.AST], set[str]]
# The depth at which each function was read, with the parameters that its caller has written out.
ReadDepths = dict[tuple[ast.AST, frozenset[str]], int]
WRITES = {"create", "ensure", "append", "put", "delete", "consume", "action", "save"}


@dataclass(frozen=True)
class Effect:
    """One thing that a body does.

    Attributes:
        kind: What it does: `read`, or one of `WRITES`.
        sure: Whether it is shown by a method that means one thing, and not by the verb of a method.
        text: The effect in words.
        depth: How many calls down it is.
        callee: The name of what is called, where a call shows it.
        aside: Whether it only sets up or remembers: tables that may be missing, folders, memos.
        function: The function whose source shows it.
    """

    kind: str
    sure: bool
    text: str
    depth: int = 0
    callee: str = ""
    aside: bool = False
    function: ast.AST | None = field(default=None, repr=False)

    @property
    def sends(self) -> bool:
        """Whether it is a POST, by which many an API is only asked."""
        return self.text.endswith(".post()") or self.text == "it sends POST"


@dataclass
class Body:
    """What a body does.

    Attributes:
        effects: Its effects and those below it, the nearest first.
        whole: Whether every call in it and below it is known.
        function: The function whose body it is.
        functions: The functions below it.
        calls: For each function, the functions of the project that it calls.
        passed_texts: For each function, the texts in its source that it passes to functions of the project.
    """

    effects: list[Effect] = field(default_factory=list)
    whole: bool = False
    function: ast.AST | None = None
    functions: frozenset[ast.AST] = frozenset()
    calls: Mapping[ast.AST, Set[ast.AST]] = field(default_factory=dict)
    passed_texts: Mapping[ast.AST, Sequence[str]] = field(default_factory=dict)

    def of(self, *kinds: str) -> list[Effect]:
        """The effects of some kinds."""
        return [e for e in self.effects if e.kind in kinds]

    def writes(self, *, sure: bool) -> list[Effect]:
        """What changes something, the nearest first."""
        return [e for e in self.effects if e.kind in WRITES and e.sure is sure]


class Reader:
    """Reads bodies of one project."""

    def __init__(self, project: Project) -> None:
        """Learn the classes of the project."""
        self.project = project
        self.whole = True
        self._facts: dict[ast.AST, FunctionFacts] = {}
        self._calls: dict[ast.AST, set[ast.AST]] = {}
        self._passed_texts: dict[ast.AST, list[str]] = {}
        self.classes: dict[str, Place] = {}
        for module in project.modules.values():
            for node in module.nodes:
                if isinstance(node, ast.ClassDef):
                    self.classes[node.name] = Place(module, node)

    def body(self, function: Function, home: Module) -> Body:
        """What a function does."""
        effects: list[Effect] = []
        read_depths: ReadDepths = {}
        self.whole = True
        self._read_function(Place(home, function), 0, read_depths, effects, frozenset())
        visited = frozenset(node for node, _ in read_depths)
        nearest_effects = _keep_nearest(effects)
        callees = visited - {function}
        return Body(
            nearest_effects,
            self.whole,
            function,
            callees,
            self._calls,
            self._passed_texts,
        )

    def _read_function(
        self,
        place: Place,
        depth: int,
        read_depths: ReadDepths,
        effects: list[Effect],
        literal_parameters: frozenset[str],
    ) -> None:
        if not isinstance(place.node, FUNCTIONS):
            return
        if read_depths.get((place.node, literal_parameters), DEEPEST + 1) <= depth:
            return
        read_depths[place.node, literal_parameters] = depth
        module = place.module
        if place.node not in self._facts:
            stores, scope = Stores(module, place.node), Scope(module, place.node)
            stored, ran = (
                [*stores.list_storage()],
                set(_find_run_statements(stores, scope)),
            )
            memos = find_memo_places(place.node, stores.nodes)
            self._facts[place.node] = scope, stores, stored, ran, memos
        scope, stores, stored, run, memos = self._facts[place.node]
        begin = len(effects)
        for kind, text in stored:
            effects.append(Effect(kind, True, text, depth))
        docs = ast.get_docstring(place.node, clean=False)
        for node in stores.nodes:
            if isinstance(node, ast.Call):
                if text := describe_dynamic_call(self.project, module, node, scope):
                    self.whole = False
                    if not _names_method(text, literal_parameters):
                        effects.append(
                            Effect("action", False, f"it calls {text}", depth)
                        )
                for call in resolve_call(self.project, module, node, scope):
                    first = len(effects)
                    self._read_call(
                        module,
                        call,
                        scope,
                        depth,
                        read_depths,
                        effects,
                        literal_parameters,
                    )
                    all_aside = _is_aside(call, memos)
                    all_aside = all_aside or _ends_own_process(call, scope, depth)
                    if depth > 0 and not all_aside:
                        all_aside = _keeps_credentials(call)
                    for position in range(first, len(effects)):
                        effect = effects[position]
                        if all_aside or _names_memo(effect, memos):
                            effects[position] = replace(effect, aside=True)
                effects.extend(
                    self._classify_named_statements(module, node, run, depth)
                )
            elif isinstance(node, ast.Constant | ast.JoinedStr | ast.BinOp):
                text = read_text(module, node)
                if text and text != docs:
                    effects.extend(_classify_statement(text, depth, run=node in run))
            elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
                if node.target.id in scope.globals and not is_temporary(node.target.id):
                    effects.append(
                        Effect("action", True, f"it changes {node.target.id}", depth)
                    )
            elif isinstance(node, ast.Attribute):
                self._read_attribute(
                    module, node, scope, stores, depth, read_depths, effects
                )
            elif (
                isinstance(node, ast.Subscript)
                and not isinstance(node.ctx, ast.Load)
                and (
                    scope.is_lasting(node.value)
                    or self._is_imported(module, node.value)
                )
            ):
                deletes = isinstance(node.ctx, ast.Del)
                kind = "put" if stores.classify_key(node) == "sets" else "create"
                kind = "delete" if deletes else kind
                text = (
                    f"it {'deletes' if deletes else 'sets'} {shorten_expression(node)}"
                )
                aside = ast.unparse(node.value) in memos
                effects.append(
                    Effect(
                        kind, not _is_own_note(node, depth), text, depth, aside=aside
                    )
                )
        for position in range(begin, len(effects)):
            if effects[position].function is None:
                effects[position] = replace(effects[position], function=place.node)

    def _classify_named_statements(
        self, module: Module, call: ast.Call, run: set[ast.AST], depth: int
    ) -> Iterator[Effect]:
        """Statements that are handed to a call by name, as in execute(PURGE)."""
        for argument in list_passed_values(call):
            for node in ast.walk(argument):
                if text := resolve_text(self.project, module, node):
                    yield from _classify_statement(text, depth, run=node in run)

    def _read_attribute(
        self,
        module: Module,
        node: ast.Attribute,
        scope: Scope,
        stores: Stores,
        depth: int,
        read_depths: ReadDepths,
        effects: list[Effect],
    ) -> None:
        """A property that is looked at, or an attribute that is set of what is there after the call."""
        if isinstance(node.ctx, ast.Load):
            held = self._find_property(module, node, scope)
            if held and depth < DEEPEST:
                self._read_function(held, depth + 1, read_depths, effects, frozenset())
            return
        if node.attr.startswith("_") or is_temporary(ast.unparse(node)):
            return
        deletes = isinstance(node.ctx, ast.Del)
        kind, text = (
            "delete" if deletes else "put",
            f"it sets {shorten_expression(node)}",
        )
        if scope.is_mapped(node.value):
            effects.append(Effect(kind, _commits(stores), text, depth))
        else:
            is_own_attribute = depth == 0 and ast.unparse(node.value) == "self"
            if (
                is_own_attribute
                or scope.is_lasting(node.value)
                or self._is_imported(module, node.value)
            ):
                effects.append(Effect(kind, False, text, depth))

    def _read_call(
        self,
        module: Module,
        call: ast.Call,
        scope: Scope,
        depth: int,
        read_depths: ReadDepths,
        effects: list[Effect],
        literal_parameters: frozenset[str],
    ) -> None:
        callees = self._find_callees(module, call, scope)
        if callees:
            self._note_call(module, call, scope, callees)
        for callee in callees:
            if sent := find_dispatched_method(callee.node, call):
                effects += _build_effects(sent, depth + 1)
            elif isinstance(callee.node, ast.ClassDef):
                self._read_constructor(callee, depth, read_depths, effects)
            elif (
                depth < DEEPEST
                and isinstance(callee.node, FUNCTIONS)
                and not is_preparation(callee.node.name)
            ):
                sent_methods = find_sent_methods(callee.node, call)
                effects += _build_effects(sent_methods, depth + 1)
                effects.extend(_find_passed_methods(callee.node, call, depth + 1))
                callee_literals = list_literal_parameters(
                    callee.node, call, scope, literal_parameters
                )
                if _encloses_both(module, callee.node, call):
                    callee_literals |= literal_parameters  # a function in this one shares its parameters
                self._read_function(
                    callee, depth + 1, read_depths, effects, callee_literals
                )
            elif depth >= DEEPEST:
                self.whole = False
        if not callees:
            external_effects = [
                *find_external_effects(
                    self.project, module, call, scope, literal_parameters
                )
            ]
            callee_name = (
                call.func.attr
                if isinstance(call.func, ast.Attribute)
                else ast.unparse(call.func)
            )
            read_effects = _build_effects(external_effects, depth, callee_name)
            effects += read_effects
            is_known = any(effect.sure for effect in read_effects)
            if not is_known and not is_pure_call(
                self.project, module, call, scope, literal_parameters
            ):
                self.whole = False

    def _note_call(
        self, module: Module, call: ast.Call, scope: Scope, callees: Sequence[Place]
    ) -> None:
        """Note which functions of the project a function calls, and the texts that it passes."""
        caller = module.find_enclosing_function(call)
        if caller is None:
            return
        self._calls.setdefault(caller, set()).update(place.node for place in callees)
        texts = self._passed_texts.setdefault(caller, [])
        texts.extend(list_passed_texts(call, scope))

    def _read_constructor(
        self, owner: Place, depth: int, read_depths: ReadDepths, effects: list[Effect]
    ) -> None:
        """What making an object loses; that it connects, or makes a folder, nobody notices."""
        inner: list[Effect] = []
        for name in MAKING:
            if depth < DEEPEST and (method := self._find_method(owner, name)):
                self._read_function(method, depth + 1, read_depths, inner, frozenset())
        for effect in inner:
            if effect.kind in ("delete", "consume") and effect.sure:
                effects.append(effect)

    def _find_callees(
        self, module: Module, call: ast.Call, scope: Scope
    ) -> list[Place]:
        """The functions of this project that a call may reach."""
        place = self.project.resolve(module, call.func)
        if place and isinstance(place.node, FUNCTIONS):
            return [place]
        if place and isinstance(place.node, ast.ClassDef):
            return [place]  # to make an object does nothing that is seen
        if not isinstance(call.func, ast.Attribute):
            return []
        name, held = call.func.attr, call.func.value
        owner = self._find_class(module, held, scope)
        if owner and (method := self._find_method(owner, name)):
            return [method]
        places = self.project.methods.get(name, [])
        if name in load_words("nothing") or name in load_vocabulary()["containers"]:
            return []
        if root_name(held) in ("self", "cls") or 0 < len(places) <= 3:
            return places[:3]
        return []

    def _is_imported(self, module: Module, held: ast.expr) -> bool:
        """Whether another file of the project keeps what is held, as in `from .store import store`."""
        name = module.imports.get(root_name(held), "")
        place = (
            self.project.find(name)
            if name and not is_temporary(ast.unparse(held))
            else None
        )
        return place is not None and isinstance(
            place.node, ast.Dict | ast.List | ast.Set | ast.Call
        )

    def _find_property(
        self, module: Module, node: ast.Attribute, scope: Scope
    ) -> Place | None:
        """The method that runs when an attribute is looked at."""
        owner = self._find_class(module, node.value, scope)
        held = self._find_method(owner, node.attr) if owner else None
        decorators = getattr(held.node, "decorator_list", ()) if held else ()
        return held if "property" in map(ast.unparse, decorators) else None

    def _find_method(self, owner: Place, name: str, depth: int = 4) -> Place | None:
        if not isinstance(owner.node, ast.ClassDef):
            return None
        for node in owner.node.body:
            if isinstance(node, FUNCTIONS) and node.name == name:
                return Place(owner.module, node)
        for base in owner.node.bases if depth else ():
            above = self.project.resolve(owner.module, base)
            if above and (method := self._find_method(above, name, depth - 1)):
                return method
        return None

    def _find_class(self, module: Module, held: ast.expr, scope: Scope) -> Place | None:
        """The class of what an expression holds, where its making or an annotation says so."""
        value: ast.AST | None = held.value if isinstance(held, ast.Await) else held
        if isinstance(value, ast.Name):
            value = scope.assigned.get(value.id) or module.top.get(value.id) or value
        elif isinstance(value, ast.Attribute) and root_name(value) == "self":
            value = scope.find_attribute_value(value.attr)
        if isinstance(value, ast.Await):
            value = value.value
        if isinstance(value, ast.Call):
            place = self.project.resolve(module, value.func)
            if place and isinstance(place.node, ast.ClassDef):
                return place
            if place and isinstance(place.node, FUNCTIONS):
                return self._resolve_annotation(place.node.returns)
            return None
        if isinstance(value, ast.Name):
            return self._resolve_annotation(scope.annotations.get(value.id))
        return self._resolve_annotation(value) if value is not None else None

    def _resolve_annotation(self, annotation: ast.AST | None) -> Place | None:
        """The project's class that an annotation names."""
        for node in ast.walk(annotation) if annotation else ():
            text = node.id if isinstance(node, ast.Name) else None
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                text = node.value
            if text and text in self.classes:
                return self.classes[text]
        return None


def _build_effects(
    signals: Iterable[CallEffect], depth: int, callee: str = ""
) -> list[Effect]:
    """Effects of one call at a depth."""
    return [Effect(*signal, depth, callee) for signal in signals]


def _commits(stores: Stores) -> bool:
    """Whether a function commits to a database."""
    for node in stores.nodes:
        called = node.func if isinstance(node, ast.Call) else None
        if getattr(called, "attr", "") in ("commit", "flush"):
            return True
    return False


def _names_memo(effect: Effect, memos: Set[str]) -> bool:
    """Whether an effect is a call of a method of a memo."""
    return any(f" {memo}." in effect.text for memo in memos)


def _keep_nearest(effects: Sequence[Effect]) -> list[Effect]:
    """Each effect once, as near as it is found."""
    nearest: dict[Effect, Effect] = {}
    for effect in effects:
        key = replace(effect, depth=0)
        if key not in nearest or effect.depth < nearest[key].depth:
            nearest[key] = effect
    return list(nearest.values())


def _find_run_statements(stores: Stores, scope: Scope) -> Iterator[ast.AST]:
    """The parts of texts that calls run, also by a local name."""
    for node in stores.nodes:
        name = getattr(node.func, "attr", "") if isinstance(node, ast.Call) else ""
        for argument in node.args if isinstance(node, ast.Call) and name in RUN else ():
            for part in ast.walk(argument):
                yield part
                held = (
                    scope.assigned.get(part.id) if isinstance(part, ast.Name) else None
                )
                yield from ast.walk(held) if held is not None else ()


def _classify_statement(text: str, depth: int, *, run: bool) -> list[Effect]:
    """What a text does that may be a statement."""
    if not (kind := classify_statement(text, run=run)):
        return []
    start = " ".join(text.split())[:40]
    language = (
        "GraphQL"
        if "mutation" in text or text.lstrip().startswith(("query", "{"))
        else "SQL"
    )
    return [
        Effect(
            kind, True, f"its {language} says {start!r}", depth, aside=is_setup(text)
        )
    ]


def _encloses_both(module: Module, function: ast.AST, call: ast.Call) -> bool:
    """Whether a function is defined in the one that a call is in."""
    around = module.find_enclosing_function(function)
    return around is not None and around in module.above(call)


def _names_method(text: str, literal_parameters: frozenset[str]) -> bool:
    """Whether a text is getattr(held, name), and the caller has written the name out."""
    call = ast.parse(text, mode="eval").body if text.startswith("getattr(") else None
    named = call.args[1] if isinstance(call, ast.Call) and len(call.args) > 1 else None
    return isinstance(named, ast.Name) and named.id in literal_parameters


def _find_passed_methods(
    function: ast.AST, call: ast.Call, depth: int
) -> Iterator[Effect]:
    """What a helper calls by a name that its caller has written out, as in fetch("get_paper")."""
    if not isinstance(function, FUNCTIONS):
        return
    for node in ast.walk(function):
        if not isinstance(node, ast.Call) or ast.unparse(node.func) != "getattr":
            continue
        name = node.args[1] if len(node.args) > 1 else None
        argument = (
            find_argument(function, call, name.id)
            if isinstance(name, ast.Name)
            else None
        )
        if not isinstance(argument, ast.Constant) or not isinstance(
            argument.value, str
        ):
            continue
        for verb in parse_name(argument.value)[:1]:
            kind = KINDS.get(verb.kind, "action")
            yield Effect(
                kind, False, f"it calls {argument.value}()", depth, argument.value
            )


def _is_aside(call: ast.Call, memos: set[str]) -> bool:
    """Whether a call fills or empties a memo, or makes a folder that may be there."""
    name = (
        call.func.attr
        if isinstance(call.func, ast.Attribute)
        else ast.unparse(call.func)
    )
    if isinstance(call.func, ast.Attribute) and ast.unparse(call.func.value) in memos:
        return True
    if name in ("open", "dump"):
        return any(ast.unparse(argument) in memos for argument in call.args)
    if name not in ("mkdir", "makedirs"):
        return False
    exist_ok = index_keywords(call).get("exist_ok")
    return isinstance(exist_ok, ast.Constant) and exist_ok.value is True


def _ends_own_process(call: ast.Call, scope: Scope, depth: int) -> bool:
    """Whether a call ends a process that this function, or a helper next to it, has started."""
    function = call.func
    if not isinstance(function, ast.Attribute) or function.attr not in ENDINGS:
        return False
    started = scope.assigned.get(root_name(function.value))
    if started is not None and STARTED.search(ast.unparse(started)):
        return True
    return depth > 0 and bool(PROCESS.search(ast.unparse(function.value)))


def _keeps_credentials(call: ast.Call) -> bool:
    """Whether a call stores or removes what a sign-in leaves: a helper does so before any request."""
    function = call.func
    name = function.attr if isinstance(function, ast.Attribute) else ""
    if isinstance(function, ast.Name):
        name = function.id
    if name not in CREDENTIAL_CALLS:
        return False
    places = [ast.unparse(argument) for argument in call.args]
    if isinstance(function, ast.Attribute):
        places.append(ast.unparse(function.value))
    return any(CREDENTIAL.search(place) for place in places)


def _is_own_note(node: ast.Subscript, depth: int) -> bool:  # self._record["rows"] = 3
    """Whether a class only notes something for itself."""
    held = node.value
    is_private = (
        isinstance(held, ast.Attribute)
        and held.attr.startswith("_")
        and root_name(held) == "self"
    )
    return is_private and depth > 1 and isinstance(node.slice, ast.Constant)

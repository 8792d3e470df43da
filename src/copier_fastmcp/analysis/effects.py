"""What the body of a tool does, and the calls below it, up to three down; nothing of it is run."""

import ast
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace

from ..auditing.verbs import find_verb, parse_name, split_name
from ..sources.modules import (
    FUNCTIONS,
    Function,
    Module,
    Place,
    Project,
    index_keywords,
    is_abstract,
    list_names,
    list_passed_values,
)
from .call_arguments import (
    Commands,
    find_argument,
    find_dispatched_method,
    find_sent_methods,
    list_literal_parameters,
    list_passed_commands,
    list_passed_texts,
)
from .call_targets import describe_dynamic_call, resolve_call
from .external_calls import (
    KINDS,
    CallEffect,
    find_external_effects,
    is_preparation,
    is_setup_name,
)
from .mail import find_marking_fetch
from .memoization import find_memo_places
from .pure_calls import is_pure_call
from .scopes import (
    CONNECTION_STATE,
    Scope,
    is_temporary,
    list_own_attributes,
    root_name,
    shorten_expression,
)
from .statements import (
    RUN,
    classify_statement,
    creates_trigger,
    find_target,
    is_setup,
    read_text,
    resolve_text,
)
from .stores import Stores
from .upkeep import FILLS, fills_missing_file, keeps_up_entry, keeps_up_memory
from .vocabulary import load_vocabulary, load_words

DEEPEST = 3
MAKING = ("__init__", "__post_init__", "__enter__", "__aenter__", "__exit__")
CREDENTIAL = re.compile(
    r"(?i)(?:token|credential|creds|oauth|cookie)s?(?:_?(?:file|path|json))?\b"
)
CREDENTIAL_CALLS = {"open", "write", "write_text", "dump", "remove", "unlink", "chmod"}
ENDINGS = {"kill", "terminate", "send_signal"}
STARTED = re.compile(r"\b(?:Popen|create_subprocess_exec|create_subprocess_shell)\(")
PROCESS = re.compile(r"(?i)(?:^|_|\.)(?:proc|process|child|popen)$")
MARKS_MAIL = "it fetches mail in a way that marks it as read"
FOLDER_CALLS = {"mkdir", "makedirs"}
FILE_WRITE = re.compile(r"\.(?:write\w*|dump|save\w*)\(\)|\(\) to write")
HTTP_CHANGES = {"put", "patch"}
# The depth at which each function was read, with what its caller has written out.
ReadDepths = dict[tuple[ast.AST, "Passed"], int]
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
        discards: Whether nothing uses what the call returns.
        call_texts: The texts in the arguments of the call.
        from_caller: Whether the call passes on what its function was passed.
        is_upkeep: Whether a helper fills what is missing, or drops what is over, whoever calls it.
    """

    kind: str
    sure: bool
    text: str
    depth: int = 0
    callee: str = ""
    aside: bool = False
    function: ast.AST | None = field(default=None, repr=False)
    discards: bool = False
    call_texts: tuple[str, ...] = ()
    from_caller: bool = False
    is_upkeep: bool = False

    @property
    def writes_file(self) -> bool:
        """Whether it writes a file as a whole, or adds to one."""
        return FILE_WRITE.search(self.text) is not None

    @property
    def is_built_request(self) -> bool:
        """Whether it is a request that is built first and sent by `execute()`."""
        return self.text.endswith("().execute()")

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
        prepares: Whether it calls a helper that by its name only prepares, and may do more.
        changes_others: Whether it sets an attribute or an entry of an object that it did not make.
        function: The function whose body it is.
        functions: The functions below it.
        calls: For each function, the functions of the project that it calls.
        passed_texts: For each function, the texts in its source that it passes to functions of the project.
    """

    effects: list[Effect] = field(default_factory=list)
    whole: bool = False
    prepares: bool = False
    changes_others: bool = False
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


@dataclass(frozen=True)
class FunctionFacts:
    """What is known of a function, whoever calls it.

    Attributes:
        scope: The names in it.
        stores: What it stores.
        storage: Its storage effects, each as a kind and in words.
        run: The parts of texts that its calls run.
        memos: The objects that it keeps results in.
        docstring: Its docstring, which is no statement that it runs.
    """

    scope: Scope
    stores: Stores
    storage: list[tuple[str, str]]
    run: set[ast.AST]
    memos: set[str]
    docstring: str | None


@dataclass(frozen=True)
class Passed:
    """What the caller of a function has written out, or made for it.

    Attributes:
        literals: The parameters that the caller has written out.
        is_new: Whether the function is a method of an object that was made in the call.
        commands: The words of commands that the caller has written out, by parameter.
    """

    literals: frozenset[str] = frozenset()
    is_new: bool = False
    commands: tuple[tuple[str, tuple[str, ...]], ...] = ()


@dataclass(frozen=True)
class Visit:
    """One function that is read, at one depth below a tool.

    Attributes:
        module: The file of the function.
        facts: What is known of the function.
        depth: How many calls down it is.
        passed: What its caller has written out, or made for it.
        read_depths: What has been read so far; shared by all visits below a tool.
        effects: The effects so far; shared by all visits below a tool.
    """

    module: Module
    facts: FunctionFacts
    depth: int
    passed: Passed
    read_depths: ReadDepths
    effects: list[Effect]

    @property
    def literal_parameters(self) -> frozenset[str]:
        """The parameters that the caller of the function has written out."""
        return self.passed.literals

    @property
    def is_new(self) -> bool:
        """Whether the function is a method of an object that was made in the call."""
        return self.passed.is_new

    @property
    def commands(self) -> Commands:
        """The words of commands that the caller has written out, by parameter."""
        return dict(self.passed.commands)

    @property
    def scope(self) -> Scope:
        """The names in the function."""
        return self.facts.scope

    def add(
        self,
        kind: str,
        sure: bool,
        text: str,
        *,
        aside: bool = False,
        from_caller: bool = False,
        is_upkeep: bool = False,
    ) -> None:
        """Add an effect at this depth."""
        effect = Effect(
            kind,
            sure,
            text,
            self.depth,
            aside=aside,
            from_caller=from_caller,
            is_upkeep=is_upkeep,
        )
        self.effects.append(effect)


class Reader:
    """Reads bodies of one project."""

    def __init__(self, project: Project) -> None:
        """Learn the classes of the project."""
        self.project = project
        self.whole = True
        self.prepares = False
        self.changes_others = False
        self._facts: dict[tuple[ast.AST, bool], FunctionFacts] = {}
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
        self.prepares = False
        self.changes_others = False
        self._read_function(Place(home, function), 0, read_depths, effects, Passed())
        visited = frozenset(key[0] for key in read_depths)
        if marking := find_marking_fetch(visited):
            depth = min(d for key, d in read_depths.items() if key[0] is marking)
            effects.append(Effect("put", True, MARKS_MAIL, depth, function=marking))
        nearest_effects = _keep_nearest(effects)
        callees = visited - {function}
        return Body(
            nearest_effects,
            self.whole,
            self.prepares,
            self.changes_others,
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
        passed: Passed,
    ) -> None:
        function = place.node
        if not isinstance(function, FUNCTIONS):
            return
        key = (function, passed)
        if read_depths.get(key, DEEPEST + 1) <= depth:
            return
        read_depths[key] = depth
        facts = self._collect_facts(place.module, function, passed.is_new)
        visit = Visit(place.module, facts, depth, passed, read_depths, effects)
        first = len(effects)
        for kind, text in facts.storage:
            visit.add(kind, True, text)
        for node in facts.stores.nodes:
            self._read_node(visit, node)
        for position in range(first, len(effects)):
            if effects[position].function is None:
                effects[position] = replace(effects[position], function=function)

    def _collect_facts(
        self, module: Module, function: Function, is_new: bool
    ) -> FunctionFacts:
        if (function, is_new) not in self._facts:
            owner = module.find_enclosing_class(function)
            own = list_own_attributes(owner) if owner and is_new else frozenset()
            stores = Stores(module, function, own)
            scope = Scope(module, function, own)
            self._facts[function, is_new] = FunctionFacts(
                scope,
                stores,
                list(stores.list_storage()),
                set(_find_run_statements(stores, scope)),
                find_memo_places(function, stores.nodes),
                ast.get_docstring(function, clean=False),
            )
        return self._facts[function, is_new]

    def _read_node(self, visit: Visit, node: ast.AST) -> None:
        if isinstance(node, ast.Call):
            self._read_dynamic_call(visit, node)
            for call in resolve_call(self.project, visit.module, node, visit.scope):
                self._read_resolved_call(visit, call)
            visit.effects.extend(self._classify_named_statements(visit, node))
        elif isinstance(node, ast.Constant | ast.JoinedStr | ast.BinOp):
            text = read_text(visit.module, node)
            if text and text != visit.facts.docstring:
                run = node in visit.facts.run
                visit.effects.extend(_classify_statement(text, visit.depth, run=run))
        elif isinstance(node, ast.AugAssign):
            _read_counted_name(visit, node.target)
        elif isinstance(node, ast.Assign):
            _read_kept_arguments(visit, node)
        elif isinstance(node, ast.Attribute):
            self._read_attribute(visit, node)
        elif isinstance(node, ast.Subscript):
            self._read_stored_item(visit, node)

    def _read_dynamic_call(self, visit: Visit, node: ast.Call) -> None:
        """A call of a function that is only known when it runs."""
        text = describe_dynamic_call(self.project, visit.module, node, visit.scope)
        if not text:
            return
        self.whole = False
        if not _names_method(text, visit.literal_parameters):
            visit.add("action", False, f"it calls {text}")

    def _read_resolved_call(self, visit: Visit, call: ast.Call) -> None:
        """A call, whose effects are aside where the call only sets up or remembers."""
        if visit.depth > 0 and fills_missing_file(visit.module, call, visit.scope):
            # apart, since the same helper may be called without the condition, too
            inner: list[Effect] = []
            self._read_call(replace(visit, read_depths={}, effects=inner), call)
            for effect in inner:
                fills = effect.kind in FILLS
                visit.effects.append(replace(effect, is_upkeep=fills))
            return
        effects = visit.effects
        memos = visit.facts.memos
        first = len(effects)
        self._read_call(visit, call)
        drops = visit.depth > 0 and keeps_up_memory(call, visit.scope)
        all_aside = _is_aside(call, memos) and not _makes_named_folder(call, visit)
        all_aside = all_aside or _ends_own_process(call, visit.scope, visit.depth)
        if visit.depth > 0 and not all_aside:
            all_aside = _keeps_credentials(call)
        for position in range(first, len(effects)):
            effect = effects[position]
            if all_aside or _names_memo(effect, memos):
                effects[position] = replace(effect, aside=True)
            elif drops:
                effects[position] = replace(effect, is_upkeep=True)

    def _read_stored_item(self, visit: Visit, node: ast.Subscript) -> None:
        """An item that is set or deleted of an object that outlives the call."""
        owner = node.value
        if isinstance(node.ctx, ast.Load):
            return
        lasts = visit.scope.is_lasting(owner)
        lasts = lasts or self.project.dotted(visit.module, owner) == "os.environ"
        lasts = lasts or self._holds_stored(visit, owner)
        if not lasts and not self._is_imported(visit.module, owner):
            self.changes_others |= not visit.facts.stores.is_made_here(owner)
            return
        if isinstance(node.ctx, ast.Del):
            kind = "delete"
            text = f"it deletes {shorten_expression(node)}"
        else:
            sets = visit.facts.stores.classify_key(node) == "sets"
            kind = "put" if sets else "create"
            text = f"it sets {shorten_expression(node)}"
        sure = not _is_own_note(node, visit.depth)
        is_token = visit.depth > 0 and CREDENTIAL.search(ast.unparse(node.slice))
        aside = bool(is_token) or ast.unparse(owner) in visit.facts.memos
        from_caller = _passes_parameter(node, visit.scope)
        is_upkeep = visit.depth > 0 and keeps_up_entry(node, visit.scope)
        visit.add(
            kind,
            sure,
            text,
            aside=aside,
            from_caller=from_caller,
            is_upkeep=is_upkeep,
        )

    def _holds_stored(self, visit: Visit, owner: ast.expr) -> bool:
        """Whether a local name holds an entry of what outlives the call, as `find_note(key)` returns it."""
        value = visit.scope.find_made_value(root_name(owner))
        value = value.value if isinstance(value, ast.Await) else value
        if not isinstance(value, ast.Call) or is_temporary(ast.unparse(owner)):
            return False
        for callee in self._find_callees(visit.module, value, visit.scope):
            if isinstance(callee.node, FUNCTIONS) and _returns_stored(callee):
                return True
        return False

    def _classify_named_statements(
        self, visit: Visit, call: ast.Call
    ) -> Iterator[Effect]:
        """Statements that are handed to a call by name, as in execute(PURGE)."""
        for argument in list_passed_values(call):
            for node in ast.walk(argument):
                if text := resolve_text(self.project, visit.module, node):
                    run = node in visit.facts.run
                    yield from _classify_statement(text, visit.depth, run=run)

    def _read_attribute(self, visit: Visit, node: ast.Attribute) -> None:
        """A property that is looked at, or an attribute that is set of what is there after the call."""
        owner = node.value
        if isinstance(node.ctx, ast.Load):
            method = self._find_property(visit.module, node, visit.scope)
            if method:
                self._read_callee(visit, method, Passed())
            return
        if node.attr.startswith("_") or is_temporary(ast.unparse(node)):
            return
        if CONNECTION_STATE.search(ast.unparse(node)):
            return
        kind = "delete" if isinstance(node.ctx, ast.Del) else "put"
        text = f"it sets {shorten_expression(node)}"
        if visit.scope.is_mapped(owner):
            visit.add(kind, _commits(visit.facts.stores), text)
            return
        is_own_attribute = visit.depth == 0 and ast.unparse(owner) == "self"
        lasts = is_own_attribute or visit.scope.is_lasting(owner)
        lasts = lasts or self._holds_stored(visit, owner)
        if lasts or self._is_imported(visit.module, owner):
            is_token = visit.depth > 0 and CREDENTIAL.search(node.attr)
            visit.add(kind, False, text, aside=bool(is_token))
        else:
            self.changes_others |= not visit.facts.stores.is_made_here(owner)

    def _read_callee(
        self,
        visit: Visit,
        callee: Place,
        passed: Passed,
    ) -> None:
        """Read a function that the visited one calls, unless it is too far down."""
        depth = visit.depth + 1
        if depth <= DEEPEST:
            self._read_function(callee, depth, visit.read_depths, visit.effects, passed)

    def _read_call(self, visit: Visit, call: ast.Call) -> None:
        callees = self._find_callees(visit.module, call, visit.scope)
        if not callees:
            self._read_external_call(visit, call)
            return
        self._note_call(visit.module, call, visit.scope, callees)
        for callee in callees:
            if sent := find_dispatched_method(callee.node, call):
                visit.effects.extend(_build_effects(sent, visit.depth + 1))
            elif isinstance(callee.node, ast.ClassDef):
                self._read_constructor(visit, callee)
            elif visit.depth >= DEEPEST:
                self.whole = False
            else:
                self._read_called_function(visit, call, callee)

    def _read_called_function(
        self, visit: Visit, call: ast.Call, callee: Place
    ) -> None:
        function = callee.node
        if not isinstance(function, FUNCTIONS):
            return
        if is_preparation(function.name):
            self._read_preparation(visit, callee)
            return
        depth = visit.depth + 1
        texts = self._list_texts(visit.module, call, visit.scope)
        sent_methods = find_sent_methods(function, call, texts)
        visit.effects.extend(_build_effects(sent_methods, depth))
        visit.effects.extend(_find_passed_methods(function, call, depth))
        literals = list_literal_parameters(
            function, call, visit.scope, visit.literal_parameters
        )
        if _encloses_both(visit.module, function, call):
            # a function in this one shares its parameters
            literals |= visit.literal_parameters
        is_new = self._is_made_here(visit, call)
        commands = list_passed_commands(function, call, visit.scope, visit.commands)
        passed = Passed(literals, is_new, tuple(sorted(commands.items())))
        self._read_callee(visit, callee, passed)

    def _is_made_here(self, visit: Visit, call: ast.Call) -> bool:
        """Whether the object of a method is made in the call, and by nothing but its class."""
        if not isinstance(call.func, ast.Attribute):
            return False
        owner = call.func.value
        if isinstance(owner, ast.Name) and owner.id == "self":
            return visit.is_new
        if root_name(owner) == "self":
            return visit.is_new and self._is_made_by_owner(visit, owner)
        makers: list[ast.expr] = [owner]
        if isinstance(owner, ast.Name):
            makers = visit.facts.stores.values.get(owner.id, [])
            if owner.id in visit.scope.globals:
                return False
        for maker in makers:
            place = None
            if isinstance(maker, ast.Call):
                place = self.project.resolve(visit.module, maker.func)
            if place is None or not isinstance(place.node, ast.ClassDef):
                return False
        return bool(makers)

    def _is_made_by_owner(self, visit: Visit, owner: ast.expr) -> bool:
        """Whether an attribute of `self` holds nothing but objects that its class makes for it."""
        around = visit.scope.owner
        if around is None or not isinstance(owner, ast.Attribute):
            return False
        if not isinstance(owner.value, ast.Name) or not _makes_objects(around):
            return False
        makers: list[ast.expr | None] = []
        for node in ast.walk(around):
            if not isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign):
                continue
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if ast.unparse(owner) in map(ast.unparse, targets):
                makers.append(node.value)
        return bool(makers) and all(
            self._makes_instance(visit.module, maker) for maker in makers
        )

    def _makes_instance(self, module: Module, maker: ast.expr | None) -> bool:
        """Whether an expression makes a new object of a class of the project."""
        if not isinstance(maker, ast.Call):
            return False
        place = self.project.resolve(module, maker.func)
        if place is None or not isinstance(place.node, ast.ClassDef):
            return False
        return _makes_objects(place.node)

    def _read_preparation(self, visit: Visit, callee: Place) -> None:
        """What a helper changes that by its name only prepares: a log or a cache, but no other records."""
        if not isinstance(callee.node, FUNCTIONS):
            return
        whole = self.whole
        self.whole = True
        inner = self._read_apart(visit, callee)
        writes = any(effect.kind in WRITES for effect in inner)
        self.prepares = self.prepares or writes or not self.whole
        self.whole = whole  # what prepares may call what it likes
        if is_setup_name(callee.node.name):
            return
        for effect in inner:
            if effect.aside or not effect.sure:
                continue
            if changes_records(effect) or keeps_data(effect, inner):
                visit.effects.append(effect)

    def _read_apart(self, visit: Visit, callee: Place) -> list[Effect]:
        """The effects of a function, which is read again where the tool itself calls it."""
        inner: list[Effect] = []
        apart = replace(visit, read_depths={}, effects=inner)
        self._read_callee(apart, callee, Passed())
        return inner

    def _read_external_call(self, visit: Visit, call: ast.Call) -> None:
        """A call that leaves the project."""
        context = (self.project, visit.module, call, visit.scope)
        external_effects = list(
            find_external_effects(*context, visit.literal_parameters, visit.commands)
        )
        effects = _build_effects(
            external_effects,
            visit.depth,
            _name_function(call),
            discards=_discards(visit.module, call),
            call_texts=tuple(self._list_texts(visit.module, call, visit.scope)),
            from_caller=_passes_parameter(call, visit.scope),
        )
        visit.effects.extend(effects)
        if any(effect.sure for effect in effects):
            return
        if not is_pure_call(*context, visit.literal_parameters):
            self.whole = False

    def _note_call(
        self, module: Module, call: ast.Call, scope: Scope, callees: Sequence[Place]
    ) -> None:
        """Note which functions of the project a function calls, and the texts that it passes."""
        caller = module.find_enclosing_function(call)
        if caller is None:
            return
        called = self._calls.setdefault(caller, set())
        for place in callees:
            called.add(place.node)
        texts = self._passed_texts.setdefault(caller, [])
        texts.extend(self._list_texts(module, call, scope))

    def _list_texts(
        self, module: Module, call: ast.Call, scope: Scope
    ) -> Iterator[str]:
        """The texts that a call passes, also by the name of a constant."""
        yield from list_passed_texts(call, scope)
        for argument in list_passed_values(call):
            for node in ast.walk(argument):
                if text := resolve_text(self.project, module, node):
                    yield text

    def _read_constructor(self, visit: Visit, owner: Place) -> None:
        """What making an object loses; that it connects, or makes a folder, nobody notices."""
        inner: list[Effect] = []
        for name in MAKING:
            if method := self._find_method(owner, name):
                inner += self._read_apart(visit, method)
        for effect in inner:
            if effect.kind in ("delete", "consume") and effect.sure:
                visit.effects.append(effect)

    def _find_callees(
        self, module: Module, call: ast.Call, scope: Scope
    ) -> list[Place]:
        """The functions of this project that a call may reach."""
        place = self.project.resolve(module, call.func)
        if place and isinstance(place.node, (*FUNCTIONS, ast.ClassDef)):
            return [place]  # to make an object does nothing that is seen
        if not isinstance(call.func, ast.Attribute):
            return []
        name = call.func.attr
        held = call.func.value
        owner = self._find_class(module, held, scope)
        method = self._find_method(owner, name) if owner else None
        if owner and method:
            return self._find_bodies(owner, method, name)
        if name in load_words("nothing") or name in load_vocabulary()["containers"]:
            return []
        places = self._list_implementations(name)
        if root_name(held) in ("self", "cls") or 0 < len(places) <= 3:
            return places[:3]
        return []

    def _find_bodies(self, owner: Place, method: Place, name: str) -> list[Place]:
        """The method of a class, or those that implement it where it has no body."""
        if not is_abstract(method.node):
            return [method]
        places = self._list_implementations(name)
        own = [place for place in places if self._derives(place, owner.node)]
        return own or places[:3]

    def _list_implementations(self, name: str) -> list[Place]:
        """The methods with a name that have a body."""
        places = self.project.methods.get(name, [])
        return [place for place in places if not is_abstract(place.node)]

    def _derives(self, method: Place, base: ast.AST, depth: int = 4) -> bool:
        """Whether the class of a method has a class among its bases, or among theirs."""
        owner = method.module.find_enclosing_class(method.node)
        places = [Place(method.module, owner)] if owner else []
        for _ in range(depth):
            above: list[Place] = []
            for place in places:
                for expression in getattr(place.node, "bases", ()):
                    resolved = self.project.resolve(place.module, expression)
                    above += [resolved] if resolved else []
            if any(place.node is base for place in above):
                return True
            places = above
        return False

    def _is_imported(self, module: Module, held: ast.expr) -> bool:
        """Whether another file of the project keeps what is held, as in `from .store import store`."""
        name = module.imports.get(root_name(held), "")
        if not name or is_temporary(ast.unparse(held)):
            return False
        place = self.project.find(name)
        if place is None:
            return False
        return isinstance(place.node, ast.Dict | ast.List | ast.Set | ast.Call)

    def _find_property(
        self, module: Module, node: ast.Attribute, scope: Scope
    ) -> Place | None:
        """The method that runs when an attribute is looked at."""
        owner = self._find_class(module, node.value, scope)
        method = self._find_method(owner, node.attr) if owner else None
        if method is None:
            return None
        for decorator in getattr(method.node, "decorator_list", ()):
            if ast.unparse(decorator) == "property":
                return method
        return None

    def _find_method(self, owner: Place, name: str, depth: int = 4) -> Place | None:
        if not isinstance(owner.node, ast.ClassDef):
            return None
        for node in owner.node.body:
            if isinstance(node, FUNCTIONS) and node.name == name:
                return Place(owner.module, node)
        if not depth:
            return None
        for base in owner.node.bases:
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
        if annotation is None:
            return None
        for node in ast.walk(annotation):
            text = node.id if isinstance(node, ast.Name) else None
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                text = node.value
            if text and text in self.classes:
                return self.classes[text]
        return None


def changes_records(effect: Effect) -> bool:
    """Whether an effect changes rows of a table, or a record over HTTP, that is no log and no session."""
    if effect.callee in HTTP_CHANGES or effect.text.startswith("it sends "):
        return True
    table = find_target(effect.text)
    return bool(table) and load_words("bookkeeping").isdisjoint(split_name(table))


def keeps_data(effect: Effect, effects: Iterable[Effect]) -> bool:
    """Whether a helper that is named as if it prepared stores or removes what it is passed.

    Tokens, sessions and caches are no data, nor are the lines of a server's log.

    Args:
        effect: An effect of the helper.
        effects: All effects of the helper.
    """
    function = effect.function
    if effect.kind not in WRITES or not effect.from_caller:
        return False
    if not isinstance(function, FUNCTIONS):
        return False
    words = split_name(function.name)
    if not load_words("keepers").isdisjoint(words):
        return effect.callee == "delete" and not is_temporary(effect.text)
    if effect.kind in ("delete", "consume"):
        return True
    return not _is_log_line(function, words, effects)


def _is_log_line(
    function: ast.AST, words: Sequence[str], effects: Iterable[Effect]
) -> bool:
    """Whether a helper adds lines to a log of the server."""
    if load_words("logs").isdisjoint(words) or _names_record_log(words):
        return False
    own = [effect for effect in effects if effect.function is function]
    return any(effect.kind == "append" for effect in own)


def _names_record_log(words: Sequence[str]) -> bool:
    """Whether a log is named for records, as `visit_log` is, and not for what a server does: `access_log`."""
    if words[-1] not in load_words("logs") or len(words) < 2:
        return False
    subject = words[-2]
    return subject not in load_words("logged") and find_verb(subject) is None


def _makes_objects(owner: ast.ClassDef) -> bool:
    """Whether a class makes a new object each time, as all do that have no `__new__`."""
    return all(getattr(node, "name", "") != "__new__" for node in owner.body)


def _passes_parameter(node: ast.AST, scope: Scope) -> bool:
    """Whether an expression uses a parameter of its function, also by a local name."""
    parameters = scope.parameters - {"self", "cls"}
    names = set(list_names(node))
    for name in names & scope.assigned.keys():
        names |= list_names(scope.assigned[name])
    return not parameters.isdisjoint(names)


def _build_effects(
    signals: Iterable[CallEffect],
    depth: int,
    callee: str = "",
    *,
    discards: bool = False,
    call_texts: tuple[str, ...] = (),
    from_caller: bool = False,
) -> list[Effect]:
    """Effects of one call at a depth."""
    effects: list[Effect] = []
    for kind, sure, text in signals:
        effect = Effect(
            kind,
            sure,
            text,
            depth,
            callee,
            discards=discards,
            call_texts=call_texts,
            from_caller=from_caller,
        )
        effects.append(effect)
    return effects


def _discards(module: Module, call: ast.Call) -> bool:
    """Whether a call is a statement of its own, as in `client.post(url).raise_for_status()`."""
    node: ast.AST = call
    around = module.parents.get(node)
    while around is not None and _receives(around, node):
        node, around = around, module.parents.get(around)
    return isinstance(around, ast.Expr)


def _receives(around: ast.AST, node: ast.AST) -> bool:
    """Whether an expression only awaits another one, or calls a method of its result."""
    if isinstance(around, ast.Call):
        return around.func is node
    return isinstance(around, ast.Attribute | ast.Await)


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
        if not isinstance(node, ast.Call):
            continue
        if getattr(node.func, "attr", "") not in RUN:
            continue
        for argument in node.args:
            for part in ast.walk(argument):
                yield part
                if isinstance(part, ast.Name) and part.id in scope.assigned:
                    yield from ast.walk(scope.assigned[part.id])


def _classify_statement(text: str, depth: int, *, run: bool) -> list[Effect]:
    """What a text does that may be a statement."""
    if not (kind := classify_statement(text, run=run)):
        return []
    start = " ".join(text.split())[:40]
    is_graphql = "mutation" in text or text.lstrip().startswith(("query", "{"))
    language = "GraphQL" if is_graphql else "SQL"
    words = f"its {language} says {start!r}"
    is_own_trigger = depth == 0 and creates_trigger(text)
    aside = is_setup(text) and not is_own_trigger
    return [Effect(kind, True, words, depth, aside=aside)]


def _read_counted_name(visit: Visit, target: ast.expr) -> None:
    """A global name that is counted on from what it was."""
    if not isinstance(target, ast.Name) or is_temporary(target.id):
        return
    if target.id in visit.scope.globals:
        visit.add("action", True, f"it changes {target.id}")


def _read_kept_arguments(visit: Visit, node: ast.Assign) -> None:
    """An argument of the tool that a global name keeps for the next call."""
    if visit.depth or list_names(node.value).isdisjoint(visit.scope.parameters):
        return
    for target in node.targets:
        name = target.id if isinstance(target, ast.Name) else ""
        is_memo = name in visit.facts.memos or is_temporary(name)
        if name in visit.scope.globals and not is_memo:
            visit.add("put", True, f"it sets {name}")


def _makes_named_folder(call: ast.Call, visit: Visit) -> bool:
    """Whether a tool makes a folder that its caller names."""
    if visit.depth or _name_function(call) not in FOLDER_CALLS:
        return False
    return not list_names(call).isdisjoint(visit.scope.parameters)


def _name_function(call: ast.Call) -> str:
    """The last part of what a call names."""
    if isinstance(call.func, ast.Attribute):
        return call.func.attr
    return ast.unparse(call.func)


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
        if not isinstance(name, ast.Name):
            continue
        argument = find_argument(function, call, name.id)
        if not isinstance(argument, ast.Constant):
            continue
        if not isinstance(argument.value, str):
            continue
        method = argument.value
        for verb in parse_name(method)[:1]:
            kind = KINDS.get(verb.kind, "action")
            yield Effect(kind, False, f"it calls {method}()", depth, method)


def _is_aside(call: ast.Call, memos: set[str]) -> bool:
    """Whether a call fills or empties a memo, or makes a folder that may be there."""
    name = _name_function(call)
    if isinstance(call.func, ast.Attribute) and ast.unparse(call.func.value) in memos:
        return True
    if name in ("open", "dump"):
        return any(ast.unparse(argument) in memos for argument in call.args)
    if name not in FOLDER_CALLS:
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


def _returns_stored(callee: Place) -> bool:
    """Whether a function returns an entry of what outlives its call."""
    if not isinstance(callee.node, FUNCTIONS):
        return False
    scope = Scope(callee.module, callee.node)
    for node in ast.walk(callee.node):
        value = node.value if isinstance(node, ast.Return) else None
        if value is not None and scope.is_stored_entry(value):
            return True
    return False


def _is_own_note(node: ast.Subscript, depth: int) -> bool:  # self._record["rows"] = 3
    """Whether a class only notes something for itself."""
    held = node.value
    is_private = (
        isinstance(held, ast.Attribute)
        and held.attr.startswith("_")
        and root_name(held) == "self"
    )
    return is_private and depth > 1 and isinstance(node.slice, ast.Constant)

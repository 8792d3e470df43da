"""What the body of a tool does, and the calls below it, up to three down; nothing of it is run."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from .given import dispatched, method_said, mode_of, passed
from .indirect import reached
from .methods import calls, known, sql, text_of, words
from .reading import of_name, tokens
from .scopes import Scope, passing, root, short
from .sources import FUNCTIONS, Function, Module, Place, Project
from .storing import Stores

DEEPEST = 3
KINDS = {"read": "read", "add": "create", "ensure": "ensure", "change": "put", "remove": "delete"}
WRITES = {"create", "ensure", "append", "put", "delete", "consume", "action", "save"}


@dataclass(frozen=True)
class Effect:
    """One thing that a body does: `sure` by a method that means one thing, else by the verb of a method."""

    kind: str
    sure: bool
    text: str
    depth: int = 0

    @property
    def sends(self) -> bool:
        """Whether it is a POST, by which many an API is only asked."""
        return self.text.endswith(".post()") or self.text == "it sends POST"


@dataclass
class Body:
    """What a body does."""

    effects: list[Effect] = field(default_factory=list)

    def of(self, *kinds: str, sure: bool | None = None) -> list[Effect]:
        """The effects of some kinds."""
        return [e for e in self.effects if e.kind in kinds and sure in (None, e.sure)]

    def writes(self, *, sure: bool) -> list[Effect]:
        """What changes something, the nearest first."""
        return [e for e in self.effects if e.kind in WRITES and e.sure is sure]


class Reader:
    """Reads bodies of one project."""

    def __init__(self, project: Project) -> None:
        """Learn the classes of the project."""
        self.project = project
        self.classes = {
            node.name: Place(module, node)
            for module in project.modules.values()
            for node in module.nodes
            if isinstance(node, ast.ClassDef)
        }

    def body(self, function: Function, home: Module) -> Body:
        """What a function does."""
        found: list[Effect] = []
        seen: set[ast.AST] = set()
        self._read(Place(home, function), 0, seen, found)
        return Body(list(dict.fromkeys(found)))

    def _read(self, place: Place, depth: int, seen: set[ast.AST], found: list[Effect]) -> None:
        if place.node in seen or not isinstance(place.node, FUNCTIONS):
            return
        seen.add(place.node)
        scope = Scope(place.module, place.node)
        docs = ast.get_docstring(place.node, clean=False)
        stores = Stores(place.module, place.node)
        found.extend(Effect(kind, True, text, depth) for kind, text in stores.found())
        for node in stores.nodes:
            if isinstance(node, ast.Call):
                for call in reached(self.project, place.module, node, scope):
                    self._call(place.module, call, scope, depth, seen, found)
            elif isinstance(node, ast.Constant | ast.JoinedStr | ast.BinOp):
                text = text_of(place.module, node)
                if text and text != docs and (kind := sql(text)):
                    start = " ".join(text.split())[:40]
                    found.append(
                        Effect(
                            kind,
                            True,
                            f"its {'GraphQL' if kind == 'action' else 'SQL'} says {start!r}",
                            depth,
                        )
                    )
            elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
                if node.target.id in scope.globals and not passing(node.target.id):
                    found.append(Effect("action", True, f"it changes {node.target.id}", depth))
            elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
                held = self._property(place.module, node, scope)
                if held and depth < DEEPEST:
                    self._read(held, depth + 1, seen, found)
            elif (
                isinstance(node, ast.Subscript)
                and not isinstance(node.ctx, ast.Load)
                and (scope.lasting(node.value) or self._imported(place.module, node.value))
            ):
                deletes = isinstance(node.ctx, ast.Del)
                kind = "put" if stores.kind(node) == "sets" else "create"
                kind = "delete" if deletes else kind
                text = f"it {'deletes' if deletes else 'sets'} {short(node)}"
                found.append(Effect(kind, not _noted(node, depth), text, depth))

    def _call(
        self,
        module: Module,
        call: ast.Call,
        scope: Scope,
        depth: int,
        seen: set[ast.AST],
        found: list[Effect],
    ) -> None:
        below = self._below(module, call, scope)
        for one in below:
            if sent := dispatched(one.node, call):
                found.extend(Effect(*effect, depth + 1) for effect in sent)
            elif (
                depth < DEEPEST and isinstance(one.node, FUNCTIONS) and not _plumbing(one.node.name)
            ):
                self._read(one, depth + 1, seen, found)
        if not below:
            found.extend(self._outside(module, call, scope, depth))

    def _below(self, module: Module, call: ast.Call, scope: Scope) -> list[Place]:
        """The functions of this project that a call may reach."""
        place = self.project.resolve(module, call.func)
        if place and isinstance(place.node, FUNCTIONS):
            return [place]
        if place and isinstance(place.node, ast.ClassDef):
            return [place]  # to make an object does nothing that is seen
        if not isinstance(call.func, ast.Attribute):
            return []
        name, held = call.func.attr, call.func.value
        owner = self._class_of(module, held, scope)
        if owner and (method := self._method(owner, name)):
            return [method]
        places = self.project.methods.get(name, [])
        if name in words("nothing") or name in known()["containers"]:
            return []
        if root(held) in ("self", "cls") or 0 < len(places) <= 3:
            return places[:3]
        return []

    def _imported(self, module: Module, held: ast.expr) -> bool:
        """Whether another file of the project keeps what is held, as in `from .store import store`."""
        name = module.imports.get(root(held), "")
        kept = self.project.find(name) if name and not passing(ast.unparse(held)) else None
        return kept is not None and isinstance(kept.node, ast.Dict | ast.List | ast.Set | ast.Call)

    def _property(self, module: Module, node: ast.Attribute, scope: Scope) -> Place | None:
        """The method that runs when an attribute is looked at."""
        owner = self._class_of(module, node.value, scope)
        held = self._method(owner, node.attr) if owner else None
        decorators = getattr(held.node, "decorator_list", ()) if held else ()
        return held if "property" in map(ast.unparse, decorators) else None

    def _method(self, owner: Place, name: str, depth: int = 4) -> Place | None:
        if not isinstance(owner.node, ast.ClassDef):
            return None
        for node in owner.node.body:
            if isinstance(node, FUNCTIONS) and node.name == name:
                return Place(owner.module, node)
        for base in owner.node.bases if depth else ():
            above = self.project.resolve(owner.module, base)
            if above and (found := self._method(above, name, depth - 1)):
                return found
        return None

    def _class_of(self, module: Module, held: ast.expr, scope: Scope) -> Place | None:
        """The class of what an expression holds, where its making or an annotation says so."""
        value: ast.AST | None = held.value if isinstance(held, ast.Await) else held
        if isinstance(value, ast.Name):
            value = scope.assigned.get(value.id) or module.top.get(value.id) or value
        elif isinstance(value, ast.Attribute) and root(value) == "self":
            value = scope.attribute(value.attr)
        if isinstance(value, ast.Await):
            value = value.value
        if isinstance(value, ast.Call):
            place = self.project.resolve(module, value.func)
            if place and isinstance(place.node, ast.ClassDef):
                return place
            if place and isinstance(place.node, FUNCTIONS):
                return self._named(place.node.returns)
            return None
        if isinstance(value, ast.Name):
            return self._named(scope.annotations.get(value.id))
        return self._named(value) if value is not None else None

    def _named(self, annotation: ast.AST | None) -> Place | None:
        """The project's class that an annotation names."""
        for node in ast.walk(annotation) if annotation else ():
            text = node.id if isinstance(node, ast.Name) else None
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                text = node.value
            if text and text in self.classes:
                return self.classes[text]
        return None

    def _outside(
        self, module: Module, call: ast.Call, scope: Scope, depth: int
    ) -> Iterator[Effect]:
        """What a call does that leaves the project."""
        dotted = self.project.dotted(module, call.func)
        text = f"it calls {short(call.func)}()"
        temporary = passing(ast.unparse(call))
        if kind := calls("functions").get(dotted):
            if not (temporary and kind in ("ensure", "delete", "put") and dotted != "shutil.move"):
                yield Effect(kind, True, text, depth)
            return
        if dotted in ("open", "builtins.open", "io.open", "aiofiles.open") or (
            isinstance(call.func, ast.Attribute) and call.func.attr == "open" and call.args
        ):
            if (mode := mode_of(call)) and not temporary:
                kind = {"a": "append", "x": "create"}.get(mode, "save")
                yield Effect(kind, True, f"{text} to write", depth)
            return
        if not isinstance(call.func, ast.Attribute):
            if kind := known()["http"].get(verb := method_said(call)):
                yield Effect(kind, True, f"it sends {verb.upper()}", depth)
            return
        name, held = call.func.attr, call.func.value
        origin = root(held)
        if origin in ("logger", "logging", "log", "ctx", "context", "json", "re", "math"):
            return
        sends = re.search(rf"(?:^|[._])_?(?:{known()['senders']})", short(held).lower())
        if sends and (kind := known()["http"].get(name)) and (call.args or call.keywords):
            yield Effect(kind, True, text, depth)
            return
        if verb := method_said(call):
            if kind := known()["http"].get(verb):
                yield Effect(kind, True, f"it sends {verb.upper()}", depth)
            return
        if kind := known()["containers"].get(name):
            if (
                name == "pop"
                and call.args
                and not isinstance(call.args[0], ast.Constant | ast.UnaryOp)
            ):
                kind = "delete"  # of a named thing
            if scope.lasting(held):
                yield Effect(kind, True, text, depth)
            elif (
                (scope.foreign(held) and call.keywords) or re.search("session|db", origin)
            ) and name in ("add", "update", "remove", "insert"):
                kind = {"add": "create", "insert": "create", "remove": "delete"}.get(name, "put")
                yield Effect(kind, True, text, depth)
            return
        if kind := calls("calls").get(name):
            if name == "exists" or not temporary:
                yield Effect(kind, True, text, depth)
            return
        if name in ("execute", "executemany", "run", "query", "command", "raw_query", "exec"):
            if given := passed(call, scope):
                yield Effect("action", False, f"it runs what {given!r} says", depth)
            return
        if name in words("savers") and not temporary:
            yield Effect("save", True, text, depth)
            return
        if name == "close" and call.args:
            yield Effect("action", False, text, depth)
            return
        if (
            name in words("nothing")
            or name.startswith("_")
            or (name == "send" and "session" in short(held).lower())
        ):
            return  # a session sends what a request says
        if name in ("delete", "delete_async", "adelete"):
            yield Effect("delete", True, text, depth)
            return
        said = of_name(name)
        if said:
            first = said[0]
            yield Effect(KINDS.get(first.kind, "action"), False, text, depth)


def _noted(node: ast.Subscript, depth: int) -> bool:
    """Whether a class only notes something for itself, as in self._record["rows"] = 3."""
    held = node.value
    own = isinstance(held, ast.Attribute) and held.attr.startswith("_") and root(held) == "self"
    return own and depth > 1 and isinstance(node.slice, ast.Constant)


def _plumbing(name: str) -> bool:
    """Whether a helper only prepares: a connection, a log, a cache."""
    parts = tokens(name)
    return bool(parts) and not words("plumbing").isdisjoint((parts[0], parts[-1]))

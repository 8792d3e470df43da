"""What a tool file declares about its tool; what that means is decided by the server's policy.

A tool that differs from its behavior names the difference with `exceptions=`.
"""

import contextlib
import inspect
import sys
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, Self, TypedDict, TypeVar, cast

from .policy import WIRE_NAMES, Behavior, Exempted

Preview = Callable[..., Awaitable[object]]
Tool = TypeVar("Tool", bound=Callable[..., Any])
KEYS = (*WIRE_NAMES, "confirm")
EXCEPTION = '{"hint": "idempotent", "value": False, "why": "Its id goes stale."}'
# What each module declared, in order: the loader finds every one of them, or stops the start.
DECLARED: dict[str, list[tuple[str, "Declaration"]]] = {}
# The declarations of the server that is being built, of tools that no file of its project holds
_building: ContextVar[dict[str, "Declaration"] | None] = ContextVar(
    "building", default=None
)
# The same of packages whose server is made by their own code (govern), by package
_awaiting: dict[str, dict[str, "Declaration"]] = {}


class Exemption(TypedDict):
    """One hint (or "confirm") of one tool that differs from its behavior, with the reason."""

    hint: Exempted
    value: bool
    why: str


@dataclass(frozen=True, kw_only=True)
class Declaration:
    """Declare a tool; the decorated function itself comes back unchanged.

    Attributes:
        title: What people read; goes into both titles on the wire.
        description: What models read; the docstring when left out.
        why: One sentence that justifies the hints, exported to directories.
        scopes: OAuth scopes that a caller over HTTP needs, all of them.
        open_world: False when the tool works on this server's own data only.
        confirm: True or a question with `{parameters}` asks a person first; False needs an
            exception with its reason where the profile asks.
        preview: An async function of the same arguments that returns what would happen.
        exceptions: Hints that differ from the behavior, each with its reason.
        icon: An https address of an image.
        formerly: Names that it had; they still answer, unlisted.
        deprecated: What to use instead; clients see it, and calls are logged.
        public_effect: Whether it changes what the public or a third party sees (OpenAI's meaning of
            open world); when left out, false for a read, else as `open_world`.

    Raises:
        TypeError: `scopes` or `formerly` is a text, an exception lacks a key, or this is not put on a function.
    """

    behavior: ClassVar[Behavior]
    name: str = field(default="", init=False)
    title: str
    description: str | None = None
    why: str | None = None
    scopes: Sequence[str] = ()
    open_world: bool = True
    confirm: bool | str | None = None
    preview: Preview | None = field(default=None, repr=False)
    exceptions: Sequence[Exemption] = ()
    icon: str | None = None
    formerly: Sequence[str] = ()
    deprecated: str | None = None
    public_effect: bool | None = None

    def __init_subclass__(cls) -> None:
        cls.behavior = cast("Behavior", cls.__name__)

    def __post_init__(self) -> None:
        if isinstance(self.scopes, str):
            raise TypeError('scopes is a list, as in scopes=["notes:write"]')
        if isinstance(self.formerly, str):
            raise TypeError('formerly is a list, as in formerly=["remove_note"]')
        for exception in self.exceptions:
            keys = {*exception} if isinstance(exception, dict) else {}
            if keys != {"hint", "value", "why"} or exception["hint"] not in KEYS:
                remedy = f"write {EXCEPTION}; hint is one of {', '.join(KEYS)}"
                raise TypeError(f"exception {exception!r}: {remedy}")

    def __call__(self, function: Tool) -> Tool:
        if not inspect.isfunction(inspect.unwrap(function)):
            raise TypeError(
                f"{function!r} is not a function; @{self.behavior} goes on a `def`"
            )
        vars(function)["__declaration__"] = self.named(function.__name__)
        module = sys._getframe(1).f_globals["__name__"]
        DECLARED.setdefault(module, []).append((function.__name__, self))
        return function

    def named(self, name: str) -> Self:
        """Itself, once it knows which tool it is of."""
        object.__setattr__(self, "name", name)
        return self


def build_declaration(
    name: str, behavior: str, *, title: str | None = None, **facts: Any
) -> Declaration:
    """Build the declaration of a behavior; TypeError for an unknown behavior or fact."""
    behaviors = {
        behavior_class.__name__: behavior_class
        for behavior_class in Declaration.__subclasses__()
    }
    if behavior not in behaviors:
        raise TypeError(
            f"{behavior!r} is not a behavior of {name}; use one of {', '.join(behaviors)}"
        )
    words = name.replace("_", " ").replace("-", " ").title()
    return behaviors[behavior](title=title or words, **facts).named(name)


@contextlib.contextmanager
def collecting(declared: dict[str, Declaration]) -> Iterator[None]:
    """Let `declare` write into the table of the server that is being built."""
    token = _building.set(declared)
    try:
        yield
    finally:
        _building.reset(token)


def awaiting(package: str) -> dict[str, Declaration]:
    """Return what a package has declared for the server that its own code makes."""
    return _awaiting.setdefault(package.partition(".")[0], {})


def declare(
    name: str, behavior: Behavior, *, title: str | None = None, **facts: Any
) -> None:
    """Declare in extend.py what a tool from elsewhere does, by the name that this server serves it under.

    Args:
        name: The tool's name as clients see it.
        behavior: What it does.
        title: What people read; made from the name when left out.
        facts: The other arguments of a decorator.

    Raises:
        TypeError: There is no such behavior or fact.
    """
    declared = _building.get()
    if declared is None:
        declared = awaiting(sys._getframe(1).f_globals["__name__"])
    declared[name] = build_declaration(name, behavior, title=title, **facts)


def declaration_of(function: object) -> Declaration | None:
    """The declaration that a decorator left on `function`, or None."""
    declaration = getattr(function, "__declaration__", None)
    return declaration if isinstance(declaration, Declaration) else None


def translate_declaration(declaration: Any) -> Declaration | None:
    """Translate the declaration of another server of the template into one of this server; None for none."""
    if declaration is None or isinstance(declaration, Declaration):
        return declaration
    with contextlib.suppress(TypeError):  # a later template may have more behaviors
        names = [
            attribute.name
            for attribute in fields(action)
            if attribute.init and hasattr(declaration, attribute.name)
        ]
        return build_declaration(
            declaration.name,
            declaration.behavior,
            **{name: getattr(declaration, name) for name in names},
        )
    return None


class read(Declaration):
    """Changes nothing a user can observe (logging is allowed)."""


class create(Declaration):
    """Adds something new each call."""


class ensure(Declaration):
    """Creates it, or returns it when it exists."""


class append(Declaration):
    """Adds to what is there, loses nothing."""


class update(Declaration):
    """Changes what is there; where the tool takes a version, a stale one fails."""


class put(Declaration):
    """Replaces or assigns: same input, same end state."""


class delete(Declaration):
    """Removes, revokes or cancels."""


@dataclass(frozen=True, kw_only=True)
class action(Declaration):
    """Anything else (send, run, start); by default it is destructive and not idempotent, as the protocol has it.

    An `idempotent=False` that is written is a claim, and the probes prove it.
    """

    destructive: bool = True
    idempotent: bool | None = None

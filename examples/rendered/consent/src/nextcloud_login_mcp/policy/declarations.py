"""What a tool file declares about its tool, and what that means under this server's profile.

Managed by the template. A tool that differs from its behavior names the difference with `exceptions=`.
Source of the hints: ToolAnnotations in the MCP specification; of the choices: docs/adr/policy.
"""

import contextlib
import inspect
import sys
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, Literal, Self, TypedDict, TypeVar, cast

from .profile import BEHAVIORS, CONFIRM, FINER, WIRE_NAMES, Behavior, Hint

Preview = Callable[..., Awaitable[object]]
Tool = TypeVar("Tool", bound=Callable[..., Any])
KEYS = (*WIRE_NAMES, "confirm")
EXCEPTION = '{"hint": "idempotent", "value": False, "why": "Its id goes stale."}'
# What each module declared, in order: the loader finds every one of them, or stops the start.
DECLARED: dict[str, list[tuple[str, "Declaration"]]] = {}
ELSEWHERE: dict[str, "Declaration"] = {}  # of tools that no file of this project holds, by name


class Exemption(TypedDict):
    """One hint (or "confirm") of one tool that differs from its behavior, with the reason."""

    hint: Literal["read_only", "destructive", "idempotent", "open_world", "confirm"]
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
        deprecated: What to use instead; said to clients, and calls are logged.
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
                mend = f"write {EXCEPTION}; hint is one of {', '.join(KEYS)}"
                raise TypeError(f"exception {exception!r}: {mend}")

    def __call__(self, function: Tool) -> Tool:
        if not inspect.isfunction(inspect.unwrap(function)):
            raise TypeError(f"{function!r} is not a function; @{self.behavior} goes on a `def`")
        vars(function)["__declaration__"] = self.named(function.__name__)
        module = sys._getframe(1).f_globals["__name__"]
        DECLARED.setdefault(module, []).append((function.__name__, self))
        return function

    def named(self, name: str) -> Self:
        """Itself, once it knows which tool it is of."""
        object.__setattr__(self, "name", name)
        return self

    def differences(self) -> list[dict[str, Any]]:
        """What differs from the behavior: where the policy is finer for this name, and over it what the file says."""
        words = dict.fromkeys((self.name.partition("_")[0], self.name))
        finer = [row for word in words for row in FINER.get(f"{self.behavior} {word}", ())]
        said = [{**each} for each in self.exceptions]
        return [row for row in finer if row["hint"] not in {each["hint"] for each in said}] + said

    def behaves(self) -> dict[Hint, bool]:
        """What is true of the tool, whether or not the profile puts it on the wire."""
        meaning = zip(WIRE_NAMES, BEHAVIORS[self.behavior][0].split(), strict=True)
        hints: dict[Hint, bool] = {
            name: bool(getattr(self, name)) if word == "said" else word == "true"
            for name, word in meaning
        }
        for row in self.differences():
            if row["hint"] in hints:
                hints[row["hint"]] = row["value"]
        return hints

    def hints(self) -> dict[str, bool]:
        """The hints on the wire, by their wire names; one that the profile leaves out is absent."""
        modes = dict(zip(WIRE_NAMES, BEHAVIORS[self.behavior][1].split(), strict=True))
        return {
            WIRE_NAMES[hint]: value
            for hint, value in self.behaves().items()
            if self.exempts(hint) or modes[hint] in ("always", str(value).lower())
        }

    def exempts(self, hint: Hint | Literal["confirm"]) -> bool:
        """Whether there is an exception to a hint or to the gate."""
        return any(row["hint"] == hint for row in self.differences())

    def gate_demanded(self) -> bool:
        """Whether the profile asks a person before this tool (docs/adr/policy)."""
        truth = self.behaves()
        loses = self.behavior == "delete" or (self.behavior == "action" and truth["destructive"])
        gated = {"none": False, "deletes": loses, "destructive": truth["destructive"]}
        return gated.get(CONFIRM, self.behavior != "read") and not truth["read_only"]

    def gated(self) -> bool:
        """Whether a person is asked before this tool runs."""
        waived = self.confirm is False and self.exempts("confirm")
        return bool(self.confirm) or (self.gate_demanded() and not waived)

    def facts(self) -> dict[str, Any]:
        """All of it as plain JSON: what the suite, the lock and the tool table are made from."""
        truth, effect = self.behaves(), self.public_effect
        if effect is None:
            effect = self.open_world and not truth["read_only"]
        question = self.confirm if isinstance(self.confirm, str) else None
        gate = {"gated": self.gated(), "gate_demanded": self.gate_demanded(), "question": question}
        written = {"why": self.why, "confirm_said": self.confirm, "public_effect": effect}
        written["deprecated"] = self.deprecated
        lists: dict[str, list[Any]] = {"scopes": [*self.scopes], "formerly": [*self.formerly]}
        lists["exceptions"] = self.differences()
        hints = {"behavior": self.behavior, "hints": self.hints(), "truth": truth}
        return hints | gate | written | lists


def made(name: str, behavior: str, *, title: str | None = None, **facts: Any) -> Declaration:
    """What a decorator would declare; TypeError: there is no such behavior or fact."""
    known = {each.__name__: each for each in Declaration.__subclasses__()}
    if behavior not in known:
        raise TypeError(f"{behavior!r} is not a behavior of {name}; use one of {', '.join(known)}")
    words = name.replace("_", " ").replace("-", " ").title()
    return known[behavior](title=title or words, **facts).named(name)


def declare(name: str, behavior: Behavior, *, title: str | None = None, **facts: Any) -> None:
    """Declare in extend.py what a tool from elsewhere does, by the name that this server serves it under.

    `facts` are the other arguments of a decorator. TypeError: there is no such behavior or fact.
    """
    ELSEWHERE[name] = made(name, behavior, title=title, **facts)


def declaration_of(function: object) -> Declaration | None:
    """The declaration that a decorator left on `function`, or None."""
    declaration = getattr(function, "__declaration__", None)
    return declaration if isinstance(declaration, Declaration) else None


def translated(theirs: Any) -> Declaration | None:
    """What this server makes of a declaration, also of one that another server of the template has; None for none."""
    if theirs is None or isinstance(theirs, Declaration):
        return theirs
    with contextlib.suppress(TypeError):  # a later template may have more behaviors
        names = [each.name for each in fields(action) if each.init and hasattr(theirs, each.name)]
        return made(theirs.name, theirs.behavior, **{name: getattr(theirs, name) for name in names})
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

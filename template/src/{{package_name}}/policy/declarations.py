"""What a tool file declares about its tool, and what that means under this server's profile.

Managed by the template. A tool that differs from its behavior names the difference with `exceptions=`.
Source of the hints: ToolAnnotations in the MCP specification; of the choices: docs/adr/policy.
"""

import inspect
import sys
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Required, TypedDict, TypeVar, Unpack

from .profile import BEHAVIORS, CONFIRM, ON_THE_WIRE, WIRE_NAMES, Behavior, Hint

Preview = Callable[..., Awaitable[object]]
Tool = TypeVar("Tool", bound=Callable[..., Any])
EXCEPTION = '{"hint": "idempotent", "value": False, "why": "Its id goes stale."}'


class Exemption(TypedDict):
    """One hint (or "confirm") of one tool that differs from its behavior, with the reason."""

    hint: Literal["read_only", "destructive", "idempotent", "open_world", "confirm"]
    value: bool
    why: str


class Options(TypedDict, total=False):
    """What every decorator takes.

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
        public_effect: Whether it changes what the public or a third party sees (OpenAI's meaning of
            open world); when left out, false for a read, else as `open_world`.
    """

    title: Required[str]
    description: str | None
    why: str | None
    scopes: Iterable[str]
    open_world: bool
    confirm: bool | str | None
    preview: Preview | None
    exceptions: Iterable[Exemption]
    icon: str | None
    public_effect: bool | None


class ActionOptions(Options, total=False):
    """What `action` takes besides; by default it is destructive and not idempotent, as the protocol has it."""

    destructive: bool
    idempotent: bool | None


@dataclass(frozen=True, kw_only=True)
class Declaration:
    """What a tool file says of its tool."""

    behavior: Behavior
    title: str
    description: str | None = None
    why: str | None = None
    scopes: Sequence[str] = ()
    open_world: bool = True
    confirm: bool | str | None = None
    preview: Preview | None = field(default=None, repr=False)
    exceptions: Sequence[Exemption] = ()
    icon: str | None = None
    public_effect: bool | None = None
    destructive: bool = True
    idempotent: bool | None = None

    def __post_init__(self) -> None:
        """Refuse what would be misread.

        Raises:
            TypeError: `scopes` is a text, or an exception does not have the three keys.
        """
        if isinstance(self.scopes, str):
            raise TypeError('scopes is a list, as in scopes=["notes:write"]')
        object.__setattr__(self, "scopes", tuple(self.scopes))
        object.__setattr__(self, "exceptions", tuple(self.exceptions))
        names = (*WIRE_NAMES, "confirm")
        for exception in self.exceptions:
            keys = {*exception} if isinstance(exception, dict) else {}
            if keys != {"hint", "value", "why"} or exception["hint"] not in names:
                mend = f"write {EXCEPTION}; hint is one of {', '.join(names)}"
                raise TypeError(f"exception {exception!r}: {mend}")

    def behaves(self) -> dict[Hint, bool]:
        """What is true of the tool, whether or not the profile puts it on the wire."""
        meaning = BEHAVIORS[self.behavior]
        hints: dict[Hint, bool] = {
            "read_only": meaning.read_only,
            "destructive": self.destructive if meaning.destructive is None else meaning.destructive,
            "idempotent": bool(self.idempotent)
            if meaning.idempotent is None
            else meaning.idempotent,
            "open_world": self.open_world,
        }
        for exception in self.exceptions:
            if exception["hint"] != "confirm":
                hints[exception["hint"]] = exception["value"]
        return hints

    def hints(self) -> dict[str, bool]:
        """The hints on the wire, by their wire names; one that the profile leaves out is absent."""
        modes = dict(zip(WIRE_NAMES, ON_THE_WIRE[self.behavior].split(), strict=True))
        return {
            WIRE_NAMES[hint]: value
            for hint, value in self.behaves().items()
            if self.exempts(hint) or modes[hint] in ("always", str(value).lower())
        }

    def exempts(self, hint: Hint | Literal["confirm"]) -> bool:
        """Whether the file names an exception to a hint or to the gate."""
        return any(exception["hint"] == hint for exception in self.exceptions)

    def gate_demanded(self) -> bool:
        """Whether the profile asks a person before this tool (docs/adr/policy)."""
        truth = self.behaves()
        if CONFIRM == "none" or truth["read_only"]:
            return False
        if CONFIRM == "writes":
            return self.behavior != "read"
        if CONFIRM == "destructive":
            return truth["destructive"]
        return self.behavior == "delete" or (self.behavior == "action" and truth["destructive"])

    def gated(self) -> bool:
        """Whether a person is asked before this tool runs."""
        if self.confirm is None:
            return self.gate_demanded()
        if self.confirm is False and self.gate_demanded():
            return not self.exempts("confirm")
        return self.confirm is not False

    def facts(self) -> dict[str, Any]:
        """All of it as plain JSON: what the suite, the lock and the tool table are made from."""
        truth, effect = self.behaves(), self.public_effect
        return {
            "behavior": self.behavior,
            "hints": self.hints(),
            "truth": dict(truth),
            "gated": self.gated(),
            "gate_demanded": self.gate_demanded(),
            "scopes": list(self.scopes),
            "why": self.why,
            "question": self.confirm if isinstance(self.confirm, str) else None,
            "confirm_said": self.confirm,
            "exceptions": [dict(exception) for exception in self.exceptions],
            "public_effect": (self.open_world and not truth["read_only"])
            if effect is None
            else effect,
        }


def declaration_of(function: object) -> Declaration | None:
    """The declaration that a decorator left on `function`, or None."""
    declaration = getattr(function, "__declaration__", None)
    return declaration if isinstance(declaration, Declaration) else None


# What each module declared, in order: the loader finds every one of them, or stops the start.
DECLARED: dict[str, list[tuple[str, Declaration]]] = {}
ACTION_ONLY = ActionOptions.__annotations__.keys() - Options.__annotations__.keys()


class Decorator:
    """What `read create ensure append update put delete` are."""

    def __init__(self, behavior: Behavior) -> None:
        self._behavior = behavior

    def __call__(self, **options: Unpack[Options]) -> Callable[[Tool], Tool]:
        """Declare a tool; the function itself comes back unchanged (see `Options`)."""
        if wrong := sorted(options.keys() & ACTION_ONLY):
            mend = f"write exceptions=[{EXCEPTION}]"
            raise TypeError(f"@{self._behavior} takes no {wrong[0]}; {mend}")
        return _declare(self._behavior, options)


read = Decorator("read")
create = Decorator("create")
ensure = Decorator("ensure")
append = Decorator("append")
update = Decorator("update")
put = Decorator("put")
delete = Decorator("delete")


def action(**options: Unpack[ActionOptions]) -> Callable[[Tool], Tool]:
    """Declare an action; the function itself comes back unchanged (see `ActionOptions`).

    An `idempotent=False` that is written is a claim, and the probes prove it.
    """
    return _declare("action", options)


def _declare(behavior: Behavior, options: Mapping[str, Any]) -> Callable[[Tool], Tool]:
    try:
        declaration = Declaration(behavior=behavior, **options)
    except TypeError as error:
        raise TypeError(str(error).replace("Declaration.__init__()", f"@{behavior}(...)")) from None

    def declare(function: Tool) -> Tool:
        if not inspect.isfunction(inspect.unwrap(function)):
            raise TypeError(f"{function!r} is not a function; @{behavior} goes on a `def`")
        vars(function)["__declaration__"] = declaration
        module = sys._getframe(1).f_globals["__name__"]
        DECLARED.setdefault(module, []).append((function.__name__, declaration))
        return function

    return declare

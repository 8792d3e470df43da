"""What each behavior promises, and the decorators that declare it.

Managed by the template: change it there; a tool that differs says so with `exceptions=`.
Source of the hints: the MCP specification's ToolAnnotations; of the choices: docs/adr/policy.
"""

import inspect
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, TypedDict, TypeVar

Behavior = Literal["read", "create", "ensure", "append", "update", "put", "delete", "action"]
Hint = Literal["read_only", "destructive", "idempotent", "open_world"]
Preview = Callable[..., Awaitable[Any]]
Tool = TypeVar("Tool", bound=Callable[..., Awaitable[Any]])

WIRE_NAMES: dict[Hint, str] = {
    "read_only": "readOnlyHint",
    "destructive": "destructiveHint",
    "idempotent": "idempotentHint",
    "open_world": "openWorldHint",
}


class Meaning(NamedTuple):
    """What a behavior promises; None: each tool says."""

    text: str
    read_only: bool
    destructive: bool | None
    idempotent: bool | None


BEHAVIORS: dict[Behavior, Meaning] = {
    "read": Meaning("changes nothing a user can observe (logging is allowed)", True, False, True),
    "create": Meaning("adds something new each call", False, False, False),
    "ensure": Meaning("creates it, or gets it when it is there", False, False, True),
    "append": Meaning("adds to what is there, loses nothing", False, False, False),
    "update": Meaning("changes what is there; a stale version fails", False, True, False),
    "put": Meaning("replaces or assigns: same input, same end state", False, True, True),
    "delete": Meaning("removes, revokes, cancels", False, True, True),
    "action": Meaning("anything else (send, run, start)", False, None, None),
}
# When each hint is on the wire, in the order of WIRE_NAMES: "true" is only where it is true (explicit).
ON_THE_WIRE: dict[Behavior, str] = {
    "read": "always always always always",
    "create": "always always always always",
    "ensure": "always always always always",
    "append": "always always always always",
    "update": "always always always always",
    "put": "always always always always",
    "delete": "always always always always",
    "action": "always always always always",
}
DESTRUCTIVE = "deletes_and_overwrites"
CONFIRM: Literal["none", "deletes", "destructive", "writes"] = "writes"
CONFIRM_FALLBACK: Literal["two_step", "refuse"] = "two_step"
PREVIEW_FIRST = True


class Exemption(TypedDict):
    """One hint (or "confirm") of one tool that differs from its behavior, with the reason."""

    hint: Literal["read_only", "destructive", "idempotent", "open_world", "confirm"]
    value: bool
    why: str


@dataclass(frozen=True, kw_only=True)
class Declaration:
    """What a tool file said about its tool."""

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
    destructive: bool = True
    idempotent: bool | None = None

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
        for exemption in self.exceptions:
            if exemption["hint"] != "confirm":
                hints[exemption["hint"]] = exemption["value"]
        return hints

    def hints(self) -> dict[str, bool]:
        """The hints on the wire, by their wire names; one that the profile leaves out is absent."""
        modes = dict(zip(WIRE_NAMES, ON_THE_WIRE[self.behavior].split(), strict=True))
        exempt = {exemption["hint"] for exemption in self.exceptions}
        return {
            WIRE_NAMES[hint]: value
            for hint, value in self.behaves().items()
            if hint in exempt or modes[hint] in ("always", str(value).lower())
        }

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
            return not any(exemption["hint"] == "confirm" for exemption in self.exceptions)
        return self.confirm is not False


def declaration_of(function: object) -> Declaration | None:
    """The declaration that a decorator left on `function`, or None."""
    found = getattr(function, "__declaration__", None)
    return found if isinstance(found, Declaration) else None


def _declare(behavior: Behavior, said: dict[str, Any]) -> Callable[[Tool], Tool]:
    if isinstance(said["scopes"], str):
        raise TypeError('scopes is a list, as in scopes=["notes:write"]')
    for several in ("scopes", "exceptions"):
        said[several] = tuple(said[several])
    known = (*WIRE_NAMES, "confirm")
    for of in said["exceptions"]:
        if not isinstance(of, dict) or {*of} != {"hint", "value", "why"} or of["hint"] not in known:
            example = '{"hint": "idempotent", "value": False, "why": "Its id goes stale."}'
            raise TypeError(f"exception {of!r}: write {example}; hint is one of {', '.join(known)}")
    declaration = Declaration(behavior=behavior, **said)

    def declare(function: Tool) -> Tool:
        given: object = function
        if not inspect.iscoroutinefunction(given):
            name = getattr(given, "__name__", given)
            raise TypeError(f"{name} is not async; @{behavior} goes on an `async def` function")
        vars(function)["__declaration__"] = declaration
        return function

    return declare


class Decorator:
    """What `read create ensure append update put delete` are."""

    def __init__(self, behavior: Behavior) -> None:
        self._behavior = behavior

    def __call__(
        self,
        *,
        title: str,
        description: str | None = None,
        why: str | None = None,
        scopes: Iterable[str] = (),
        open_world: bool = True,
        confirm: bool | str | None = None,
        preview: Preview | None = None,
        exceptions: Iterable[Exemption] = (),
        icon: str | None = None,
    ) -> Callable[[Tool], Tool]:
        """Declare a tool; the function itself comes back unchanged.

        Args:
            title: What people read; goes into both titles on the wire.
            description: What models read; the docstring when left out.
            why: One sentence that justifies the hints, exported to directories.
            scopes: OAuth scopes that a caller over HTTP needs, all of them.
            open_world: False when the tool reads only this server's own data.
            confirm: True or a question with `{parameters}` asks a person first; False needs an
                exception with its reason where the profile asks.
            preview: An async function of the same arguments that answers what would happen.
            exceptions: Hints that differ from the behavior, each with its reason.
            icon: An https address of an image.
        """
        return _declare(self._behavior, {n: v for n, v in locals().items() if n != "self"})


read = Decorator("read")
create = Decorator("create")
ensure = Decorator("ensure")
append = Decorator("append")
update = Decorator("update")
put = Decorator("put")
delete = Decorator("delete")


def action(
    *,
    title: str,
    description: str | None = None,
    why: str | None = None,
    scopes: Iterable[str] = (),
    open_world: bool = True,
    confirm: bool | str | None = None,
    preview: Preview | None = None,
    exceptions: Iterable[Exemption] = (),
    icon: str | None = None,
    destructive: bool = True,
    idempotent: bool | None = None,
) -> Callable[[Tool], Tool]:
    """Declare an action, as the others; unsaid it is destructive and not idempotent, the protocol's default.

    An `idempotent=False` that is said is a claim, and the probes prove it.
    """
    return _declare("action", locals())

"""What the calls of one case do outside the snapshot."""

import contextlib
from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from .effects import Effect, Watch, watching_effects
from .module_state import State, find_changed
from .problems import Problem

if TYPE_CHECKING:
    from .suite import Suite

OUTSIDE = "declare effects = {...} with the reason in its probe where that is intended"


class Observation:
    """Watches the calls of one tool; what changes outside the snapshot counts for reads alone."""

    def __init__(
        self, suite: "Suite", name: str, truth: Mapping[Any, bool], declared: Any
    ) -> None:
        """Take what the tool says of itself.

        Args:
            suite: The suite.
            name: The name of the tool.
            truth: What its policy says is true of it.
            declared: The effects that its probe declares.
        """
        self.suite = suite
        self.name = name
        self.truth = truth
        self.declared: Collection[str] = declared
        self.connections: list[str] = []
        self.effects: list[Effect] = []
        self.states: list[State] = []
        if truth["read_only"]:
            self.states.append(suite.module_state.read())

    @contextlib.contextmanager
    def call(self) -> Iterator[None]:
        """Watch one call."""
        with watching_effects() as watch, self.suite.watching_calls() as tools:
            yield
        self.connections += watch.connections
        if self.truth["read_only"]:
            self._collect(watch, tools)

    def _collect(self, watch: Watch, tools: list[Any]) -> None:
        self.effects += watch.list_effects()
        for tool in tools:
            if tool.name != self.name and self.suite.writes(tool):
                text = f"called {tool.name}, which writes"
                self.effects.append(Effect("tools", tool.name, text))

    def end_call(self) -> None:
        """Read the state of the modules, once nothing runs any more."""
        if self.truth["read_only"]:
            self.states.append(self.suite.module_state.read())

    def find_problem(self) -> Problem | None:
        """Return what was seen that the tool does not declare."""
        if self.connections and not self.truth["open_world"]:
            address = self.connections[0]
            return Problem(
                "closed-world-proven",
                f"it says open_world=False, but connected to {address}",
            )
        effects = list(self.effects)
        if len(self.states) > 1:
            for name in find_changed(self.states[0], self.states[1], self.states[-1]):
                effects.append(Effect("globals", name, f"changed {name}"))
        for effect in effects:
            if not effect.is_declared(self.declared):
                text = f"it says read-only, but {effect.text}"
                return Problem("read-only-proven", text, OUTSIDE)
        return None

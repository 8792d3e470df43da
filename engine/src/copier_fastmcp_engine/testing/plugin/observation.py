"""What the calls of one case do outside the snapshot."""

import contextlib
from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from .databases import find_connections, read_content
from .effects import Effect, Watch, watching_effects
from .module_state import (
    State,
    find_changed,
    find_changed_attributes,
    read_attributes,
)
from .problems import Problem
from .process_state import find_changed_process, read_process

if TYPE_CHECKING:
    from .suite import Suite

OUTSIDE = "declare effects = {...} with the reason in its probe where that is intended"


class Observation:
    """Watches the calls of one tool; what changes outside the snapshot counts for reads alone."""

    def __init__(
        self,
        suite: "Suite",
        name: str,
        truth: Mapping[Any, bool],
        declared: Any,
        client: object = None,
    ) -> None:
        """Take what the tool says of itself.

        Args:
            suite: The suite.
            name: The name of the tool.
            truth: What its policy says is true of it.
            declared: The effects that its probe declares.
            client: The backend, where all that it holds is to be compared.
        """
        self.suite = suite
        self.name = name
        self.truth = truth
        self.declared: Collection[str] = declared
        self.connections: list[str] = []
        self.effects: list[Effect] = []
        self.client = client
        self.states: list[State] = []
        self.attributes: list[State] = []
        self.processes: list[State] = []
        self.databases: list[State] = []
        if truth["read_only"]:
            self._read_states()

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
            self._read_states()

    def _read_states(self) -> None:
        self.states.append(self.suite.module_state.read())
        self.processes.append(read_process())
        if self.client is None:
            return
        self.attributes.append(read_attributes(self.client))
        databases = {}
        for name, connection in find_connections(self.client).items():
            databases[name] = read_content(connection)
        self.databases.append(databases)

    def find_problem(self) -> Problem | None:
        """Return what was seen that the tool does not declare."""
        if self.connections and not self.truth["open_world"]:
            address = self.connections[0]
            return Problem(
                "closed-world-proven",
                f"it says open_world=False, but connected to {address}",
            )
        for effect in [*self.effects, *self._list_changed()]:
            if not effect.is_declared(self.declared):
                text = f"it says read-only, but {effect.text}"
                return Problem("read-only-proven", text, OUTSIDE)
        return None

    def _list_changed(self) -> Iterator[Effect]:
        """Yield what differs in the process, its modules and the backend."""
        if len(self.states) < 2:
            return
        for name in find_changed(self.states[0], self.states[1], self.states[-1]):
            yield Effect("globals", name, f"changed {name}")
        for name in find_changed_process(self.processes):
            yield Effect("process", name, f"changed {name} of the process")
        if self.client is None:
            return
        for name, content in self.databases[0].items():
            if self.databases[-1].get(name) != content:
                yield Effect("database", name, f"wrote the database of backend.{name}")
        for name in find_changed_attributes(
            self.attributes[0], self.attributes[1], self.attributes[-1]
        ):
            yield Effect("globals", f"backend.{name}", f"changed backend.{name}")

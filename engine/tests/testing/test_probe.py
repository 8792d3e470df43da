"""Probes of hand-written tools on a store in memory: siblings, and what they bring to light."""

import contextlib
import copy
import inspect
import json
import socket
import sys
import warnings
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from fastmcp.exceptions import ToolError

from copier_fastmcp_engine.policy import WIRE_NAMES
from copier_fastmcp_engine.testing.backend import Backend
from copier_fastmcp_engine.testing.cases import Case
from copier_fastmcp_engine.testing.plugin.library_state import LibraryState
from copier_fastmcp_engine.testing.plugin.module_state import ModuleState
from copier_fastmcp_engine.testing.plugin.probe import Probe
from copier_fastmcp_engine.testing.plugin.suite import (
    CLIENT_LOGGING,
    LOGGING_REMEDY,
    Suite,
)
from copier_fastmcp_engine.testing.rules import Tool

pytestmark = pytest.mark.anyio
RULES = Path(__file__).parents[3] / "src/copier_fastmcp/tables.json"
TABLES = {
    **json.loads(RULES.read_text()),
    "identities": ["name"],
    "destructive": "deletes_and_overwrites",
}


class Store:
    """Notes by number; a number that is not given is the next one."""

    def __init__(self) -> None:
        """Hold no notes."""
        self.notes: dict[str, dict[str, Any]] = {}

    def add(self, note_id: int | None = None) -> int:
        note_id = note_id or len(self.notes) + 1
        key = f"note/{note_id}"
        if key in self.notes:
            raise ValueError(f"{key} is there already")
        self.notes[key] = {"id": note_id, "text": "a"}
        return note_id

    async def snapshot(self) -> dict[str, Any]:
        return copy.deepcopy(self.notes)


class StubSuite:
    """What a probe asks of its suite, for one tool `delete_note` and one store."""

    def __init__(
        self,
        folder: Path,
        arrange: Callable[..., Any],
        body: Callable[..., Any],
        **parameters: Any,
    ) -> None:
        """Take the two functions, and parameters besides `note_id`."""
        self.parameters = parameters
        self.required = ["note_id"]
        self.behavior = "delete"
        self.description = ""
        (folder / "test_delete_note.py").touch()
        (folder / "test_read_note.py").touch()
        (folder / "test_append_note.py").touch()
        self.store = Store()
        self.body = body
        self.module = SimpleNamespace(arrange=arrange)
        self.project = SimpleNamespace(
            probes=folder, connect=self.connect, source=folder
        )
        self.truth: dict[str, bool] = dict.fromkeys(WIRE_NAMES, True)
        self.truth["read_only"] = False
        self.policy = SimpleNamespace(
            truth=lambda _: self.truth, is_exempt=lambda *_: False
        )
        declaration = SimpleNamespace(behavior="delete")
        self.served = {"delete_note": SimpleNamespace(declaration=declaration)}
        self.gated: set[str] = set()
        self.on_question: Callable[[], Awaitable[None]] | None = None
        self.tables = TABLES
        self.notes: list[str] = []
        self.proof: dict[str, Any] = {}
        self.proven_tools: list[Tool] = []
        self.module_state = ModuleState(folder)
        self.writes: Callable[[Any], bool] = lambda tool: False
        self.watching_calls: Callable[..., Any] = lambda: contextlib.nullcontext([])
        self.library_state = LibraryState([])

    def connect(self) -> Backend:
        self.store = Store()
        return Backend(self.store)

    def probe_module(self, name: str) -> Any:
        return self.module

    def note(self, text: str) -> None:
        self.notes.append(text)

    async def call(
        self,
        name: str,
        arguments: dict[str, Any],
        agree: bool = True,
    ) -> dict[str, Any]:
        try:
            steps = self.body(self.store, **arguments)
        except (KeyError, TypeError) as error:
            raise ToolError(str(error)) from error
        if inspect.isawaitable(steps):
            steps = await steps
        if isinstance(steps, dict):
            return steps
        for step in steps or ():
            assert step == "asks"
            if self.on_question is not None:
                await self.on_question()
        return {}

    def declare(self, behavior: str) -> None:
        """Let the tool be one of another behavior, `read_note` or `append_note`."""
        declaration = SimpleNamespace(behavior=behavior)
        self.behavior = behavior
        self.served = {f"{behavior}_note": SimpleNamespace(declaration=declaration)}
        self.truth["read_only"] = behavior == "read"
        self.truth["destructive"] = self.truth["idempotent"] = False

    async def prove(self) -> None:
        properties = dict(self.parameters)
        if "note_id" in self.required:
            properties = {"note_id": {"type": "integer"}, **properties}
        schema = {
            "type": "object",
            "properties": properties,
            "required": self.required,
        }
        wire = {
            "name": f"{self.behavior}_note",
            "description": self.description,
            "inputSchema": schema,
        }
        tool = Tool(wire, proof=self.proof)
        suite: Any = self
        await Probe(suite, tool, self.call, "2026-07-28").prove(with_variants=True)


def delete(store: Store, note_id: int) -> None:
    store.notes.pop(f"note/{note_id}", None)


def delete_first(store: Store, note_id: int) -> None:
    if f"note/{note_id}" in store.notes:
        del store.notes[min(store.notes)]


def delete_last(store: Store, note_id: int) -> None:
    if f"note/{note_id}" in store.notes:
        del store.notes[max(store.notes)]


async def arrange_by_parameter(store: Store, note_id: int = 5) -> dict[str, Any]:
    return {"note_id": store.add(note_id)}


async def arrange_by_counting(store: Store) -> dict[str, Any]:
    return {"note_id": store.add()}


async def add_sibling(store: Store) -> None:
    store.add(9)


async def arrange_by_declaration(store: Store) -> Case:
    return Case({"note_id": store.add(5)}, sibling=add_sibling)


async def arrange_alone(store: Store) -> dict[str, Any]:
    return {"note_id": store.add(5)}


ARRANGED = [arrange_by_parameter, arrange_by_counting, arrange_by_declaration]


@pytest.mark.parametrize("arrange", ARRANGED)
async def test_a_true_tool_passes(
    tmp_path: Path, arrange: Callable[..., Awaitable[Any]]
) -> None:
    suite = StubSuite(tmp_path, arrange, delete)
    await suite.prove()
    assert suite.notes == []


@pytest.mark.parametrize("arrange", ARRANGED)
async def test_a_tool_that_deletes_the_sibling_is_found(
    tmp_path: Path, arrange: Callable[..., Awaitable[Any]]
) -> None:
    with pytest.raises(
        pytest.fail.Exception, match="with a second record it also changed"
    ):
        await StubSuite(tmp_path, arrange, delete_last).prove()


async def test_a_parameter_gives_siblings_on_both_sides(tmp_path: Path) -> None:
    with pytest.raises(
        pytest.fail.Exception, match="with a second record it also changed"
    ):
        await StubSuite(tmp_path, arrange_by_parameter, delete_first).prove()


async def test_without_a_sibling_the_run_says_so(tmp_path: Path) -> None:
    suite = StubSuite(tmp_path, arrange_alone, delete_last)
    await suite.prove()
    assert suite.notes == [
        "delete_note: no second record could be prepared; give arrange() a parameter note_id with a default, "
        "or return Case(..., sibling=...)"
    ]


async def test_a_sibling_that_changes_the_authors_record_is_none(
    tmp_path: Path,
) -> None:
    async def spoil(store: Store) -> None:
        store.notes["note/5"] = {"id": 5, "text": "b"}

    async def arrange(store: Store) -> Case:
        return Case({"note_id": store.add(5)}, sibling=spoil)

    suite = StubSuite(tmp_path, arrange, delete)
    await suite.prove()
    assert "no second record could be prepared" in suite.notes[0]


@pytest.mark.parametrize(
    ("identity", "problem"),
    [
        ("", "it also changed"),
        ("text", ""),
    ],
)
async def test_a_case_says_which_argument_names_the_record(
    tmp_path: Path, identity: str, problem: str
) -> None:
    """Without that word, `note_id` would name a record that the call does not touch."""

    async def arrange(store: Store) -> Case:
        store.notes["a"] = {"text": "a"}
        store.notes["1"] = {"text": "b"}
        return Case({"note_id": 1, "text": "a"}, identity=identity or [])

    def delete_by_text(store: Store, note_id: int, text: str = "") -> None:
        store.notes.pop(text, None)

    suite = StubSuite(tmp_path, arrange, delete_by_text, text={"type": "string"})
    if problem:
        with pytest.raises(pytest.fail.Exception, match=problem):
            await suite.prove()
    else:
        await suite.prove()


@pytest.mark.parametrize("is_open", [True, False])
async def test_a_closed_world_opens_no_connection(
    tmp_path: Path, is_open: bool
) -> None:
    def delete_and_tell(store: Store, note_id: int) -> None:
        store.notes.pop(f"note/{note_id}", None)
        with socket.socket() as closed, contextlib.suppress(OSError):
            closed.connect(("127.0.0.1", 9))

    suite = StubSuite(tmp_path, arrange_by_parameter, delete_and_tell)
    suite.truth["open_world"] = is_open
    if is_open:
        await suite.prove()
        return
    words = (
        "it says open_world=False, but connected to 127.0.0.1:9; .*closed-world-proven"
    )
    with pytest.raises(pytest.fail.Exception, match=words):
        await suite.prove()


async def test_a_tool_that_writes_before_its_last_question_is_found(
    tmp_path: Path,
) -> None:
    """In each era: where the body runs again it would write twice."""

    def delete_and_ask(store: Store, note_id: int) -> Iterator[str]:
        yield "asks"
        store.notes.pop(f"note/{note_id}", None)
        yield "asks"

    with pytest.raises(
        pytest.fail.Exception, match="before its last question it removed note/5; ask"
    ):
        await StubSuite(tmp_path, arrange_by_parameter, delete_and_ask).prove()

    def ask_and_delete(store: Store, note_id: int) -> Iterator[str]:
        yield "asks"
        store.notes.pop(f"note/{note_id}", None)

    suite = StubSuite(tmp_path, arrange_by_parameter, ask_and_delete)
    await suite.prove()
    assert suite.on_question is None


async def ask_through_client(ctx: Any) -> None:
    await ctx.elicit("Which?", str)


async def ask_through_policy(ctx: Any, ask: Any) -> None:
    await ask(ctx, "Which?")


async def test_elicit_in_a_body_is_a_finding_that_names_ask(tmp_path: Path) -> None:
    suite = StubSuite(tmp_path, arrange_by_parameter, delete)
    suite.served["delete_note"].fn = ask_through_policy
    await suite.prove()
    suite.served["delete_note"].fn = ask_through_client
    with pytest.raises(pytest.fail.Exception, match="use `ask` from the policy"):
        await suite.prove()


async def test_an_exception_missing_in_the_lock_is_found(tmp_path: Path) -> None:
    """As where a helper in another file decides what a probe leaves out."""

    async def arrange(store: Store, note_id: int = 5) -> Case:
        return Case({"note_id": store.add(note_id)}, loses=["draft/1"])

    suite = StubSuite(tmp_path, arrange, delete)
    with pytest.raises(pytest.fail.Exception, match="a case may lose draft/1 unseen"):
        await suite.prove()
    suite.proof = {"loses": ["draft/*"], "outside": {}}
    await suite.prove()
    suite.module.outside = {"usage": "why"}
    with pytest.raises(pytest.fail.Exception, match="outside names usage unseen"):
        await suite.prove()


@pytest.mark.parametrize("name", ["outside", "effects"])
@pytest.mark.parametrize("kind", [list, set, tuple])
async def test_names_that_the_lock_does_not_show_are_found_in_any_collection(
    tmp_path: Path,
    name: str,
    kind: Callable[[list[str]], Any],
) -> None:
    """As where a probe imports them from another module."""
    suite = StubSuite(tmp_path, arrange_by_parameter, delete)
    setattr(suite.module, name, kind(["note"]))
    with pytest.raises(pytest.fail.Exception, match=f"{name} names note unseen"):
        await suite.prove()


async def test_a_replaced_function_is_found_where_the_lock_does_not_show_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A tool that gets another backend changes nothing that snapshot() shows."""
    module = ModuleType("tool_of_notes")
    module.__file__ = str(tmp_path / "src/tool.py")
    exec("def backend(): ...", vars(module))
    vars(module)["backend"].__module__ = Store.__module__
    monkeypatch.setitem(sys.modules, "tool_of_notes", module)

    async def arrange(store: Store, note_id: int = 5) -> dict[str, Any]:
        vars(module)["backend"] = Store
        return await arrange_by_parameter(store, note_id)

    suite = StubSuite(tmp_path, arrange, delete)
    suite.module_state = ModuleState(tmp_path / "src")
    words = r"replaced backend\(\) of the backend unseen"
    with pytest.raises(pytest.fail.Exception, match=words):
        await suite.prove()


async def test_a_replaced_method_is_found_where_the_lock_does_not_show_it(
    tmp_path: Path,
) -> None:
    async def show_nothing() -> dict[str, Any]:
        return {}

    async def arrange(store: Store, note_id: int = 5) -> dict[str, Any]:
        store.snapshot = show_nothing  # type: ignore[method-assign]
        return {"note_id": store.add(note_id)}

    suite = StubSuite(tmp_path, arrange, delete)
    with pytest.raises(pytest.fail.Exception, match=r"replaced snapshot\(\) of the"):
        await suite.prove()


def test_warnings_of_libraries_are_notes() -> None:
    notes: list[str] = []
    suite: Any = SimpleNamespace(
        project=SimpleNamespace(package="notes_mcp"), note=notes.append
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with Suite.noting_warnings(suite, "get_note"):
            warn_from("some_library.client")
            warn_from("fastmcp.server.context", CLIENT_LOGGING)
        assert notes[0] == "get_note: a library warns: old (DeprecationWarning)"
        assert notes[1].endswith(LOGGING_REMEDY)
        with (
            pytest.raises(DeprecationWarning),
            Suite.noting_warnings(suite, "get_note"),
        ):
            warn_from("notes_mcp.tools.get_note")


def warn_from(module: str, text: str = "old") -> None:
    code = f"import warnings\nwarnings.warn({text!r}, DeprecationWarning, stacklevel=1)"
    exec(code, {"__name__": module})

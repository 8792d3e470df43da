"""Resources, templates and prompts are read with and without optional arguments, and with other values."""

import contextlib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from fastmcp import Client, FastMCP

from copier_fastmcp_engine.testing.backend import Backend
from copier_fastmcp_engine.testing.plugin.components import ComponentProof
from copier_fastmcp_engine.testing.plugin.module_state import ModuleState

from .test_probe import TABLES, Store

pytestmark = pytest.mark.anyio


class ServedSuite:
    """What the proof of components asks of its suite."""

    def __init__(self, folder: Path) -> None:
        """Serve nothing yet."""
        self.server: FastMCP[Any] = FastMCP("notes")
        self.store = Store()
        self.tables = TABLES
        self.notes: list[str] = []
        self.project = SimpleNamespace(connect=self.connect, source=folder)
        self.proven_tools = [SimpleNamespace(name="read_note")]
        self.module_state = ModuleState(folder)
        self.components: Any = None

    def connect(self) -> Backend:
        self.store = Store()
        return Backend(self.store)

    def find_probe_module(self, name: str) -> Any:
        async def arrange(store: Store) -> dict[str, Any]:
            return {"note_id": store.add(5)}

        is_probe = name.startswith("test_")
        return SimpleNamespace(arrange=arrange) if is_probe else self.components

    def noting_warnings(self, _: str) -> Any:
        return contextlib.nullcontext()

    def watching_calls(self) -> Any:
        return contextlib.nullcontext([])

    def writes(self, _: Any) -> bool:
        return False

    def note(self, text: str) -> None:
        self.notes.append(text)

    async def find_problems(self) -> list[str]:
        suite: Any = self
        async with Client(self.server) as client:
            return await ComponentProof(suite).find_problems(client)


@pytest.fixture
def suite(tmp_path: Path) -> ServedSuite:
    """A suite whose server serves nothing yet."""
    return ServedSuite(tmp_path)


async def test_a_prompt_that_writes_without_an_optional_argument_is_found(
    suite: ServedSuite,
) -> None:
    @suite.server.prompt
    def summarize(note_id: str, keep: str = "") -> str:
        if not keep:
            suite.store.notes["summary"] = {"id": 9}
        return note_id

    (problem,) = await suite.find_problems()
    assert problem.startswith("prompt summarize: reading it changed")


async def test_a_prompt_that_writes_with_an_optional_argument_is_found(
    suite: ServedSuite,
) -> None:
    @suite.server.prompt
    def summarize(note_id: str, keep: str = "") -> str:
        if keep:
            suite.store.notes["summary"] = {"id": 9}
        return note_id

    (problem,) = await suite.find_problems()
    assert problem.startswith("prompt summarize: with keep reading it changed")


@pytest.mark.parametrize("value", ["5", "59999"])
async def test_a_template_that_writes_for_a_value_is_found(
    suite: ServedSuite, value: str
) -> None:
    @suite.server.resource("notes://{note_id}")
    def read(note_id: str) -> str:
        if note_id == value:
            suite.store.notes["read"] = {"id": 9}
        return note_id

    (problem,) = await suite.find_problems()
    assert "reading it changed read.id" in problem


async def test_a_template_that_writes_with_a_parameter_of_the_query_is_found(
    suite: ServedSuite,
) -> None:
    @suite.server.resource("notes://{note_id}{?mark}")
    def read(note_id: str, mark: str = "") -> str:
        if mark:
            suite.store.notes["read"] = {"id": 9}
        return note_id

    (problem,) = await suite.find_problems()
    assert problem.startswith("notes://{note_id}{?mark}: with mark reading it changed")


async def test_components_that_only_read_pass_without_a_note(
    suite: ServedSuite,
) -> None:
    @suite.server.resource("notes://{note_id}{?limit}")
    def read(note_id: int, limit: int = 5) -> str:
        return str(suite.store.notes[f"note/{note_id}"])[:limit]

    @suite.server.prompt
    def summarize(note_id: str, keep: str = "") -> str:
        return note_id + keep

    @suite.server.resource("notes://all")
    def read_all() -> str:
        return str(suite.store.notes)

    assert await suite.find_problems() == []
    assert suite.notes == []


async def test_an_unprobed_component_is_a_note(suite: ServedSuite) -> None:
    @suite.server.prompt
    def summarize(keep: str = "") -> str:
        suite.store.notes["summary"] = {"id": 9}
        return keep

    suite.components = SimpleNamespace(unprobed={"prompt summarize": "why"})
    assert await suite.find_problems() == []
    assert suite.notes == ["prompt summarize is unprobed: why"]

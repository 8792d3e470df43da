"""What an owner writes in a probe, and what the suite says where one is missing, old or given up."""

import json
import shutil
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from support import PYTEST, pin, python

TOOLS = '''
"""Mine."""

from typing import Annotated

from fastmcp.utilities.types import Image
from pydantic import BaseModel, Field

from ..backend import backend
from ..policy import delete, put, read

Id = Annotated[int, Field(description="Which one.")]


class Mine(BaseModel):
    """What each answers."""

    ok: bool = Field(description="Whether it is.")


@read(title="Get Picture")
async def get_picture(note_id: Id) -> Image:
    """Get a picture."""
    return Image(data=b"x", format="png")


@read(title="Get Bytes")
async def get_bytes(note_id: Id) -> bytes:
    """Get bytes."""
    return b"x"


@read(title="Get Counted")
async def get_counted(note_id: Id) -> Mine:
    """Get a note."""
    await backend().create("usage", {})
    return Mine(ok=True)


@read(title="Get Queued")
async def get_queued(note_id: Id) -> Mine:
    """Get a note."""
    QUEUE.append(note_id)
    return Mine(ok=True)


@delete(title="Delete Both", why="It deletes a note and its draft.")
async def delete_both(note_id: Id) -> Mine:
    """Delete a note and its draft."""
    await backend().delete("note", note_id)
    await backend().delete("draft", 9)
    return Mine(ok=True)


@delete(title="Delete Draft", why="It deletes more than it says.")
async def delete_draft(note_id: Id) -> Mine:
    """Delete a note."""
    return await delete_both(note_id)


@put(title="Set Nothing", why="It sets a flag.")
async def set_nothing(note_id: Id) -> Mine:
    """Set a flag."""
    await backend().put("note", note_id, {"flag": True})
    return Mine(ok=True)


QUEUE: list[int] = []
'''
DATA = """
    await backend.create("note", {"title": "x"}, id=1)
    await backend.create("draft", {"title": "y"}, id=9)
"""
PROBES = {
    "get_picture": 'return [{"note_id": 1}, {"note_id": 2}]',
    "get_bytes": 'return {"note_id": 1}',
    "get_counted": 'return {"note_id": 1}\n\n\noutside = {"usage": "no user sees it"}',
    "get_queued": 'return {"note_id": 1}\n\n\nasync def outside(backend):\n'
    "    from notes_mcp.tools.mine import QUEUE\n    return {'queue': {'all': QUEUE}}",
    "delete_both": 'return Case({"note_id": 1}, loses=["draft/9"])',
    "delete_draft": 'return {"note_id": 1}',
    "search_notes": 'return {"words": "x"}',
    "delete_note": "return {}",
    "old": "return {}",
}
SAYS = {
    "get_queued": "get_queued: it says read-only, but a call changed outside/queue",
    "delete_draft": "delete_draft: it also changed draft/9.title, which note_id=1 does not name",
    "set_nothing": "set_nothing: it may lose what is there, but arrange() prepares nothing to lose",
    "search_notes": "search_notes: arrange() in tests/tools/test_search_notes.py still passes words",
    "delete_note": "delete_note: arrange() in tests/tools/test_delete_note.py does not pass note_id",
    "get_note": "get_note: it has no probe in tests/tools/test_get_note.py; write `async def arrange",
    "test_every_probe_has_its_tool": "tests/tools/test_old.py is of no tool; delete or rename it",
    "test_the_lock_pins_every_hint_and_gate": "append_note: RELAXED: it was proven by its probe",
}


@pytest.fixture(scope="module")
def mine(project: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with tools of mine, pinned before one of its probes is given up."""
    mine = Path(shutil.copytree(project, tmp_path_factory.mktemp("probes") / "mine"))
    (mine / "src/notes_mcp/tools/mine.py").write_text(TOOLS.lstrip(), encoding="utf-8")
    head = "from ..policy.cases import Case\n\n\nasync def arrange(backend):"
    for name, text in PROBES.items():
        (mine / f"tests/tools/test_{name}.py").write_text(f"{head}{DATA}    {text}\n")
    empty = 'async def arrange(backend):\n    return {"note_id": 1}\n'
    (mine / "tests/tools/test_set_nothing.py").write_text(empty)
    pin(mine, "--released")
    (mine / "tests/tools/test_append_note.py").write_text(
        'unprobed = "it takes too long"\n'
    )
    (mine / "tests/tools/test_get_note.py").write_text(empty.removeprefix("async "))
    return mine


def test_what_a_probe_says_is_taken_at_its_word(mine: Path) -> None:
    files = ["tests/policy/test_annotations.py", "tests/policy/test_behavior.py"]
    python(mine, *PYTEST, f"--junitxml={mine / 'report.xml'}", *files)
    messages: dict[str, str] = {}
    for case in ET.parse(mine / "report.xml").iter("testcase"):
        for failure in case.findall("failure"):
            name = case.attrib["name"]
            tool = name
            if "[" in name:
                tool = name.rpartition("[")[2].rstrip("]").rpartition("-")[2]
            messages[tool] = (failure.text or "").removeprefix("Failed: ")
    assert messages.keys() == SAYS.keys()
    for tool, message in messages.items():
        assert message.startswith(SAYS[tool]), tool


def test_a_file_without_a_decorator_is_one_line(mine: Path) -> None:
    path = mine / "src/notes_mcp/tools/plain.py"
    path.write_text('"""Plain."""\n')
    done = python(mine, *PYTEST, "tests/policy/test_annotations.py")
    path.unlink()
    lines = (done.stdout + done.stderr).strip().splitlines()
    assert [line.partition(": ")[2] for line in lines] == [
        "declares no tool; decorate one, or begin the file name with _"
    ]
    assert done.returncode == 1


def test_the_lock_says_which_tools_are_proven(mine: Path) -> None:
    tools = json.loads((mine / "annotations.lock.json").read_text(encoding="utf-8"))[
        "tools"
    ]
    assert {tool["probed"] for tool in tools.values()} == {True}


SAMPLING = '''\
"""Get Summary."""

from fastmcp import Context
from mcp_types import SamplingMessage, TextContent
from pydantic import BaseModel, Field

from ..policy import read


class Summary(BaseModel):
    """What the client's model answers."""

    text: str = Field(description="The summary.")


@read(title="Get Summary")
async def get_summary(ctx: Context) -> Summary:
    """Get a summary of everything."""
    question = TextContent(type="text", text="Summarize the notes.")
    message = SamplingMessage(role="user", content=question)
    answer = await ctx.session.create_message([message], max_tokens=100)
    return Summary(text=str(answer.content))
'''
NOTHING_TO_ARRANGE = """\
async def arrange(backend: object) -> dict[str, object]:
    return {}
"""


def test_sampling_is_proven_where_the_protocol_has_it(
    project: Path, tmp_path: Path
) -> None:
    mine = shutil.copytree(project, tmp_path / "mine")
    tool = mine / "src/notes_mcp/tools/get_summary.py"
    tool.write_text(SAMPLING, encoding="utf-8")
    probe = mine / "tests/tools/test_get_summary.py"
    probe.write_text(NOTHING_TO_ARRANGE, encoding="utf-8")
    pin(mine)
    done = python(mine, *PYTEST, "tests/policy", "-k", "hints_are_true and get_summary")
    assert done.returncode == 0, done.stdout
    line = (
        "get_summary asks the client's model (sampling), which 2026-07-28 does not have"
    )
    assert done.stdout.count(line) == 1
    assert "1 passed, 1 skipped" in done.stdout

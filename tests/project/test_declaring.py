"""Functions as authors have them: with decorators above and below, plain or async, resources by hand."""

import json
import shutil
import textwrap
from pathlib import Path

import pytest
from support import python

HEAD = '''
"""Mine."""
import functools
from typing import Annotated
from pydantic import BaseModel, Field
from ..policy import delete, read, require_confirmation

Name = Annotated[str, Field(description="Which one.")]

class Answer(BaseModel):
    """Result of mine."""
    text: str = Field(description="What it says.")

def loud(function):
    @functools.wraps(function)
    async def wrapper(*args, **kwargs):
        answer = await function(*args, **kwargs)
        return Answer(text=answer.text.upper())
    return wrapper

def careless(function):
    async def wrapper(name: Name) -> Answer:
        return await function(name)
    return wrapper

def lazy(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        return function(*args, **kwargs)
    return wrapper
'''
BODY = 'async def mine(name: Name) -> Answer:\n    """Mine."""\n    return Answer(text=name)\n'
PLAIN = BODY.replace("async def", "def")
READ, DELETE = '@read(title="Mine")', '@delete(title="Mine")'
WORKS = {
    "alone": ([READ], BODY, "a"),
    "above": (["@loud", READ], BODY, "A"),
    "below": ([READ, "@loud"], BODY, "A"),
    "above and below": (["@loud", READ, "@loud"], BODY, "A"),
    "below a gate": ([DELETE, "@loud"], BODY, "A"),
    "above a gate": (["@loud", DELETE], BODY, "A"),
    "a wrapper that is not async": ([READ, "@lazy"], BODY, "a"),
    "such a wrapper below a gate": ([DELETE, "@lazy"], BODY, "a"),
    "a plain def": ([READ], PLAIN, "a"),
    "a plain def behind a gate": ([DELETE], PLAIN, "a"),
}
CALL = """
import asyncio, json
from fastmcp import Client
from fastmcp.client.elicitation import ElicitResult
from notes_mcp.server import create_server
from notes_mcp.settings import Settings

async def yes(*_):
    return ElicitResult(action="accept", content={"confirm": True})

async def main():
    async with Client(create_server(Settings(database=":memory:")), elicitation_handler=yes) as client:
        print(json.dumps((await client.call_tool("mine", {"name": "a"})).structured_content))

asyncio.run(main())
"""
START = """
from notes_mcp.engine.errors import StartError
from notes_mcp.server import create_server
from notes_mcp.settings import Settings
try:
    create_server(Settings(database=":memory:"))
except StartError as error:
    print(error)
"""


@pytest.fixture
def mine(project: Path, tmp_path: Path) -> Path:
    """A copy of the default project's source to write in."""
    shutil.copytree(project / "src", tmp_path / "src")
    return tmp_path


def write_tool(project: Path, decorators: list[str], body: str) -> Path:
    path = project / "src/notes_mcp/tools/mine.py"
    path.write_text(
        textwrap.dedent(HEAD) + "\n" + "\n".join([*decorators, body]), encoding="utf-8"
    )
    return path


@pytest.mark.parametrize("name", WORKS)
def test_other_decorators_and_plain_functions_work(mine: Path, name: str) -> None:
    decorators, body, expected = WORKS[name]
    write_tool(mine, decorators, body)
    strict = "import warnings; warnings.simplefilter('error')"
    done = python(mine, "-c", strict + CALL)
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert answer.get("result", answer) == {"text": expected}


@pytest.mark.parametrize(
    ("decorators", "extra"),
    [
        (["@careless", READ], ""),
        ([READ], "\nmine = None\n"),
        ([READ], "\n" + READ + "\n" + BODY),
    ],
    ids=["no functools.wraps above", "its name is taken", "defined twice"],
)
def test_a_declared_tool_is_never_lost_in_silence(
    mine: Path, decorators: list[str], extra: str
) -> None:
    path = write_tool(mine, decorators, BODY + extra)
    done = python(mine, "-c", START)
    assert done.stdout == (
        f"{path}: the tool mine is hidden: a decorator above it lacks functools.wraps, "
        "or its name has another value\n"
    )


def test_a_gated_function_outside_its_tool_changes_nothing(mine: Path) -> None:
    code = """
import asyncio
from notes_mcp.engine.tools import run_now
from notes_mcp.server import create_server
from notes_mcp.settings import Settings
server = create_server(Settings(database=":memory:"))
tool = run_now(server.get_tool("delete_note"))

async def main():
    from fastmcp.server.context import Context
    async with Context(fastmcp=server):
        await tool.fn(note_id=1)

asyncio.run(main())
"""
    done = python(mine, "-c", code)
    assert "a gated tool runs through its server only" in done.stderr


def test_a_resource_by_hand_works_where_none_was_answered(mine: Path) -> None:
    folder = mine / "src/notes_mcp/resources"
    folder.mkdir(exist_ok=True)
    (folder / "mine.py").write_text(
        '"""Mine."""\nfrom ..policy import resource\n\n\n'
        '@resource("mine://{name}", name="Mine", description="Mine.", mime_type="text/plain")\n'
        'async def read_mine(name: str) -> str:\n    """Read it."""\n    return name\n'
    )
    code = CALL.replace(
        'print(json.dumps((await client.call_tool("mine", {"name": "a"})).structured_content))',
        'print(json.dumps((await client.read_resource("mine://b"))[0].text))',
    )
    done = python(mine, "-c", code)
    assert done.stdout == '"b"\n', done.stderr
    (folder / "mine.py").write_text('"""Nothing."""\n')
    done = python(mine, "-c", START)
    assert done.stdout == (
        f"{folder / 'mine.py'}: declares no resource; decorate one with @resource(...)\n"
    )


@pytest.mark.nightly
def test_the_server_works_without_docstrings_and_asserts(mine: Path) -> None:
    write_tool(mine, [READ], BODY)
    done = python(mine, "-OO", "-c", CALL)
    assert json.loads(done.stdout or "{}") == {"text": "a"}, done.stderr

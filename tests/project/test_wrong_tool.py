"""What a new user gets to read who writes a tool by hand, and wrong: one line, the place and the fix."""

import json
import shutil
from pathlib import Path

import pytest
from support import PYTEST, python, server

GOOD = '''\
"""Mine."""

from typing import Annotated

from pydantic import BaseModel, Field

from ..policy import read


class Mine(BaseModel):
    """What it answers."""

    ok: bool = Field(description="Whether it is.")


@read(title="Get Mine")
async def get_mine(mine_id: Annotated[int, Field(description="The ID.")]) -> Mine:
    """Get mine."""
    return Mine(ok=True)
'''
ABOVE = '@read(title="Get Mine")'
PARAMETER = 'mine_id: Annotated[int, Field(description="The ID.")]'
# What is written instead of what -> what the terminal says after the file's path.
WRONG = {
    "nothing wrong": ("", "", None),
    "no decorator": (ABOVE, "", ": declares no tool; decorate one, or begin the file name with _"),
    "a plain function": ("async def", "def", None),
    "a class": ("async def get_mine(", "class GetMine:\n    pass\n\n\nasync def other(", " is not a function; @read goes on a `def`"),
    "a module that is not there": ("from typing", "import nosuch\nfrom typing", ":3: ModuleNotFoundError: No module named 'nosuch'; add the package that has it, as in `uv add nosuch`"),
    "a syntax error": ("return Mine", "return return Mine", ": SyntaxError: invalid syntax (get_mine.py, line 19)"),
    "a name that is not there": ("Annotated[int", "Annotated[Note", ":17: NameError: name 'Note' is not defined"),
    "no brackets": (ABOVE, "@read", ' takes 1 positional argument but 2 were given'),
    "no title": (ABOVE, "@read()", " missing 1 required keyword-only argument: 'title'"),
    "hints typed by hand": (ABOVE, '@read(title="Get", readOnlyHint=True)', " got an unexpected keyword argument 'readOnlyHint'"),
    "scopes as a text": (ABOVE, '@read(title="Get", scopes="notes:read")', ':16: TypeError: scopes is a list, as in scopes=["notes:write"]'),
    "an exception as a text": (ABOVE, '@read(title="Get", exceptions=["idempotent"])', ":16: TypeError: exception 'idempotent': write {"),
    "an exception by its wire name": (ABOVE, '@read(title="Get", exceptions=[{"hint": "openWorldHint", "value": False, "why": "x"}])', "hint is one of read_only, destructive, idempotent, open_world, confirm"),
    "any number of arguments": (PARAMETER, "*ids: int", ": ValueError: Functions with *args are not supported as tools"),
    "a name of another file": ("get_mine", "get_zebra", "/get_zebra.py: the tool get_zebra is already in "),
}  # fmt: skip
SCRIPT = """
import importlib, json, pathlib, sys
from notes_mcp import tools
from notes_mcp.engine.declarations import DECLARED
from notes_mcp.engine.errors import StartError
from notes_mcp.engine.registry import load_tools
from notes_mcp.policy import POLICY
folder, refusals = pathlib.Path(next(iter(tools.__path__))), {}
for name, text in json.loads(pathlib.Path(sys.argv[1]).read_text()).items():
    (folder / "get_mine.py").write_text(text)
    (folder / "get_zebra.py").write_text(sys.argv[2])
    for module in ("get_mine", "get_zebra"):
        sys.modules.pop("notes_mcp.tools." + module, None)
        DECLARED.pop("notes_mcp.tools." + module, None)
    importlib.invalidate_caches()
    load_tools.cache_clear()
    try:
        load_tools(POLICY, "notes_mcp.tools")
        refusals[name] = None
    except StartError as error:
        refusals[name] = str(error)
print(json.dumps(refusals))
"""


@pytest.fixture(scope="module")
def refusals(
    project: Path, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, str | None]:
    """What each wrong file made the start say."""
    mine = shutil.copytree(project, tmp_path_factory.mktemp("wrong") / "mine")
    texts = {}
    for name, (old, new, _) in WRONG.items():
        texts[name] = GOOD.replace(old, new) if old else GOOD
    assert all(text != GOOD for name, text in texts.items() if name != "nothing wrong")
    (mine / "texts.json").write_text(json.dumps(texts))
    done = python(
        mine, "-c", SCRIPT, "texts.json", GOOD.replace("get_mine", "get_zebra")
    )
    assert done.returncode == 0, done.stderr
    lines: dict[str, str | None] = json.loads(done.stdout)
    return lines


@pytest.mark.parametrize("name", WRONG)
def test_one_line_says_what_to_change(
    name: str, refusals: dict[str, str | None]
) -> None:
    line, expected = refusals[name], WRONG[name][2]
    if expected is None or line is None:
        assert line == expected
    else:
        assert "\n" not in line
        assert "/src/notes_mcp/tools/get_" in line
        assert expected in line


def test_a_finding_comes_before_the_traceback_of_a_dependency(
    project: Path, tmp_path: Path
) -> None:
    mine = shutil.copytree(project, tmp_path / "mine")
    tool = mine / "src/notes_mcp/tools/get_note.py"
    text = tool.read_text(encoding="utf-8")
    call = "    result = await backend()"
    assert call in text
    broken = '    import json\n\n    json.loads("{")\n' + call
    tool.write_text(text.replace(call, broken), encoding="utf-8")
    done = python(mine, *PYTEST, "tests/policy", "-k", "hints_are_true and get_note")
    assert done.returncode == 1
    finding = done.stdout.index("(probe-present)")
    assert finding < done.stdout.index("Traceback")


def test_a_server_without_tools_starts(project: Path, tmp_path: Path) -> None:
    """Git keeps no empty folder, so that of a server with resources alone is gone in a fresh clone."""
    mine = shutil.copytree(project, tmp_path / "mine")
    shutil.rmtree(mine / "src/notes_mcp/tools")
    listed = server(mine, "tools", "list", "--json")
    assert (listed.returncode, json.loads(listed.stdout)) == (0, []), listed.stderr

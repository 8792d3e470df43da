"""Calls that are known to change nothing, each next to one that differs in one thing and may."""

from pathlib import Path

import pytest
from adopting.test_cautious import propose
from adopting.test_needless_questions import FETCH, READ

# The body of a read that needs no question, and the same body with a question.
CALLS = {
    "the text of an exception": (
        f"import traceback\n    traceback.format_exc()\n    {FETCH}",
        f"import drives\n    drives.format_exc()\n    {FETCH}",
    ),
    "a model as a text": (
        f"import pydantic_core\n    pydantic_core.to_json(it)\n    {FETCH}",
        f"import sheets\n    sheets.to_json(it)\n    {FETCH}",
    ),
    "a frame with a new index": (
        "rows = sdk.load(it)\n    return rows.sort_values('year').reset_index(drop=True)",
        "rows = sdk.load(it)\n    return rows.sort_values('year').reset_counter(drop=True)",
    ),
    "a factory of clients": (
        "note_client = client_factory.create_note_client()\n    return note_client.get_note(it)",
        "note_client = crm.create_note_client()\n    return note_client.get_note(it)",
    ),
    "a tool of another server that reads": (
        "return remote.call_tool('list_entries', {'it': it})",
        "return remote.call_tool('append_entry', {'it': it})",
    ),
    "a reference of git that is read": (
        "return subprocess.run(['git', 'symbolic-ref', '--short', 'HEAD'], cwd=it)",
        "return subprocess.run(['git', 'symbolic-ref', 'HEAD', 'refs/heads/a'], cwd=it)",
    ),
    "git in another folder": (
        "return subprocess.run(['git', '-C', it, 'status'])",
        "return subprocess.run(['git', '-C', it, 'gc'])",
    ),
    "a command with a local name that more is added to": (
        "command = ['git', 'log']\n    command.append(it)\n    return subprocess.run(command)",
        "command = ['git', 'symbolic-ref', 'HEAD']\n    command.append(it)\n    return subprocess.run(command)",
    ),
    "a command with a local name": (
        "command = ['git', 'log', it]\n    return subprocess.run(command)",
        "command = ['git', 'log', it]\n    command = [it]\n    return subprocess.run(command)",
    ),
    "a command with a local name that is spread": (
        "command = ['head', it]\n    return asyncio.create_subprocess_exec(*command)",
        "command = ['rm', it]\n    return asyncio.create_subprocess_exec(*command)",
    ),
}


@pytest.mark.parametrize(("clear", "doubtful"), CALLS.values(), ids=CALLS)
def test_a_call_that_changes_nothing_is_no_question(
    clear: str, doubtful: str, tmp_path: Path
) -> None:
    proposal = propose(tmp_path, READ + clear)
    assert (proposal.behavior, proposal.asked) == ("read", "")
    assert propose(tmp_path, READ + doubtful).asked


OWNED = (
    "class Shelf:\n    def __init__(self):\n        self._rows = {}\n\n"
    "    def put(self, key, value):\n        self._rows[key] = value\n\n\n"
    "class Library:\n    def __init__(self):\n        self.shelf = Shelf()\n\n"
    "    def load(self, key):\n        self.shelf.put(key, key)\n        return self.shelf\n\n\n"
    "@mcp.tool"
)
LOADS = READ + "library = Library()\n    return library.load(it)"


def test_what_an_object_of_the_call_holds_ends_with_the_call(tmp_path: Path) -> None:
    assert propose(tmp_path, LOADS, OWNED).asked == ""


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("self.shelf = Shelf()\n", "self.shelf = SHELF\n"),
        (
            "        return self.shelf",
            "        self.shelf = STORES[key]\n        return 1",
        ),
        ("class Shelf:\n", "class Shelf:\n    def __new__(cls): return ONE\n\n"),
    ],
)
def test_what_an_object_of_the_call_shares_is_kept(
    old: str, new: str, tmp_path: Path
) -> None:
    assert old in OWNED
    assert propose(tmp_path, LOADS, OWNED.replace(old, new)).asked


def test_a_result_of_the_protocol_computes(tmp_path: Path) -> None:
    head = (
        "from mcp.types import TextContent\nfrom sdk import LogContent\n\n\n@mcp.tool"
    )
    tool = (
        'def estimate_note(it: int) -> list:\n    """Predict the length of a note."""\n'
        "    return [TextContent(type='text', text=str(it * 2))]"
    )
    assert propose(tmp_path, tool, head).asked == ""
    assert propose(tmp_path, tool.replace("Text", "Log"), head).asked


@pytest.mark.parametrize(
    ("keyword", "asked"), [("", False), (", dirs_exist_ok=True", True)]
)
def test_a_folder_is_copied_to_where_none_is(
    keyword: str, asked: bool, tmp_path: Path
) -> None:
    tool = f'def create_copy(it: str, to: str) -> str:\n    """Create a copy."""\n    return shutil.copytree(it, to{keyword})'
    proposal = propose(tmp_path, tool)
    assert bool(proposal.asked) is asked
    assert proposal.behavior == ("put" if asked else "create")


@pytest.mark.parametrize(
    ("name", "behavior"), [("spin", "create"), ("generate_fix_prompt", "read")]
)
def test_words_that_were_taken_for_another_verb(
    name: str, behavior: str, tmp_path: Path
) -> None:
    tool = f'def {name}(it: str) -> str:\n    """Build a text."""\n    return Path(it).read_text()'
    if name == "spin":
        tool = f'def {name}(it: str) -> str:\n    """Spawn a worker."""\n    return sdk.go(it)'
    assert propose(tmp_path, tool).behavior == behavior


UNCLEAR = "def orchard_harvest(it: str) -> str:\n    {docstring}return sdk(it)"


@pytest.mark.parametrize(
    "docstring", ["", '"""Read the notes."""\n    set_it(it)\n    ']
)
def test_what_its_author_marks_as_a_write_is_no_question(
    docstring: str, tmp_path: Path
) -> None:
    head = "from conf import set_it\n\n\n@mcp.tool"
    tool = UNCLEAR.format(docstring=docstring)
    assert propose(tmp_path, tool, head).asked
    for mark in ("(tags={'write'})", '(annotations={"readOnlyHint": False})'):
        proposal = propose(tmp_path, tool, head + mark)
        assert (proposal.behavior, proposal.asked) == ("action", "")
    assert propose(tmp_path, tool, f"{head}(tags={{'write', 'read'}})").asked


def test_a_tag_that_says_write_is_never_read_over(tmp_path: Path) -> None:
    tool = (
        f'def orchard_harvest(it: str) -> dict:\n    """Scan the notes."""\n    {FETCH}'
    )
    assert propose(tmp_path, tool).behavior == "read"
    assert propose(tmp_path, tool, "@mcp.tool(tags={'write'})").asked

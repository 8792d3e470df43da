"""`remove` and `rename`: a tool goes, or gets another name, with all that is its own, or not at all."""

import ast
import json
import re
from pathlib import Path

import pytest
from calling import call, uv_settings
from lifecycle import SRC, bytes_of, commit, list_own_changes, load_answers
from support import git, server

from copier_fastmcp.rename import add_alias, rename_title
from copier_fastmcp.updates.tool_imports import Moved, rename_imports

GONE = {
    ".copier-answers.yml",
    "annotations.lock.json",
    "docs/tools.md",
    SRC + "tools/delete_note.py",
    "tests/tools/test_delete_note.py",
}


def test_nothing_of_it_is_left(mine: Path) -> None:
    done = call(mine, "remove", "--here", "--trust", "delete_note", **uv_settings(mine))
    assert done.returncode == 0, done.stdout + done.stderr
    assert list_own_changes(mine) == GONE
    assert load_answers(mine)["tools"] == ["get_note"]
    assert "delete_note" not in (mine / "annotations.lock.json").read_text()
    served_names = []
    for row in json.loads(server(mine, "tools", "list", "--json").stdout):
        served_names.append(row["name"])
    assert served_names == ["get_note"]


def test_a_tool_by_hand_and_who_still_names_it(mine: Path) -> None:
    """No answer names it, so Copier has nothing to do, and no trust is needed."""
    text = (mine / SRC / "tools/get_note.py").read_text()
    by_hand = text.replace("get_note", "find_note").replace("Get Note", "Find Note")
    (mine / SRC / "tools/mine.py").write_text(by_hand.replace("GetNote", "FindNote"))
    (mine / "docs/adr/mine.md").write_text("# Why\n\nWe have find_note.\n")
    commit(mine)
    before = load_answers(mine)
    files = bytes_of(mine)
    done = call(mine, "remove", "find_note", "--json", **uv_settings(mine))
    assert done.returncode == 1, done.stderr
    report = json.loads(done.stdout)
    assert report["deleted"] == [SRC + "tools/mine.py"]
    assert report["named"] == ["docs/adr/mine.md:3"]
    assert bytes_of(mine) == files, "the change is on a branch"
    git(mine, "merge", "--quiet", report["branch"])
    assert load_answers(mine) == before
    assert not (mine / SRC / "tools/mine.py").exists()


def test_a_tool_that_another_file_needs_is_kept(mine: Path) -> None:
    helper = mine / SRC / "tools/get_note.py"
    text = helper.read_text()
    line = "from .delete_note import delete_note\n"
    helper.write_text(text.replace("from ..policy", f"{line}from ..policy", 1))
    commit(mine)
    before = bytes_of(mine)
    done = call(mine, "remove", "delete_note", **uv_settings(mine))
    assert done.returncode == 1
    assert (
        f"{SRC}tools/get_note.py imports from {SRC}tools/delete_note.py" in done.stderr
    )
    assert len(done.stderr.splitlines()) == 1
    assert bytes_of(mine) == before


def test_what_is_refused_changes_nothing(mine: Path) -> None:
    path = mine / SRC / "tools/get_note.py"
    extra = '\n\n@read(title="See Note")\nasync def see_note() -> GetNoteResult:\n    """See."""\n'
    path.write_text(path.read_text() + extra + "    raise NotImplementedError\n")
    commit(mine)
    before = bytes_of(mine)
    cases = {
        "no_such": "no_such is not a tool of this server",
        "get_note": "get_note.py holds get_note and see_note; take get_note out of it by hand",
    }
    for name, message in cases.items():
        done = call(mine, "remove", "--trust", name)
        assert (done.returncode, done.stdout) == (1, "")
        assert message in done.stderr
    assert bytes_of(mine) == before


def test_a_tool_that_is_not_committed_is_said_to_be_that(mine: Path) -> None:
    path = mine / SRC / "tools/mine.py"
    text = (mine / SRC / "tools/get_note.py").read_text()
    path.write_text(text.replace("get_note", "see_note"))
    for words in (["remove", "see_note"], ["rename", "see_note", "view_note"]):
        done = call(mine, *words)
        assert (done.returncode, done.stdout) == (1, "")
        expected = f"see_note in {SRC}tools/mine.py is not committed; commit it first\n"
        assert done.stderr.endswith(expected)


def test_a_file_in_progress_does_not_matter(mine: Path) -> None:
    (mine / SRC / "tools/mine.py").write_text("def unfinished(\n")
    words = ["rename", "--trust", "get_note", "see_note"]
    done = call(mine, *words, **uv_settings(mine))
    assert "is not Python" not in done.stderr
    assert "Rename the tool get_note" in git(mine, "log", "--all", "--format=%s")


@pytest.mark.parametrize(
    ("new", "problem"),
    [
        ("import", "'import' is a word of Python, .*; write it as import_note"),
        ("delete_note", "'delete_note' is taken; choose another name"),
        ("Bad Name", "'Bad Name' is not a name for a tool; write it as archive_note"),
    ],
)
def test_a_name_that_cannot_be_used_is_one_line(
    mine: Path, new: str, problem: str
) -> None:
    before = bytes_of(mine)
    done = call(mine, "rename", "get_note", new)
    assert (done.returncode, done.stdout) == (1, "")
    assert re.fullmatch(f"copier-fastmcp: {problem}\n", done.stderr)
    assert bytes_of(mine) == before


@pytest.mark.parametrize(
    ("title", "expected"),
    [
        ("Get Note", "Read Note"),
        ("Get note", "Read note"),
        ("Get a Note", "Get a Note"),
        ("Note", "Note"),
    ],
)
def test_a_title_that_is_the_old_name_follows(title: str, expected: str) -> None:
    text = f'"""{title}."""\n\n\n@read(title="{title}")\nasync def get_note(): ...\n'
    renamed = rename_title(text, "get_note", "read_note")
    assert f'title="{expected}"' in renamed
    assert renamed.startswith(f'"""{expected}."""')


def test_another_name_everywhere(mine: Path) -> None:
    """The body that its owner wrote and the behavior stay, though the new verb is unknown."""
    path = mine / SRC / "tools/delete_note.py"
    path.write_text(path.read_text() + "\n\n# mine, of delete_note\n")
    commit(mine)
    words = ("rename", "--here", "--trust")
    done = call(mine, *words, "delete_note", "scrap_note", **uv_settings(mine))
    assert done.returncode == 0, done.stdout + done.stderr
    new = {SRC + "tools/scrap_note.py", "tests/tools/test_scrap_note.py"}
    assert list_own_changes(mine) == GONE | new
    entry = {"name": "scrap_note", "behavior": "delete", "formerly": ["delete_note"]}
    assert load_answers(mine)["tools"] == ["get_note", entry]
    assert "delete_note still answers\n" in done.stdout
    lock = json.loads((mine / "annotations.lock.json").read_text())["tools"]
    assert lock["scrap_note"]["formerly"] == ["delete_note"]
    text = (mine / SRC / "tools/scrap_note.py").read_text()
    assert "async def scrap_note(" in text
    assert "-> ScrapNoteResult:" in text
    assert text.startswith('"""Scrap Note."""')
    assert '@delete(title="Scrap Note", ' in text.replace("(\n    ", "(").replace(
        ",\n    ", ", "
    )
    assert text.endswith("# mine, of scrap_note\n")
    commit(mine)
    assert text.count('formerly=["delete_note"]') == 1
    back = call(
        mine, *words, "scrap_note", "delete_note", "--forget", **uv_settings(mine)
    )
    assert back.returncode == 1, back.stdout + back.stderr
    second = call(mine, "rename", "scrap_note", "get_note")
    assert (second.returncode, second.stdout) == (1, "")
    assert "'get_note' is taken" in second.stderr
    assert call(mine, "drift").returncode == 0


IMPORTS = {
    "from .get_note import count": "from .read_note import count",
    "from .get_note import (\n    count,\n    get_note,\n)": "from .read_note import (\n    count,\n    read_note as get_note,\n)",
    "from .get_note import get_note as get": "from .read_note import read_note as get",
    "from . import get_note, tag": "from . import read_note as get_note, tag",
    "from notes_mcp.tools.get_note import GetNoteResult": "from notes_mcp.tools.read_note import ReadNoteResult as GetNoteResult",
    "from ..tools.get_note import *": "from ..tools.read_note import *",
    "from ..other.get_note import get_note": None,
    "from .get_notes import get_note": None,
    "get_note = 1  # ä": None,
}


@pytest.mark.parametrize("line", IMPORTS)
def test_an_import_follows_a_renamed_tool(line: str) -> None:
    """Under the name that the rest of the file uses."""
    moved = Moved("notes_mcp.tools", "get_note", "read_note", is_file=True)
    text = f'"""Ä."""\n\n{line}\nx = get_note  # stays\n'
    renamed = rename_imports(text, "notes_mcp.tools.count_note", moved)
    assert renamed == text.replace(line, IMPORTS[line] or line)
    ast.parse(renamed)


@pytest.mark.nightly  # the rows above cover the imports
def test_a_tool_that_another_file_imports(mine: Path) -> None:
    path = mine / SRC / "tools/delete_note.py"
    path.write_text(path.read_text() + "\n\nSHARED = 1\n")
    other = mine / SRC / "tools/get_note.py"
    text = other.read_text()
    line = "from ..policy import read\n"
    assert line in text
    other.write_text(
        text.replace(line, f"{line}from .delete_note import SHARED as SHARED\n")
    )
    commit(mine)
    words = ("rename", "--here", "--trust", "delete_note", "scrap_note")
    done = call(mine, *words, **uv_settings(mine))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "from .scrap_note import SHARED as SHARED\n" in other.read_text()
    assert f"{SRC}tools/get_note.py: edited\n" in done.stdout


LAYOUTS = {
    '@put(title="A")': '@put(title="A", formerly=["old"])',
    '@put(title="A",)': '@put(title="A", formerly=["old"],)',
    '@policy.put(\n    title="A",  # ä\n    why="(",\n)': '@policy.put(\n    title="A",  # ä\n    why="(",\n    formerly=["old"],\n)',
    '@put(\n    title="A", why="x"\n)': '@put(\n    title="A", why="x", formerly=["old"]\n)',
    '@put(formerly=("new", "first"), title="A")': '@put(formerly=["first", "old"], title="A")',
    '@put(formerly=NAMES, title="A")': None,
    "@put": None,
    "@other(1)": None,
    f'@put(title="{"A" * 60}", why="{"é" * 30}")': f'@put(\n    title="{"A" * 60}",\n    why="{"é" * 30}",\n    formerly=["old"],\n)',
}


@pytest.mark.parametrize("decorator", LAYOUTS)
def test_a_decorator_learns_the_old_name(decorator: str) -> None:
    """However it is laid out; one that cannot learn it is left as it is."""
    text = (
        '"""Ä."""\n\n@above\nDECORATOR\nasync def new() -> None:\n    """Do (it)."""\n'
    )
    result = add_alias(text.replace("DECORATOR", decorator), "new", "old")
    assert result == text.replace("DECORATOR", LAYOUTS[decorator] or decorator)
    ast.parse(result)


@pytest.mark.nightly
def test_a_policy_that_knows_no_old_names(mine: Path) -> None:
    """An older release's decorators take no formerly=: the name is changed, and the answers stay as they were written."""
    for path in (mine / "src").rglob("*.py"):
        path.write_text(path.read_text().replace("formerly", "once"))
    commit(mine)
    done = call(
        mine,
        "rename",
        "--trust",
        "get_note",
        "read_note",
        "--json",
        **uv_settings(mine),
    )
    report = json.loads(done.stdout)
    assert (report["formerly"], report["branch"]) == ([], "rename-get_note-read_note")
    git(mine, "merge", "--quiet", report["branch"])
    assert "read_note" in load_answers(mine)["tools"]

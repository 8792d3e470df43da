"""`tools add`: in one line and in a terminal, all of it or nothing."""

import os
import shutil
import sys
from pathlib import Path

import pytest
import yaml
from lifecycle import SRC, bytes_of, commit, start
from support import clone_template, git, server

TERMINAL = pytest.mark.skipif(sys.platform == "win32", reason="needs a terminal of POSIX")


@pytest.fixture(scope="module")
def started(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project under git; tests must not write in it."""
    template = clone_template(tmp_path_factory.mktemp("template"), tag="v1.0.0")
    tools = "get_note, delete_note"
    return start(template, tmp_path_factory.mktemp("started") / "p", tools=tools)


@pytest.fixture
def mine(started: Path, tmp_path: Path) -> Path:
    """A copy of it to write in."""
    return shutil.copytree(started, tmp_path / "my notes")


def changed(project: Path) -> set[str]:
    """What git sees."""
    said = git(project, "status", "--porcelain", "--untracked-files=all").splitlines()
    return {line[3:] for line in said}


ADDED = {".copier-answers.yml", "annotations.lock.json", "docs/tools.md"}


def test_in_one_line(mine: Path) -> None:
    words = ["--param", "note_id:int:The ID.", "--param", 'reason?::Why "it" goes {now}: \\n.']
    more = ["--confirm", "Archive note {note_id}?", "--title", "Put 'Away'", "--module", "shelf"]
    done = server(mine, "tools", "add", "archive_note", *words, *more)
    assert (done.returncode, done.stderr) == (0, "")
    new = {SRC + "tools/shelf/archive_note.py", "tests/tools/test_archive_note.py"}
    assert changed(mine) - {SRC + "tools/shelf/__init__.py"} == ADDED | new | {
        "docs/adr/policy/0003-confirmation.md",
        "docs/adr/policy/0005-tool-interface.md",
    }
    text = (mine / SRC / "tools/shelf/archive_note.py").read_text()
    assert text in done.stdout
    assert "destructiveHint=true idempotentHint=true openWorldHint=true" in done.stdout
    assert '+  "archive_note": {' in done.stdout
    assert "+| `archive_note` | Put 'Away' | put |" in done.stdout
    answers = yaml.safe_load((mine / ".copier-answers.yml").read_text())
    assert answers["tools"][:2] == ["get_note", "delete_note"]
    assert answers["tools"][2]["params"][1] == {
        "name": "reason",
        "type": "str",
        "description": 'Why "it" goes {now}: \\n.',
        "required": False,
    }
    commit(mine)
    done = server(mine, "policy", "check")
    assert done.returncode == 0, done.stdout
    done = server(mine, "tools", "add", "count_notes")
    assert done.returncode == 0, done.stderr
    answers = yaml.safe_load((mine / ".copier-answers.yml").read_text())
    assert answers["tools"][3] == "count_notes"


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("shelve_note=put", {"name": "shelve_note", "behavior": "put"}),
        ("archive_note_", "archive_note_"),
    ],
)
def test_a_name_as_in_the_answers(mine: Path, said: str, kept: object) -> None:
    done = server(mine, "tools", "add", said)
    assert done.returncode == 0, done.stderr
    assert (mine / SRC / f"tools/{said.partition('=')[0]}.py").exists()
    answers = yaml.safe_load((mine / ".copier-answers.yml").read_text())
    assert answers["tools"][-1] == kept


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["shelve_note"], "unknown verb; add =put or =read"),
        (["get_note"], '"get_note": named twice'),
        (["archive_note", "--param", ":int:The ID."], "--param ':int:The ID.' has no name"),
        (["archive_note", "--param", "a:number:A."], 'type "number" is unknown'),
        (["archive_note", "--param", "a:int:A.\u202e"], "holds a control or invisible character"),
        (["archive_note", "--confirm", "Archive {who}?"], "who"),
        (["import"], "import"),
        (["archive_note, get_shelf"], "archive_note, get_shelf"),
        (["archive_note=give"], "give"),
        ([], "no terminal to ask in; say it: tools add NAME"),
    ],
)
def test_a_mistake_is_one_line_and_changes_nothing(
    started: Path, words: list[str], why: str
) -> None:
    before = bytes_of(started)
    done = server(started, "tools", "add", *words)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("notes-mcp: ")
    assert done.stderr.count("\n") == 1
    assert why in done.stderr
    assert bytes_of(started) == before


def test_uncommitted_changes_are_named(mine: Path) -> None:
    git(mine, "config", "status.showUntrackedFiles", "no")
    (mine / "README.md").write_text("mine\n")
    (mine / "new.txt").write_text("mine\n")
    done = server(mine, "tools", "add", "archive_note")
    assert done.returncode == 1
    assert done.stderr == (
        "notes-mcp: commit README.md, new.txt first; Copier needs a clean tree\n"
    )
    assert changed(mine) == {"README.md", "new.txt"}


def test_work_elsewhere_in_the_repository_is_not_touched(started: Path, tmp_path: Path) -> None:
    """Copier refuses it as well, and what is undone is what is below the project."""
    mine = shutil.copytree(started, tmp_path / "all/servers/notes")
    shutil.rmtree(mine / ".git")
    other = tmp_path / "all/other.txt"
    other.write_text("theirs\n")
    git(tmp_path / "all", "init", "--quiet")
    commit(tmp_path / "all")
    other.write_text("theirs, changed\n")
    done = server(mine, "tools", "add", "archive_note")
    assert done.stderr == "notes-mcp: commit other.txt first; Copier needs a clean tree\n"
    assert other.read_text() == "theirs, changed\n"
    commit(tmp_path / "all")
    done = server(mine, "tools", "add", "archive_note")
    assert done.returncode == 0, done.stderr
    assert (mine / SRC / "tools/archive_note.py").exists()


def test_outside_of_git(mine: Path) -> None:
    shutil.rmtree(mine / ".git")
    done = server(mine, "tools", "add", "archive_note", GIT_CEILING_DIRECTORIES=str(mine.parent))
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert "a tool is added to a git repository" in done.stderr


def test_a_file_of_that_name_stays_its_owners(mine: Path) -> None:
    (mine / SRC / "tools/archive_note.py").write_text("# mine\n")
    commit(mine)
    done = server(mine, "tools", "add", "archive_note")
    assert done.returncode == 1
    assert "src/notes_mcp/tools/archive_note.py is there; choose another name" in done.stderr
    assert changed(mine) == set()


def test_what_fails_after_writing_is_undone(mine: Path) -> None:
    (mine / SRC / "tools/broken.py").write_text("import no_such_module\n")
    commit(mine)
    done = server(mine, "tools", "add", "archive_note")
    assert done.returncode == 1
    assert "No module named 'no_such_module'" in done.stderr
    assert changed(mine) == set()


DOWN, ENTER, LEAVE = "\x1b[B", "\r", "\x03"
WALK = [
    ("Name, its verb first:", "archive_note"),
    ("What it does:", ""),
    ("Title:", ""),
    ("Description, for the model", "Put a note away."),
    ("A parameter's name", "note_id"),
    ("Its type:", DOWN),
    ("What it is:", "The ID: a number."),
    ("Is it required?", "y"),
    ("A parameter's name", ""),
    ("Before it runs:", DOWN + DOWN),
    ("The question, as in", "Archive note {{note_id}}?".replace("{{", "{").replace("}}", "}")),
    ("Why its hints are right", ""),
    ("Write it?", "y"),
]


def terminal(
    project: Path, steps: list[tuple[str, str]], *, leave: bool = False
) -> tuple[int, str]:
    """Walk `tools add` in a terminal; answers its exit code and all that was on the screen."""
    pexpect = pytest.importorskip("pexpect")
    code = "from notes_mcp.cli import main; main()"
    calm = os.environ | {
        "PYTHONPATH": str(project / "src"),
        "HOME": str(project / ".data"),
        "PROMPT_TOOLKIT_NO_CPR": "1",
        "TERM": "xterm",
        "NO_COLOR": "1",
    }
    child = pexpect.spawn(
        sys.executable,
        ["-c", code, "tools", "add"],
        cwd=project,
        env=calm,
        encoding="utf-8",
        dimensions=(40, 100),
        timeout=60,
    )
    screen = ""
    for number, (question, keys) in enumerate(steps):
        child.expect_exact(question)
        screen += child.before
        if leave and number == len(steps) - 1:
            child.send(LEAVE)
        else:
            child.send(
                keys if question == "Is it required?" or question == "Write it?" else keys + ENTER
            )
    child.expect(pexpect.EOF)
    screen += child.before
    child.close()
    return child.exitstatus, screen


@TERMINAL
def test_in_a_terminal(mine: Path) -> None:
    code, screen = terminal(mine, WALK)
    assert code == 0, screen
    assert "replaces or assigns: same input, same end state" in screen, (
        "each behavior says what it means"
    )
    assert "destructiveHint=true" in screen
    text = (mine / SRC / "tools/archive_note.py").read_text()
    assert 'confirm="Archive note {note_id}?"' in text
    assert '"""Put a note away."""' in text
    assert "note_id: Annotated[int" in text
    assert 'description="The ID: a number."' in text
    pinned = (mine / "annotations.lock.json").read_text()
    assert '"archive_note"' in pinned


@TERMINAL
@pytest.mark.parametrize("at", [1, 2, 5, 10, len(WALK)])
def test_leaving_writes_nothing(mine: Path, at: int) -> None:
    before = bytes_of(mine)
    code, screen = terminal(mine, WALK[:at], leave=True)
    assert code == 130, screen
    assert "nothing was written" in screen
    assert changed(mine) == set()
    assert bytes_of(mine) == before


@TERMINAL
def test_saying_no_writes_nothing(mine: Path) -> None:
    code, _ = terminal(mine, [*WALK[:-1], ("Write it?", "n")])
    assert code == 130
    assert changed(mine) == set()

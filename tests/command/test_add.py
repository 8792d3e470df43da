"""`add`: in one line and in a terminal, all of it or nothing."""

import json
import re
import shutil
from pathlib import Path

import pytest
import yaml
from calling import add, call, uv_settings
from lifecycle import SRC, bytes_of, commit, list_own_changes, start, uncommitted
from support import clone_template, git, rendered

from copier_fastmcp.add import find_request
from copier_fastmcp.tools_answer import get_tool_name, list_tools

ADDED = {".copier-answers.yml", "annotations.lock.json", "docs/tools.md"}


@pytest.fixture
def http(tmp_path: Path) -> Path:
    """A project on an API."""
    template = clone_template(tmp_path, tag="v1.0.0")
    return start(template, tmp_path / "p", tools="get_note", backend="http")


def test_in_one_line(mine: Path) -> None:
    words = [
        "--param",
        "note_id:int:The ID.",
        "--param",
        'reason?::Why "it" goes {now}: \\n.',
    ]
    options = [
        "--confirm",
        "Archive note {note_id}?",
        "--title",
        "Put 'Away'",
        "--module",
        "shelf",
    ]
    done = add(mine, "archive_note", *words, *options)
    assert done.returncode == 0, done.stderr
    assert done.stderr.startswith("copier-fastmcp: ")
    assert "may run: migration" in done.stderr
    assert "hooks/polish.py" in done.stderr, "what runs is named"
    assert done.stderr.count("\n") == 1
    new = {SRC + "tools/shelf/archive_note.py", "tests/tools/test_archive_note.py"}
    other_files = list_own_changes(mine)
    assert other_files - {SRC + "tools/shelf/__init__.py"} == ADDED | new
    text = (mine / SRC / "tools/shelf/archive_note.py").read_text()
    assert text in done.stdout
    assert "destructiveHint=true idempotentHint=true openWorldHint=false" in done.stdout
    assert re.search(r"(?m)^ annotations.lock.json \| +\d+ \++$", done.stdout)
    assert "additionalProperties" not in done.stdout
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
    done = add(mine, "count_notes", "--json")
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert (report["tool"], report["file"]) == (
        "count_notes",
        SRC + "tools/count_notes.py",
    )
    assert report["pinned"]["hints"]["readOnlyHint"] is True
    assert set(report["changed"]) == uncommitted(mine)
    answers = yaml.safe_load((mine / ".copier-answers.yml").read_text())
    assert answers["tools"][3] == "count_notes"


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        ("shelve_note=put", {"name": "shelve_note", "behavior": "put"}),
        pytest.param("archive_note_", "archive_note_", marks=pytest.mark.nightly),
    ],
)
def test_a_name_as_in_the_answers(mine: Path, entry: str, expected: object) -> None:
    done = add(mine, entry)
    assert done.returncode == 0, done.stderr
    assert (mine / SRC / f"tools/{entry.partition('=')[0]}.py").exists()
    answers = yaml.safe_load((mine / ".copier-answers.yml").read_text())
    assert answers["tools"][-1] == expected


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["shelve_note"], 'write shelve_note=put; "shelve" is no known verb'),
        (["get_note"], "get_note is a tool of src/notes_mcp/tools/get_note.py"),
        (
            ["archive_note", "--param", ":int:The ID."],
            "--param ':int:The ID.' has no name",
        ),
        (["archive_note", "--param", "a:number:A."], 'type "number" is unknown'),
        (
            ["archive_note", "--param", "a:int:A.\u202e"],
            "has a hidden character",
        ),
        (["archive_note", "--confirm", "Archive {who}?"], "who"),
        (["import"], "import"),
        (["archive_note, get_shelf"], "write archive_note_get_shelf"),
        (["archive_note=give"], "give"),
        ([], "no terminal to ask in; say it: add NAME"),
    ],
)
def test_a_mistake_is_one_line_and_changes_nothing(
    started: Path, words: list[str], message: str
) -> None:
    before = bytes_of(started)
    done = add(started, *words)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("copier-fastmcp: ")
    assert done.stderr.count("\n") == 1
    assert message in done.stderr
    assert bytes_of(started) == before


def test_a_file_that_it_changes_must_be_committed(mine: Path) -> None:
    git(mine, "config", "status.showUntrackedFiles", "no")
    (mine / "docs/tools.md").write_text("mine\n")
    done = add(mine, "archive_note")
    assert done.returncode == 1
    assert (
        done.stderr
        == "copier-fastmcp: commit docs/tools.md first, since add changes it\n"
    )
    git(mine, "restore", "docs/tools.md")
    (mine / SRC / "tools/archive_note.py").write_text("# mine, in no commit\n")
    done = add(mine, "archive_note")
    assert "tools/archive_note.py is there; choose another name" in done.stderr
    assert (
        mine / SRC / "tools/archive_note.py"
    ).read_text() == "# mine, in no commit\n"


@pytest.mark.nightly
def test_other_work_is_no_obstacle_and_stays(started: Path, tmp_path: Path) -> None:
    """In a folder of a larger repository, with changes in it and next to it, some of them staged."""
    mine = shutil.copytree(started, tmp_path / "all/servers/notes")
    shutil.rmtree(mine / ".git")
    other_file = tmp_path / "all/other.txt"
    other_file.write_text("theirs\n")
    git(tmp_path / "all", "init", "--quiet")
    commit(tmp_path / "all")
    other_file.write_text("theirs, changed\n")
    (mine / "README.md").write_text("mine\n")
    (mine / "new.txt").write_text("mine\n")
    git(mine, "add", "README.md")
    done = add(mine, "archive_note")
    assert done.returncode == 0, done.stderr
    assert (mine / SRC / "tools/archive_note.py").exists()
    assert other_file.read_text() == "theirs, changed\n"
    assert (mine / "README.md").read_text() == "mine\n"
    assert (mine / "new.txt").read_text() == "mine\n"
    assert git(mine, "diff", "--cached", "--name-only") == "servers/notes/README.md\n"


def test_tools_of_an_answers_file_become_a_branch(mine: Path, tmp_path: Path) -> None:
    file = tmp_path / "answers.yml"
    file.write_text("tools: [get_note, count_notes, shelve_note=put]\n")
    before = bytes_of(mine)
    done = add(mine, "--from", str(file))
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(
        "count_notes: added\nshelve_note: added\non the branch add-tools"
    )
    assert bytes_of(mine) == before
    names = git(mine, "diff", "--name-only", "HEAD", "add-tools").split()
    assert {SRC + "tools/count_notes.py", SRC + "tools/shelve_note.py", *ADDED} <= {
        *names
    }
    second = add(mine, "--from", str(file))
    assert "the branch add-tools is there; merge it or delete it" in second.stderr
    git(mine, "merge", "--quiet", "add-tools")
    last = add(mine, "--from", str(file))
    assert (last.returncode, last.stdout) == (1, "")
    assert "has no tool that this server lacks" in last.stderr


def test_outside_of_git(mine: Path) -> None:
    shutil.rmtree(mine / ".git")
    done = add(mine, "archive_note", GIT_CEILING_DIRECTORIES=str(mine.parent))
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert "run `git init` and commit first, since add changes it" in done.stderr


def test_a_file_of_that_name_stays_its_owners(mine: Path) -> None:
    (mine / SRC / "tools/archive_note.py").write_text("# mine\n")
    commit(mine)
    done = add(mine, "archive_note")
    assert done.returncode == 1
    assert (
        "src/notes_mcp/tools/archive_note.py is there; choose another name"
        in done.stderr
    )
    assert uncommitted(mine) == set()


def test_what_fails_after_writing_is_undone(mine: Path) -> None:
    (mine / SRC / "tools/broken.py").write_text("import no_such_module\n")
    commit(mine)
    done = add(mine, "archive_note")
    assert done.returncode == 2
    assert "No module named 'no_such_module'" in done.stderr
    assert uncommitted(mine) == set()


def test_no_code_runs_unless_somebody_says_so(mine: Path) -> None:
    before = bytes_of(mine)
    done = call(mine, "add", "archive_note", **uv_settings(mine))
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)
    assert " at v1.0.0 (" in done.stderr
    assert "hooks/polish.py" in done.stderr
    assert done.stderr.endswith("; read it, then say --trust\n")
    assert bytes_of(mine) == before


@pytest.mark.nightly
def test_a_template_that_copiers_own_settings_trust(mine: Path, tmp_path: Path) -> None:
    source = yaml.safe_load((mine / ".copier-answers.yml").read_text())["_src_path"]
    settings_file = tmp_path / "settings.yml"
    settings_file.write_text(yaml.safe_dump({"trust": [source]}))
    settings = {"COPIER_SETTINGS_PATH": str(settings_file)}
    done = call(mine, "add", "archive_note", **uv_settings(mine), **settings)
    assert done.returncode == 0, done.stderr
    assert "hooks/polish.py" in done.stderr, "what runs is named here, too"
    settings_file.write_text("trust: [1")
    commit(mine)
    broken = call(mine, "add", "archive_notes", **uv_settings(mine), **settings)
    assert (broken.returncode, broken.stdout, broken.stderr.count("\n")) == (2, "", 1)


@pytest.mark.parametrize(
    "tools", ["get_note", "get_note\nlist_notes", {"name": "get_note"}, []]
)
def test_the_answer_is_listed_in_any_form(tools: object) -> None:
    names = {"get_note"} if tools else set()
    names |= {"list_notes"} if "list" in str(tools) else set()
    assert {get_tool_name(item) for item in list_tools(tools)} == names


@pytest.mark.nightly
def test_where_nothing_pins_it_says_so(mine: Path) -> None:
    git(mine, "rm", "--quiet", "tests/policy/pin.py")
    commit(mine)
    done = add(mine, "archive_note")
    assert done.returncode == 0, done.stderr
    assert "so annotations.lock.json does not hold archive_note yet" in done.stdout
    assert "annotations.lock.json" not in uncommitted(mine)


@pytest.mark.parametrize(
    ("tool", "request_line"),
    [
        ("remind_note=action", "POST /notes/{note_id}/remind"),
        ("delete_note", "DELETE /notes/{note_id}"),
    ],
)
def test_the_request_of_a_tool_file_is_found(tool: str, request_line: str) -> None:
    files = rendered({"backend": "http", "api": "https://a.example", "tools": [tool]})
    text = files[f"src/notes_mcp/tools/{tool.partition('=')[0]}.py"]
    assert find_request(text) == request_line


@pytest.mark.nightly
def test_a_request_that_nobody_said_is_called_a_guess(
    http: Path,
) -> None:
    git(
        http, "rm", "--quiet", "tests/policy/pin.py"
    )  # the server need not start for this
    commit(http)
    done = add(http, "remind_note=action")
    assert done.returncode == 0, done.stderr
    file = SRC + "tools/remind_note.py"
    guess = f"the request POST /notes/{{note_id}}/remind is a guess, since --http did not say it; see {file}\n"
    assert done.stderr.endswith(guess)
    commit(http)
    done = add(http, "poke_note=action", "--http", "POST /pokes")
    assert done.returncode == 0, done.stderr
    assert "guess" not in done.stderr
    assert 'send("POST", "/pokes")' in (http / SRC / "tools/poke_note.py").read_text()

"""Verbs for tools that are not where the template wrote them: moved, several in a file, in modules, in adopted servers."""

import json
from pathlib import Path

import pytest
from calling import call, uv_settings
from lifecycle import SRC, bytes_of, commit, load_answers, released, start
from support import clone_template, git, nightly_but, pin, server

from copier_fastmcp.cli import main
from copier_fastmcp.project.tool_files import list_tool_functions

TOOLS = [
    "get_note",
    "create_note",
    "delete_note",
    {"name": "archive_note", "behavior": "put", "module": "shelf"},
]
MOVED = SRC + "tools/mine/fetching.py"
BOTH = SRC + "tools/both.py"
SHELF = SRC + "tools/shelf/archive_note.py"
BY_HAND = SRC + "tools/find_note.py"


def rearrange(project: Path) -> None:
    """Move one tool into a package under another file name, join two in a file, and write one by hand."""
    tools = project / SRC / "tools"
    (tools / "mine").mkdir()
    (tools / "mine/__init__.py").write_text('"""Mine."""\n')
    text = (tools / "get_note.py").read_text()
    (project / BY_HAND).write_text(
        text.replace("get_note", "find_note").replace("GetNote", "FindNote")
    )
    (project / MOVED).write_text(text.replace("from ..", "from ..."))
    create = (tools / "create_note.py").read_text()
    delete = (tools / "delete_note.py").read_text()
    create = create.replace("policy import create", "policy import create, delete")
    (project / BOTH).write_text(create + "\n\n" + delete[delete.index("class ") :])
    for name in ("get_note", "create_note", "delete_note"):
        (tools / f"{name}.py").unlink()


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """v1, and v2 that changes a text of the policy."""
    clone = clone_template(tmp_path_factory.mktemp("template"), tag="v1.0.0")
    return released(
        clone, clone, "v2.0.0", ("template/AGENTS.md.jinja", "", "\nTwo.\n")
    )


def make_project(template: Path, to: Path, engine: str) -> Path:
    """A project with its tools in odd places, pinned and committed."""
    project = start(template, to, tools=TOOLS, engine=engine)
    rearrange(project)
    pin(project)
    commit(project)
    return project


@pytest.fixture(
    scope="module", params=nightly_but(["package"], ["vendored", "package"])
)
def project(
    request: pytest.FixtureRequest,
    template: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> Path:
    """A project with its tools in odd places; a test resets it to its first commit."""
    return make_project(template, tmp_path_factory.mktemp("odd") / "p", request.param)


@pytest.fixture
def mine(project: Path) -> Path:
    """The project, on the branch that it began with and without changes."""
    git(project, "switch", "--quiet", "--detach", "main-start")
    git(project, "reset", "--quiet", "--hard")
    git(project, "clean", "-fdq")
    return project


@pytest.fixture(scope="module", autouse=True)
def _marked(project: Path) -> None:
    git(project, "tag", "--force", "main-start")


def list_served(project: Path) -> list[str]:
    listed = json.loads(server(project, "tools", "list", "--json").stdout)
    return sorted(row["name"] for row in listed)


RENAMES = {
    "moved": ("get_note", "fetch_note", MOVED),
    "several in a file": ("delete_note", "scrap_note", BOTH),
    "in a module": ("archive_note", "shelve_note", SRC + "tools/shelf/shelve_note.py"),
    "by hand": ("find_note", "seek_note", SRC + "tools/seek_note.py"),
}


@pytest.mark.parametrize("place", nightly_but(["moved"], RENAMES))
def test_a_renamed_tool_stays_where_its_author_put_it(mine: Path, place: str) -> None:
    old, new, file = RENAMES[place]
    expected = sorted({*list_served(mine), new} - {old})
    words = ["rename", "--trust", "--branch", f"odd-{new}", old, new]
    done = call(mine, *words, **uv_settings(mine))
    assert f"on the branch odd-{new}" in done.stdout, done.stdout + done.stderr
    git(mine, "merge", "--quiet", f"odd-{new}")
    assert new in list_tool_functions(mine / file)
    assert list_served(mine) == expected
    paths = list((mine / SRC / "tools").rglob(f"{new}.py"))
    assert paths == ([mine / file] if file.endswith(f"{new}.py") else [])
    pinned = json.loads((mine / "annotations.lock.json").read_text())["tools"]
    assert sorted(pinned) == expected


REMOVED = {
    "moved": ("get_note", MOVED),
    "in a module": ("archive_note", SHELF),
    "by hand": ("find_note", BY_HAND),
}


@pytest.mark.nightly
@pytest.mark.parametrize("place", REMOVED)
def test_a_tool_is_removed_where_it_is(mine: Path, place: str) -> None:
    name, file = REMOVED[place]
    expected = sorted({*list_served(mine)} - {name})
    words = ["remove", "--trust", "--branch", f"no-{name}", name]
    done = call(mine, *words, **uv_settings(mine))
    is_named = f"metadata.yaml:9: names {name}" in done.stdout  # in a comment
    assert done.returncode == is_named, done.stdout + done.stderr
    git(mine, "merge", "--quiet", f"no-{name}")
    assert not (mine / file).exists()
    assert list_served(mine) == expected


def get_refusal(
    project: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    *words: str,
) -> str:
    """Return the one line of a verb that is refused and changes nothing."""
    before = bytes_of(project)
    monkeypatch.chdir(project)
    assert main(list(words)) == 1
    output = capsys.readouterr()
    assert (output.out, output.err.count("\n")) == ("", 1)
    assert bytes_of(project) == before
    return output.err


def test_what_would_serve_a_tool_twice_is_refused(
    mine: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    line = get_refusal(mine, monkeypatch, capsys, "add", "--trust", "find_note")
    assert f"find_note is a tool of {BY_HAND}; choose another name" in line
    name = SRC + "tools/get_note.py"
    line = get_refusal(mine, monkeypatch, capsys, "restore", name)
    assert f"{name}: get_note is in {MOVED} now; delete it there first" in line
    line = get_refusal(mine, monkeypatch, capsys, "remove", "--trust", "delete_note")
    assert f"{BOTH} holds delete_note and create_note; take delete_note out" in line


def test_drift_restore_and_export_do_not_mind_the_places(
    mine: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(mine)
    before = bytes_of(mine)
    assert main(["drift"]) == 0
    assert main(["restore"]) == 0
    assert bytes_of(mine) == before
    capsys.readouterr()
    main(["export", "openai"])
    exported = json.loads(capsys.readouterr().out)["tools"]
    assert sorted(exported) == list_served(mine)
    path = mine / BY_HAND
    path.write_text(path.read_text().replace("find_note", "seek_note"))
    main(["export", "openai"])
    assert "not exported: seek_note; pin them" in capsys.readouterr().err


def test_the_next_update_names_what_only_files_or_only_answers_have(mine: Path) -> None:
    """And its branch holds them in lock and table."""
    tools = [*load_answers(mine)["tools"], "count_notes"]
    answers = mine / ".copier-answers.yml"
    text = answers.read_text().replace(
        "- create_note\n", "- create_note\n- count_notes\n"
    )
    answers.write_text(text)
    assert set(map(str, load_answers(mine)["tools"])) == set(map(str, tools))
    path = mine / SRC / "tools/seek_note.py"
    source = (mine / BY_HAND).read_text()
    path.write_text(source.replace("find_note", "seek_note"))
    commit(mine)
    words = ["update", "--trust", "--ref", "v2.0.0", "--unattended", "--branch", "odd"]
    done = call(mine, *words, COLUMNS="400", **uv_settings(mine))
    assert done.returncode == 0, done.stdout + done.stderr
    output = " ".join(done.stdout.split())
    by_hand = "added by hand, and the answers do not name: find_note, seek_note"
    assert by_hand in output
    assert "answers name, and no file declares: count_notes; " in output
    lock = json.loads(git(mine, "show", "odd:annotations.lock.json"))["tools"]
    assert {"find_note", "seek_note"} <= lock.keys()
    assert "`seek_note`" in git(mine, "show", "odd:docs/tools.md")


ADOPTED = "adopted: {place: mine, serves: mcp}\n_commit: v1.0.0\n_src_path: /template\n"


@pytest.mark.parametrize(
    "words", [["rename", "get_note", "a_note"], ["remove", "get_note"]]
)
def test_an_adopted_server_is_its_authors(
    words: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    git(tmp_path, "init", "--quiet")
    (tmp_path / ".copier-answers.yml").write_text(ADOPTED)
    (tmp_path / "server.py").write_text("\n\ndef get_note() -> None: ...\n")
    commit(tmp_path)
    line = get_refusal(tmp_path, monkeypatch, capsys, *words)
    assert f"get_note is in server.py:3; {words[0]} it there, then pin: uv run " in line

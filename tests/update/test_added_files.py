"""What an update adds to the answers gets its files, in a clone too: tools, resources, packages."""

import json
from pathlib import Path

import pytest
from lifecycle import commit, load_answers, start, update
from support import Answers, clone_template, git, nightly_but, python, server

RESOURCES = [
    {"uri": "notes://all", "name": "All notes", "description": "Every note."},
    {"uri": "notes://{note_id}", "name": "One note", "description": "One note."},
]
SRC = "src/notes_mcp/"
CASES: dict[str, tuple[Answers, Answers, set[str]]] = {
    "resources": (
        {},
        {"resources": RESOURCES},
        {
            SRC + "resources/__init__.py",
            SRC + "resources/all.py",
            SRC + "resources/notes_note_id.py",
        },
    ),
    "resources after none": (
        {"resources": None},
        {"resources": RESOURCES[:1]},
        {
            SRC + "resources/__init__.py",
            SRC + "resources/all.py",
        },
    ),
    "one resource more": (
        {"resources": RESOURCES[:1]},
        {"resources": RESOURCES},
        {SRC + "resources/notes_note_id.py"},
    ),
    "container": ({}, {"packages": ["container"]}, {"Dockerfile", ".dockerignore"}),
    "bundle": (
        {},
        {"packages": ["bundle"]},
        {"manifest.json", ".mcpbignore", "tests/policy/test_packages.py"},
    ),
    "registry": (
        {"packages": ["bundle"]},
        {"packages": ["bundle", "registry"]},
        {"server.json"},
    ),
    "tool": (
        {},
        {
            "tools": [
                "search_notes",
                "get_note",
                "create_note",
                "delete_note",
                "send_note",
            ]
        },
        {SRC + "tools/send_note.py", "tests/tools/test_send_note.py"},
    ),
}


@pytest.fixture(scope="module")
def releases(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The template at one release."""
    return clone_template(tmp_path_factory.mktemp("releases"), tag="v1.0.0")


def files(project: Path) -> set[str]:
    """Every file that git tracks."""
    return set(git(project, "ls-files").split())


@pytest.mark.parametrize("case", nightly_but(["resources"], CASES))
def test_an_update_creates_what_is_new_in_a_clone(
    releases: Path, tmp_path: Path, case: str
) -> None:
    before, answers, expected = CASES[case]
    first = start(releases, tmp_path / "first", **before)
    git(tmp_path, "clone", "--quiet", str(first), "clone")
    clone = tmp_path / "clone"
    answers_file = files(clone)
    update(clone, "v1.0.0", answers)
    assert files(clone) - answers_file == expected
    assert answers_file <= files(clone)
    if "resource" in case:
        done = server(clone, "tools", "list", "--json")
        assert done.returncode == 0, done.stderr
        assert "list_resources" in done.stdout


def test_a_resource_of_its_own_is_served_where_none_was_asked_for(
    releases: Path, tmp_path: Path
) -> None:
    project = start(releases, tmp_path / "p")
    assert not (project / SRC / "resources").exists()
    (project / SRC / "resources").mkdir()
    (project / SRC / "resources/mine.py").write_text(
        '"""Mine."""\n\nfrom ..policy import resource\n\n\n'
        '@resource("notes://mine", name="Mine", description="Mine.")\n'
        'async def mine() -> str:\n    """Return it."""\n    return "{}"\n'
    )
    code = (
        "import asyncio\nfrom fastmcp import Client\nfrom notes_mcp.server import create_server\n"
        "from notes_mcp.settings import Settings\n"
        "async def main():\n"
        "    async with Client(create_server(Settings(database=':memory:'))) as client:\n"
        "        print([str(r.uri) for r in await client.list_resources()])\n"
        "asyncio.run(main())\n"
    )
    done = python(project, "-c", code)
    assert done.stdout == "['notes://mine']\n", done.stderr


def test_a_tool_under_an_old_name_is_not_served_twice(
    first: Path, tmp_path: Path
) -> None:
    """Its author renamed it by hand, and the answers still have the old name."""
    project = start(first, tmp_path / "p")
    path = project / SRC / "tools/delete_note.py"
    text = path.read_text().replace("def delete_note", "def scrap_note")
    path.with_name("scrap_note.py").write_text(
        text.replace("@delete(", '@delete(formerly=["delete_note"], ')
    )
    path.unlink()
    (project / "tests/tools/test_delete_note.py").rename(
        project / "tests/tools/test_scrap_note.py"
    )
    commit(project)
    update(project, "v1.0.0", {"license": "none"})
    assert not path.exists()
    names = []
    for row in json.loads(server(project, "tools", "list", "--json").stdout):
        names.append(row["name"])
    assert [name for name in names if name in ("delete_note", "scrap_note")] == [
        "scrap_note"
    ]
    assert "delete_note" in load_answers(project)["tools"]
    path.write_text(text.replace("def scrap_note", "def delete_note"))
    done = server(project, "tools", "list")
    message = "scrap_note was formerly delete_note, which is the name of another tool; remove it from "
    assert (done.returncode, done.stdout) == (1, "")
    remedy = "formerly=, or rename that tool (former-name-free)"
    assert done.stderr == f"notes-mcp: {message}{remedy}\n"

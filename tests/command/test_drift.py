"""`drift`: a project knows whether its policy files are the template's at the version it recorded."""

import json
import shutil
from pathlib import Path

import pytest
import yaml
from calling import call
from lifecycle import SRC, start
from pathspec import GitIgnoreSpec
from support import ROOT, clone_template, git

SHARED = (
    "/README.md",
    "/.gitignore",
    "/LICENSE",
    "/server.json",
    "/manifest.json",
)
SAME = "0 policy files differ from "


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The template at v1."""
    return clone_template(tmp_path_factory.mktemp("template"), tag="v1.0.0")


@pytest.fixture(scope="module")
def started(first: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project under git; tests must not write in it."""
    return start(
        first,
        tmp_path_factory.mktemp("started") / "my server ☃",
        author="Ann 'O' \"{x}\"",
    )


@pytest.fixture
def mine(started: Path, tmp_path: Path) -> Path:
    """A copy of it to write in."""
    return shutil.copytree(started, tmp_path / "p")


def test_an_untouched_project_has_none(started: Path, first: Path) -> None:
    done = call(started, "drift")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"{SAME}{first} at v1.0.0\n"


def test_what_is_the_owners_is_no_drift(mine: Path) -> None:
    for name in (
        "tools/get_note.py",
        "backend.py",
        "settings.py",
        "extend.py",
        "metadata.yaml",
    ):
        with (mine / SRC / name).open("a") as file:
            file.write("\n# mine\n")
    (mine / SRC / "tools/search_notes.py").unlink()
    shared = ("pyproject.toml", "README.md", "server.json", "manifest.json")
    for name in (*shared, "annotations.lock.json", "docs/tools.md"):
        with (mine / name).open("a") as file:
            file.write("\n")
    for name in ("docs/adr/0001-mine.md", ".github/workflows/mine.yml"):
        (mine / name).write_text("mine\n")
    (mine / "scripts/check").write_bytes(
        (mine / "scripts/check").read_bytes().replace(b"\n", b"\r\n")
    )
    done = call(mine, "drift")
    assert done.returncode == 0, done.stdout
    assert done.stdout.startswith(SAME)


def test_edited_and_missing_policy_files_are_listed(mine: Path) -> None:
    with (mine / SRC / "server.py").open("a") as file:
        file.write("\n# mine\n")
    (mine / "docs/adr/policy/0003-confirmation.md").unlink()
    (mine / "config/ruff.toml").write_text("")
    (mine / "scripts/check").chmod(0o644)
    for name in ("guard.py", "confirmation/gate.py"):
        with (mine / SRC / "engine" / name).open("a") as file:
            file.write("\n# mine\n")
    (mine / SRC / "policy/mine.py").write_text("mine\n")
    (mine / SRC / "engine/confirmation/mine.py").write_text("mine\n")
    expected = [
        "config/ruff.toml: edited",
        "docs/adr/policy/0003-confirmation.md: missing",
        "scripts/check: not executable",
        SRC + "engine/confirmation/gate.py: edited",
        SRC + "engine/guard.py: edited",
        SRC + "server.py: edited",
        SRC + "engine/confirmation/mine.py: unknown",
        SRC + "policy/mine.py: unknown",
    ]
    done = call(mine, "drift")
    assert done.returncode == 1
    *files, engine, back, unknown, last = done.stdout.splitlines()
    assert files == expected
    assert engine == "engine: 2 files edited; no update runs until they are restored"
    assert (
        back == "to put them back: copier-fastmcp restore, or name the files after it"
    )
    assert unknown.startswith("unknown: the template has no such file; move it")
    assert last.startswith("8 policy files differ from ")
    report = json.loads(call(mine, "drift", "--json").stdout)
    assert [f"{name}: {state}" for name, state in report["files"].items()] == expected
    assert report["version"] == "v1.0.0"
    assert call(mine, "restore", "scripts/check", "--force").returncode == 0
    assert (mine / "scripts/check").stat().st_mode & 0o100


@pytest.mark.parametrize(
    ("answers", "message"),
    [
        (None, ".copier-answers.yml is not in "),
        ("FOLDER", "Is a directory"),
        ("", ".copier-answers.yml names no template and version"),
        ("{", ".copier-answers.yml names no template and version"),
        ("domain: notes\n", ".copier-answers.yml names no template and version"),
        (
            "_src_path: /nowhere/at/all\n_commit: v1.0.0\n",
            "Local template must be a directory",
        ),
        ("_src_path: SOURCE\n_commit: v9.9.9\n", "v9.9.9"),
        (
            "_src_path: .\n_commit: v1.0.0\n",
            "_src_path . is relative, so it could be any folder",
        ),
        (
            "_src_path: SOURCE\n_commit: v1.0.0\ntools: [shelve_note]\n",
            "write shelve_note=put",
        ),
    ],
)
def test_what_cannot_be_compared_is_never_called_clean(
    mine: Path, first: Path, answers: str | None, message: str
) -> None:
    path = mine / ".copier-answers.yml"
    if answers is None:
        path.unlink()
    elif answers == "FOLDER":
        path.unlink()
        path.mkdir()
    else:
        path.write_text(answers.replace("SOURCE", str(first)))
    done = call(mine, "drift")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert done.stderr.startswith(
        "copier-fastmcp: could not compare with the template: "
    )
    assert message in done.stderr


def test_a_missing_part_of_the_policy_is_listed_not_stumbled_over(mine: Path) -> None:
    """The command does not import the server, so nothing of it has to be whole."""
    shutil.rmtree(mine / SRC / "policy")
    done = call(mine, "drift")
    assert (done.returncode, done.stderr) == (1, "")
    assert f"{SRC}policy/profile.py: missing" in done.stdout.splitlines()


def test_a_module_in_the_project_is_not_imported(mine: Path) -> None:
    (mine / "copier.py").write_text("raise SystemExit('taken over')\n")
    (mine / "yaml.py").write_text("raise SystemExit('taken over')\n")
    done = call(mine, "drift")
    assert (done.returncode, done.stderr) == (0, "")


def test_a_template_that_moved_is_named(
    mine: Path, first: Path, tmp_path: Path
) -> None:
    moved = shutil.copytree(first, tmp_path / "moved")
    path = mine / ".copier-answers.yml"
    path.write_text(path.read_text().replace(str(first), "/nowhere/at/all"))
    assert call(mine, "drift").returncode == 2
    done = call(mine, "drift", "--template", moved)
    assert (done.returncode, done.stdout) == (0, f"{SAME}{moved} at v1.0.0\n")
    failure = call(mine, "drift", "--template", "moved")
    assert failure.returncode == 2
    assert "--template moved is relative, so it could be any folder" in failure.stderr


def test_every_policy_file_is_compared(mine: Path) -> None:
    """By a list that this test makes of the template's own settings, not of those of the check."""
    skipped = yaml.safe_load((ROOT / "copier.yml").read_text())["_skip_if_exists"]
    owned = GitIgnoreSpec.from_lines(
        [*skipped, "pyproject.toml", *SHARED, "/.copier-answers.yml"]
    )
    edited = []
    for name in git(mine, "ls-files", "-z").split("\0")[:-1]:
        with (mine / name).open("a") as file:
            file.write("\n# mine\n")
        if not owned.match_file(name):
            edited.append(f"{name}: edited")
    assert SRC + "policy/settings.py: edited" in edited
    done = call(mine, "drift")
    assert done.stdout.splitlines()[:-3] == sorted(edited), done.stderr


def test_what_answers_and_files_say_differently_is_told(mine: Path) -> None:
    """A tool by hand was never in the answers, and is nobody's question."""
    tools = mine / SRC / "tools"
    (tools / "shelve_note.py").write_text(
        (tools / "get_note.py").read_text().replace("get_", "shelve_")
    )
    answers_file = mine / ".copier-answers.yml"
    answers = yaml.safe_load(answers_file.read_text())
    names = [name for name in answers["tools"] if name != "search_notes"]
    new = []
    for n in names:
        new.append({"name": "get_note", "behavior": "delete"} if n == "get_note" else n)
    answers_file.write_text(yaml.safe_dump(answers | {"tools": new}))
    done = call(mine, "drift")
    clash, missing, *remainder = done.stdout.splitlines()
    assert not [line for line in remainder if "shelve_note" in line]
    assert "copier-fastmcp remove search_notes" in missing
    assert clash.startswith("get_note: its answers say delete, its file says read; ")

"""`sync`: a later document reaches a real server, and what its author wrote stays.

`tests/openapi/test_later_document.py` has each single change of an API.
"""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml
from calling import call, uv_settings
from command.test_import_changes import CHANGES, parcels, with_prefix
from lifecycle import bytes_of, commit, load_answers
from support import clone_template, git, pin

TOOLS = Path("src/parcels_mcp/tools")
LONGEST = 200


def write_document(to: Path, paths: dict[str, Any], **extra: Any) -> Path:
    """Write a document of the API of parcels."""
    about = {
        "openapi": "3.1.0",
        "info": {"title": "Parcels"},
        "servers": [{"url": "http://p.invalid"}],
    }
    to.write_text(json.dumps({**about, "paths": paths, **extra}))
    return to


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A pinned server that `new --from DOCUMENT` made."""
    place = tmp_path_factory.mktemp("made")
    template = clone_template(place / "template", tag="v1.0.0")
    document = write_document(place / "parcels.json", parcels())
    words = ("--from", document, "--unattended", "--template", template)
    done = call(place, "new", place / "p", *words)
    assert done.returncode == 0, done.stderr
    pin(place / "p")
    git(place / "p", "init", "--quiet")
    commit(place / "p", "start")
    return place / "p"


@pytest.fixture(scope="module")
def edited(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The server after its author's edits, pinned."""
    project = shutil.copytree(built, tmp_path_factory.mktemp("edited") / "p")
    replace(project, "get_parcel", "The parcel id.", "My parcel.")
    replace(project, "get_parcel", '"""Get one."""', '"""Mine."""')
    replace(project, "update_parcel", "@put(\n", '@put(\n    confirm="Change it?",\n')
    replace(project, "filter_parcels", "@action(", "@read(")
    replace(project, "filter_parcels", ", action\n", ", read\n")
    remove(project, "delete_parcel")
    pin(project)
    commit(project)
    return project


@pytest.fixture
def mine(edited: Path, tmp_path: Path) -> Path:
    """A copy of it to write in."""
    return shutil.copytree(edited, tmp_path / "my parcels")


def replace(project: Path, tool: str, old: str, new: str) -> None:
    """Edit the file of a tool as its author does."""
    path = project / TOOLS / f"{tool}.py"
    text = path.read_text()
    assert old in text, f"{tool} has no {old!r}: {text}"
    path.write_text(text.replace(old, new))


def remove(project: Path, tool: str) -> None:
    """Remove a tool, from answers and files."""
    path = project / ".copier-answers.yml"
    answers = yaml.safe_load(path.read_text())
    remaining_tools = []
    for remaining in answers["tools"]:
        if remaining["name"] != tool:
            remaining_tools.append(remaining)
    answers["tools"] = remaining_tools
    path.write_text(yaml.safe_dump(answers, sort_keys=False))
    (project / TOOLS / f"{tool}.py").unlink()
    (project / f"tests/tools/test_{tool}.py").unlink()


def sync(project: Path, document: Path, *words: str) -> tuple[int, str]:
    """Run the verb as somebody who trusts the template."""
    done = call(project, "sync", "--trust", document, *words, **uv_settings(project))
    assert "Traceback" not in done.stderr
    return done.returncode, done.stdout + done.stderr


def check_what_is_kept(project: Path, document: Path) -> str:
    """Sync, merge the branch, and look at everything that the author wrote."""
    before = bytes_of(project)
    names = [tool["name"] for tool in load_answers(project)["tools"]]
    code, report = sync(project, document, "--branch", "later")
    assert code == 0, report
    assert bytes_of(project) == before, "the change is on a branch"
    assert "BREAKING" not in report
    assert max(map(len, report.splitlines())) <= LONGEST
    git(project, "merge", "--quiet", "later")
    assert [tool["name"] for tool in load_answers(project)["tools"]] == names
    text = {path.stem: path.read_text() for path in (project / TOOLS).glob("*_*.py")}
    assert sorted(text) == sorted([*names, "__init__"] if "__init__" in text else names)
    assert "My parcel." in text["get_parcel"]
    assert '"""Mine."""' in text["get_parcel"]
    assert "parcel_id: Annotated[" in text["get_parcel"], "callers use this name"
    assert 'confirm="Change it?"' in text["update_parcel"]
    assert "@read(" in text["filter_parcels"]
    lock = json.loads((project / "annotations.lock.json").read_text())["tools"]
    assert sorted(lock) == sorted(names)
    assert lock["filter_parcels"]["behavior"] == "read"
    return report


@pytest.mark.nightly
def test_a_renamed_api_keeps_what_the_author_wrote(mine: Path, tmp_path: Path) -> None:
    later = write_document(tmp_path / "later.json", CHANGES["all of them"])
    report = check_what_is_kept(mine, later)
    assert report.startswith("request: list_parcels sends GET /v2/shipments (before:")
    update_parcel = (mine / TOOLS / "update_parcel.py").read_text()
    assert '"PUT"' in update_parcel
    assert 'f"/v2/shipments/{quoted(parcel_id)}"' in update_parcel
    record = json.loads((mine / ".copier-answers.import.json").read_text())
    assert "PUT /v2/shipments/{id}" in record["tools"]
    code, report = sync(mine, later)
    assert (code, report.splitlines()[0]) == (0, "nothing changes for callers")
    assert "sync-later" not in git(mine, "branch", "--list")


@pytest.mark.nightly
@pytest.mark.parametrize("change", [name for name in CHANGES if name != "all of them"])
def test_each_change_alone_keeps_what_the_author_wrote(
    mine: Path, tmp_path: Path, change: str
) -> None:
    later = write_document(tmp_path / "later.json", CHANGES[change])
    check_what_is_kept(mine, later)
    code, report = sync(mine, later)
    assert (code, report.splitlines()[0]) == (0, "nothing changes for callers")


def test_what_callers_notice_comes_first_and_breaks_with_exit_1(
    mine: Path, tmp_path: Path
) -> None:
    """A tool goes, a tool comes, one gets stricter, and one has a conflict."""
    later = parcels()
    del later["/parcels/{parcel_id}/send"]
    later["/parcels/{parcel_id}/labels"] = {"get": {"summary": "List its labels"}}
    (key,) = later["/parcels/{parcel_id}"]["parameters"]
    key["description"] = "The number of the parcel."
    size = {"in": "query", "name": "depot", "required": True, "schema": {}}
    later["/parcels"]["get"]["parameters"] = [size]
    document = write_document(tmp_path / "later.json", later)
    code, report = sync(mine, document)
    lines = report.splitlines()
    assert code == 1
    assert lines[0].startswith("added: GET /parcels/{parcel_id}/labels (list_")
    assert lines[1] == "removed: POST /parcels/{parcel_id}/send (send_parcel)"
    assert lines[2] == "BREAKING: list_parcels requires the new parameter depot"
    assert "  src/parcels_mcp/tools/get_parcel.py:" in report
    assert "git switch sync-later, resolve these files" in report
    assert max(map(len, lines)) <= LONGEST
    changed = git(mine, "diff", "--name-status", "HEAD", "sync-later").splitlines()
    assert f"D\t{TOOLS}/send_parcel.py" in changed
    assert "D\ttests/tools/test_send_parcel.py" in changed
    printed = git(mine, "show", f"sync-later:{TOOLS}/get_parcel.py")
    assert "<<<<<<< before updating" in printed
    assert "The number of the parcel." in git(
        mine, "show", f"sync-later:{TOOLS}/update_parcel.py"
    )


def test_a_project_without_a_record_names_its_document(
    built: Path, tmp_path: Path
) -> None:
    project = shutil.copytree(built, tmp_path / "p")
    (project / ".copier-answers.import.json").unlink()
    commit(project)
    first = write_document(tmp_path / "first.json", parcels())
    later = write_document(tmp_path / "later.json", with_prefix(parcels(), "/v2"))
    code, report = sync(project, later)
    assert (code, len(report.splitlines())) == (1, 1)
    assert "name the document that the server was made from with --base" in report
    code, report = sync(project, later, "--base", str(first), "--dry-run")
    assert code == 0, report
    assert report.startswith("request: list_parcels sends GET /v2/parcels")
    assert git(project, "branch", "--list", "sync-*") == ""


def test_what_cannot_be_synced_is_one_line(built: Path, tmp_path: Path) -> None:
    later = write_document(tmp_path / "later.json", parcels())
    assert sync(tmp_path, later)[0] == 2
    code, report = sync(built, tmp_path / "none.json")
    assert (code, len(report.splitlines())) == (1, 1)
    code, report = sync(built, later, "--here", "--branch", "x")
    assert (code, len(report.splitlines())) == (1, 1)

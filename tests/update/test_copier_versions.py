"""Plain Copier alone, in each version that is supported: an author loses nothing, and policy arrives."""

import subprocess
from pathlib import Path

import pytest
from lifecycle import (
    SRC,
    TEMPLATE,
    bytes_of,
    commit,
    find_changes,
    load_answers,
    released,
)
from programs import run_fetched, uv
from support import git

pytestmark = pytest.mark.nightly

VERSIONS = ["9.18.0", "9.18.1", "9.18.2", "9.19.1", ""]
TABLES = "src/copier_fastmcp/tables.json"
ROW = '"explicit": {"hints": "explicit", "destructive": "deletes_and_overwrites"'
RELAXED = (TABLES, ROW, ROW.replace("_and_overwrites", ""))
AUTHORS = f"{SRC}tools/get_note.py"
DELETED = f"{SRC}tools/search_notes.py"


def run_copier(
    version: str, folder: Path, *words: str, codes: tuple[int, ...] = (0,)
) -> subprocess.CompletedProcess[str]:
    """Run `copier` in one version; the newest where none is named."""
    package = f"copier=={version}" if version else "copier"
    program = [uv(), "tool", "run", "--quiet", "--from", package, "copier"]
    return run_fetched(*program, *words, folder=folder, codes=codes)


def start_project(version: str, template: Path, project: Path, *words: str) -> None:
    """Copy a project without trust, and let its author edit one tool, delete one and write one."""
    copy = ["copy", "--defaults", "--quiet", "--skip-tasks", *words]
    run_copier(version, project.parent, *copy, str(template), str(project))
    git(project, "init", "--quiet")
    tool = project / AUTHORS
    tool.write_text(tool.read_text() + "\n# mine\n")
    (project / DELETED).unlink()
    (project / f"{SRC}tools/_helpers.py").write_text('"""Mine."""\n')
    commit(project)


@pytest.mark.parametrize("version", VERSIONS)
def test_an_update_keeps_the_author_and_brings_policy(
    repository: Path, tmp_path: Path, version: str
) -> None:
    template = released(repository, tmp_path / "released", "v2.0.0", RELAXED)
    project = tmp_path / "notes"
    start_project(version, template, project, "--vcs-ref", "v1.0.0")
    before = bytes_of(project)
    update = ["update", "--defaults", "--quiet", "--trust", "--vcs-ref", "v2.0.0"]
    run_copier(version, project, *update)
    assert load_answers(project)["_commit"] == "v2.0.0"
    differing = find_changes(project, before)
    assert f"{SRC}policy/profile.py" in differing
    owned = (f"{SRC}tools/", f"{SRC}backend.py", "tests/tools/", "README.md")
    for name in differing:
        assert not name.startswith(owned), name
    commit(project, "updated")
    run_copier(version, project, *update)
    assert git(project, "status", "--porcelain") == "", "a second update is a no-op"


@pytest.mark.parametrize("version", VERSIONS)
def test_an_edited_file_that_a_release_removes_stops_the_update(
    repository: Path, tmp_path: Path, version: str
) -> None:
    template = released(
        repository,
        tmp_path / "released",
        "v1.1.0",
        (f"{TEMPLATE}policy/old.py", "", "#\n"),
    )
    project = tmp_path / "notes"
    start_project(version, template, project, "--vcs-ref", "v1.1.0")
    (project / f"{SRC}policy/old.py").write_text("# mine\n")
    commit(project)
    git(template, "rm", "--quiet", f"{TEMPLATE}policy/old.py")
    commit(template, "v2.0.0")
    git(template, "tag", "v2.0.0")
    before = bytes_of(project)
    update = ["update", "--defaults", "--quiet", "--trust", "--vcs-ref", "v2.0.0"]
    refused = run_copier(version, project, *update, codes=(1, 2, 3, 4))
    assert f"{SRC}policy/old.py" in refused.stdout + refused.stderr
    assert bytes_of(project) == before


@pytest.mark.parametrize("version", ["9.18.0", ""])
def test_a_template_without_tags_is_copied_updated_and_recopied(
    repository: Path, tmp_path: Path, version: str
) -> None:
    template = tmp_path / "untagged"
    git(tmp_path, "clone", "--quiet", "--no-tags", str(repository), str(template))
    project = tmp_path / "notes"
    start_project(version, template, project)
    first = load_answers(project)["_commit"]
    path = template / TABLES
    path.write_text(path.read_text().replace(*RELAXED[1:]))
    commit(template, "A relaxed profile")
    before = bytes_of(project)
    run_copier(version, project, "update", "--defaults", "--quiet", "--trust")
    assert load_answers(project)["_commit"] != first
    differing = find_changes(project, before)
    assert f"{SRC}policy/profile.py" in differing
    for name in differing:
        assert not name.startswith(f"{SRC}tools/"), name
    commit(project, "updated")
    recopy = ["recopy", "--defaults", "--quiet", "--skip-tasks", "--overwrite"]
    run_copier(version, project, *recopy)
    assert (project / AUTHORS).read_text().endswith("# mine\n")
    assert (project / DELETED).exists(), "recopy creates deleted files anew"

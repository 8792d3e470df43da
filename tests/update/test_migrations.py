"""What a release has to migrate in a living server, and what it moves: one case each (docs/policy-owners.md)."""

import json
from pathlib import Path

import pytest
from lifecycle import (
    AGENTS,
    ANSWERS,
    NEW_QUESTION,
    SRC,
    TEMPLATE,
    TOOLS,
    bytes_of,
    commit,
    find_changes,
    load_answers,
    migration,
    move_module,
    released,
    rename_author,
    run_suite,
    start,
    update,
)
from support import nightly_but, render


def test_d_a_renamed_question(repository: Path, tmp_path: Path) -> None:
    project = start(repository, tmp_path / "p", author='Ann "O\'Hara" {x}')
    before = bytes_of(project)
    rename_author(repository, "v2.0.0")
    update(project, "v2.0.0")
    assert find_changes(project, before) == {ANSWERS}
    assert load_answers(project)["maintainer"] == 'Ann "O\'Hara" {x}'
    assert "author" not in load_answers(project)
    assert (project / ANSWERS).read_text().startswith("# Written by Copier")


def test_e_a_stricter_validator_with_a_migration(
    repository: Path, tmp_path: Path
) -> None:
    """Without the migration the update stops (test_ownership.py); with it the answers are repaired."""
    project = start(repository, tmp_path / "p")
    before = bytes_of(project)
    old = "{{ v.tool_errors(tools, policy.confirm, _every_error is defined) }}"
    refused = "{% if 'delete_note' in tools %}delete_note is refused now{% endif %}"
    answers_file = [tool for tool in TOOLS if tool != "delete_note"]
    released(
        repository,
        repository,
        "v2.0.0",
        ("copier.yml", old, old + refused),
        migration("v2.0.0", "before", "answer", "tools", json.dumps(answers_file)),
    )
    update(project, "v2.0.0")
    assert load_answers(project)["tools"] == answers_file
    assert find_changes(project, before) == {ANSWERS}
    assert (project / SRC / "tools/delete_note.py").exists(), "the file is its owner's"


@pytest.mark.nightly
def test_e_an_answer_that_is_still_good_is_kept(
    repository: Path, tmp_path: Path
) -> None:
    """Two repairs, listed against the order of the questions; only one is needed."""
    project = start(repository, tmp_path / "p", author="Ann", description="Old words.")
    check = "{{ c.value('description', description)"
    refused = "{% if description == 'Old words.' %}it is old{% endif %}"
    released(
        repository,
        repository,
        "v2.0.0",
        ("copier.yml", check, refused + check),
        migration("v2.0.0", "before", "answer", "description", "New words."),
        migration("v2.0.0", "before", "answer", "author", "Nobody"),
    )
    update(project, "v2.0.0")
    assert (load_answers(project)["description"], load_answers(project)["author"]) == (
        "New words.",
        "Ann",
    )


@pytest.mark.nightly
def test_a_template_that_has_moved(repository: Path, tmp_path: Path) -> None:
    project = start(repository, tmp_path / "p")
    before = load_answers(project)
    place = repository.rename(tmp_path / "elsewhere")
    path = project / ANSWERS
    path.write_text(path.read_text().replace(str(repository), str(place)))
    commit(project)
    released(place, place, "v2.0.0", (AGENTS, "", "\nTwo.\n"))
    update(project, "v2.0.0")
    assert load_answers(project) == before | {
        "_src_path": str(place),
        "_commit": "v2.0.0",
    }
    assert (project / "AGENTS.md").read_text().endswith("\nTwo.\n")


def test_g_an_engine_file_moves(repository: Path, tmp_path: Path) -> None:
    project = start(repository, tmp_path / "p")
    released(repository, repository, "v2.0.0", *move_module(repository))
    update(project, "v2.0.0")
    assert not (project / SRC / "engine/texts.py").exists()
    assert (project / SRC / "engine/hygiene.py").exists()
    names = run_suite(project)
    assert "passed" in names
    assert "failed" not in names


def test_policy_that_needs_a_new_file_of_the_owner_creates_it(
    repository: Path, tmp_path: Path
) -> None:
    project = start(
        repository, tmp_path / "p", domain="my_notes", package_name="notes_mcp"
    )
    seam = SRC + "seam.py"
    listed = "/src/*/extend.py "
    released(
        repository,
        repository,
        "v2.0.0",
        (TEMPLATE + "seam.py.jinja", "", '"""The seam of {{ domain }}."""\n'),
        ("copier.yml", listed, listed + listed.replace("extend", "seam")),
        migration("v2.0.0", "after", "create", "{{ _copier_conf.src_path }}", seam),
    )
    update(project, "v2.0.0")
    assert (project / seam).read_text() == '"""The seam of my_notes."""\n'
    (project / seam).write_text('"""Mine."""\n')
    commit(project)
    released(repository, repository, "v3.0.0", (AGENTS, "", "\nThree.\n"))
    update(project, "v3.0.0")
    assert (project / seam).read_text() == '"""Mine."""\n'


@pytest.mark.nightly
@pytest.mark.parametrize("by", nightly_but(["v3.0.0"], ["v3.0.0", "v2.0.0 v3.0.0"]))
def test_a_chain_of_releases(repository: Path, tmp_path: Path, by: str) -> None:
    """v2 asks something new and moves a file, v3 renames a question: at once or in steps, the same comes out."""
    project = start(repository, tmp_path / "p", author="Ann")
    released(repository, repository, "v2.0.0", *NEW_QUESTION, *move_module(repository))
    rename_author(repository, "v3.0.0")
    for tag in by.split():
        update(project, tag)
    fresh = render(
        repository,
        tmp_path / "fresh",
        {"tools": TOOLS, "maintainer": "Ann"},
        vcs_ref="v3.0.0",
    )
    assert find_changes(project, bytes_of(fresh)) == set()

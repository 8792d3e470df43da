"""What a policy owner releases, and what it does to a living server: one case each, from v1 on (docs/policy-owners.md).

What needs a migration, or moves a policy file, is in test_migrations.py.
"""

import json
import re
import sys
from pathlib import Path

import copier
import pytest
from lifecycle import (
    ANSWERS,
    NEW_QUESTION,
    SRC,
    TEMPLATE,
    TOOLS,
    bytes_of,
    commit,
    find_changes,
    load_answers,
    released,
    run_suite,
    start,
    update,
)
from programs import run, uv
from support import ROOT, git, pin, server

RULES = "engine/src/copier_fastmcp_engine/testing/rules.py"
TABLES = "src/copier_fastmcp/tables.json"


@pytest.mark.nightly
def test_a_hint_of_a_behavior_changes(repository: Path, tmp_path: Path) -> None:
    """The guide's example: one commit in the template, one command in the project, a lock to review."""
    old = '"explicit": {"hints": "explicit", "destructive": "deletes_and_overwrites"'
    if old not in (ROOT / TABLES).read_text(encoding="utf-8"):
        pytest.skip("this fork's profile is another one than the guide begins with")
    project = start(repository, tmp_path / "p", tools=["get_note", "update_note"])
    pin(project)
    commit(project, "pinned")
    before = bytes_of(project)
    released(
        repository,
        repository,
        "v2.0.0",
        (TABLES, old, old.replace("_and_overwrites", "")),
    )
    update(project, "v2.0.0")
    assert all("/policy/" in name for name in find_changes(project, before) - {ANSWERS})
    wire = json.loads(server(project, "tools", "wire", "update_note").stdout)
    assert wire["annotations"]["destructiveHint"] is False
    output = run_suite(project)
    assert "update_note: RELAXED: destructiveHint true -> false" in output
    failed = set()
    for line in output.splitlines():
        if "FAILED" in line:
            failed.add(line.split("::")[1].split()[0])
    assert failed >= {
        "test_the_lock_pins_every_hint_and_gate",
        "test_the_tool_table_is_up_to_date",
    }
    assert "update_note: RELAXED: destructiveHint true -> false\n" in pin(project)
    changes = git(project, "diff", "--unified=0", "annotations.lock.json")
    assert '-        "destructiveHint": true' in changes
    assert '+        "destructiveHint": false' in changes
    assert "failed" not in run_suite(project)


def test_b_a_new_rule(repository: Path, tmp_path: Path) -> None:
    project = start(repository, tmp_path / "p")
    assert "failed" not in run_suite(project)
    name_rule = '    "name-valid": {'
    short = '    "name-short": {"profiles": ["policy"], "text": "Long names are cut.", "source": "our house", "fix": "shorten it"},\n'
    place = "    if tool.copies > 1:\n"
    check = (
        '    if len(tool.name) > 11:\n        yield "name-short", "the name is long"\n'
    )
    released(
        repository,
        repository,
        "v2.0.0",
        (TABLES, name_rule, short + name_rule),
        (RULES, place, check + place),
    )
    update(project, "v2.0.0")
    output = run_suite(project)
    assert "search_notes: the name is long; shorten it (name-short)" in output
    assert "1 failed" in output


def test_c_a_new_question(repository: Path, tmp_path: Path) -> None:
    project = start(repository, tmp_path / "p")
    before = bytes_of(project)
    released(repository, repository, "v2.0.0", *NEW_QUESTION)
    update(project, "v2.0.0")
    assert find_changes(project, before) == {ANSWERS}
    assert load_answers(project)["team"] == ""
    update(project, "v2.0.0", {"team": "Platform"})
    assert find_changes(project, before) == {ANSWERS, "AGENTS.md"}
    assert (project / "AGENTS.md").read_text().endswith("\nAsk Platform.\n")


def test_f_a_changed_stub_reaches_new_tools_only(
    repository: Path, tmp_path: Path
) -> None:
    project = start(repository, tmp_path / "p")
    before = bytes_of(project)
    (stub,) = (repository / TEMPLATE / "tools").glob("*yield tool*")
    released(
        repository,
        repository,
        "v2.0.0",
        (stub.relative_to(repository).as_posix(), "", "\n# the new stub\n"),
    )
    update(project, "v2.0.0", {"tools": [*TOOLS, "archive_note"]})
    new = {SRC + "tools/archive_note.py", "tests/tools/test_archive_note.py"}
    assert find_changes(project, before) == {ANSWERS, *new}
    assert "# the new stub" in (project / SRC / "tools/archive_note.py").read_text()


@pytest.mark.nightly
def test_h_every_bound_is_raised_beside_what_uv_added(
    repository: Path, tmp_path: Path
) -> None:
    project = start(repository, tmp_path / "p")
    mine = ["aiofiles>=24", "httpx>=0.28", "mcp-extra>=1", "zope>=5"]
    for words in (["add"], ["add", "--dev"]):
        done = run(uv(), *words, "--frozen", "--quiet", *mine, folder=project)
        assert done.returncode == 0, done.stderr
    path = project / "pyproject.toml"
    path.write_text(
        path.read_text() + '\n[tool.ruff.lint.per-file-ignores]\n"x.py" = ["F"]\n'
    )
    commit(project)
    name = "template/pyproject.toml.jinja"
    text = (repository / name).read_text()
    raised = re.sub(r'(?m)^(    "[^"]+>=\d+)', r"\g<1>9", text)
    assert raised.count("\n") == text.count("\n")
    released(repository, repository, "v2.0.0", (name, text, raised))
    before = path.read_text()
    update(project, "v2.0.0")
    after = path.read_text()
    assert "<<<<<<<" not in after
    original = []
    for line in before.splitlines():
        if line.strip(' ",') in mine:
            original.append(line)
    remaining = []
    for line in after.splitlines():
        if line.strip(' ",') in mine:
            remaining.append(line)
    assert remaining == original
    assert after == re.sub(
        r'(?m)^(    "(?!aio|httpx|mcp-extra|zope)[^"]+>=\d+)', r"\g<1>9", before
    )
    lint = [sys.executable, "-m", "ruff", "check", "--no-cache", "."]
    assert run(*lint, folder=project).returncode == 0, (
        "a table of their own is added to ours"
    )


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("profile", "confirm-all"),
        pytest.param("profile", "narrow", marks=pytest.mark.nightly),
        pytest.param("backend", "none", marks=pytest.mark.nightly),
        ("consent", "url"),
    ],
)
def test_i_an_owner_changes_an_answer_and_changes_it_back(
    first: Path, tmp_path: Path, name: str, value: str
) -> None:
    project = start(first, tmp_path / "p")
    before = bytes_of(project)
    original = load_answers(project)[name]
    update(project, "v1.0.0", {name: value})
    changed_project = bytes_of(project)
    assert changed_project != before
    differing = run_suite(project)
    assert "passed" in differing
    assert "failed" not in differing
    update(project, "v1.0.0", {name: original})
    assert find_changes(project, before) <= {ANSWERS}


@pytest.mark.nightly
def test_rolling_back_is_reverting_the_commit(repository: Path, tmp_path: Path) -> None:
    project = start(repository, tmp_path / "p")
    before = bytes_of(project)
    released(repository, repository, "v2.0.0", *NEW_QUESTION)
    update(project, "v2.0.0", {"team": "Platform"})
    with pytest.raises(copier.errors.UserMessageError, match="downgrad"):
        update(project, "v1.0.0")
    assert git(project, "status", "--porcelain") == ""
    git(project, "revert", "--no-edit", "HEAD")
    assert bytes_of(project) == before
    update(project, "v2.0.0")
    assert load_answers(project)["_commit"] == "v2.0.0"

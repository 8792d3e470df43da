"""What a policy owner releases, and what it does to a living server: one case each, from v1 on (docs/policy-owners.md)."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import copier
import pytest
import yaml
from lifecycle import SRC, TEMPLATE, TOOLS, Edit, bytes_of, commit, released, start, update
from support import ROOT, Answers, clone_template, git, python, render, server

RULES = TEMPLATE + "policy/rules.py.jinja"
ANSWERS = ".copier-answers.yml"
Release = Callable[..., Path]


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The template at v1."""
    return clone_template(tmp_path_factory.mktemp("first"), tag="v1.0.0")


@pytest.fixture
def repository(first: Path, tmp_path: Path) -> Path:
    """A copy of it that a test may release from."""
    return shutil.copytree(first, tmp_path / "template")


def said(project: Path) -> Answers:
    """The answers that a project keeps."""
    found: Answers = yaml.safe_load((project / ANSWERS).read_text(encoding="utf-8"))
    return found


def changed(project: Path, before: dict[str, str]) -> set[str]:
    """The files that are otherwise than before, new and gone ones among them."""
    after = bytes_of(project)
    return {name for name in before | after if before.get(name) != after.get(name)}


def suite(project: Path, *words: str) -> str:
    """What the project's own annotation suite says."""
    command = [
        "-m",
        "pytest",
        "-c",
        "config/pytest.ini",
        "--rootdir",
        ".",
        "-p",
        "no:cacheprovider",
    ]
    return python(project, *command, "tests/policy/test_annotations.py", *words).stdout


def test_a_hint_of_a_behavior_changes(repository: Path, tmp_path: Path) -> None:
    """The guide's example: one commit in the template, one command in the project, a lock to review."""
    old = "'explicit': {'hints': 'explicit', 'destructive': 'deletes_and_overwrites'"
    if old not in (ROOT / "macros/tables.jinja").read_text():
        pytest.skip("this fork's profile is another one than the guide begins with")
    tools = ["get_note", "update_note"]
    project = start(repository, tmp_path / "p", tools=tools)
    before = bytes_of(project)
    released(
        repository,
        repository,
        "v2.0.0",
        ("macros/tables.jinja", old, old.replace("_and_overwrites", "")),
    )
    update(project, "v2.0.0")
    assert all("/policy/" in name for name in changed(project, before) - {ANSWERS})
    wire = json.loads(server(project, "tools", "wire", "update_note").stdout)
    assert wire["annotations"]["destructiveHint"] is False
    found = suite(project)
    assert "update_note: RELAXED: destructiveHint true -> false" in found
    failed = {line.split("::")[1].split()[0] for line in found.splitlines() if "FAILED" in line}
    assert failed >= {"test_the_lock_pins_every_hint_and_gate", "test_the_tool_table_is_up_to_date"}
    for words in (["policy", "lock"], ["tools", "table", "--write"]):
        assert server(project, *words).returncode == 0
    changes = git(project, "diff", "--unified=0", "annotations.lock.json")
    assert '-      "destructiveHint": true' in changes
    assert '+      "destructiveHint": false' in changes
    assert "failed" not in suite(project)


def test_b_a_new_rule(repository: Path, tmp_path: Path) -> None:
    project = start(repository, tmp_path / "p")
    assert server(project, "policy", "check").returncode == 0
    name_rule = "    name-valid | policy"
    short = "    name-short | policy | Long names are cut. | our house | shorten it\n"
    body = '    title, hinted = tool.wire.get("title"), tool.annotations.get("title")\n'
    check = '    if len(tool.name) > 11:\n        yield "name-short", "the name is long"\n'
    released(
        repository,
        repository,
        "v2.0.0",
        (RULES, name_rule, short + name_rule),
        (RULES, body, body + check),
    )
    update(project, "v2.0.0")
    found = json.loads(server(project, "policy", "check", "--json").stdout)
    assert {(of["rule"], of["tool"]) for of in found} == {("name-short", "search_notes")}
    assert "search_notes: the name is long; shorten it (name-short)" in suite(project)


TEAM = "team:\n  type: str\n  default: ''\n  help: Who is asked\n\n"
AGENTS = "template/AGENTS.md.jinja"
NEW_QUESTION: list[Edit] = [
    ("copier.yml", "license:\n  type", TEAM + "license:\n  type"),
    (AGENTS, "", "{% if team %}\nAsk {{ team }}.\n{% endif %}"),
]


def test_c_a_new_question(repository: Path, tmp_path: Path) -> None:
    project = start(repository, tmp_path / "p")
    before = bytes_of(project)
    released(repository, repository, "v2.0.0", *NEW_QUESTION)
    update(project, "v2.0.0")
    assert changed(project, before) == {ANSWERS}
    assert said(project)["team"] == ""
    update(project, "v2.0.0", {"team": "Platform"})
    assert changed(project, before) == {ANSWERS, "AGENTS.md"}
    assert (project / "AGENTS.md").read_text().endswith("\nAsk Platform.\n")


def migration(version: str, stage: str, *words: str) -> Edit:
    """An entry of `_migrations`, as the guide writes it."""
    script = "{{ _copier_conf.src_path }}/hooks/migrate.py"
    command = json.dumps(["{{ _copier_python }}", script, *words])
    entry = f"  - version: {version}\n    when: \"{{{{ _stage == '{stage}' }}}}\"\n    command: {command}\n"
    return ("copier.yml", "_tasks:\n", f"_migrations:\n{entry}\n_tasks:\n")


def rename_author(repository: Path, version: str) -> Path:
    """A release in which `author` is called `maintainer`."""
    edits = []
    for path in (repository / "template").rglob("*.jinja"):
        name = path.relative_to(repository).as_posix()
        text = path.read_text(encoding="utf-8")
        for old, new in (
            ("if author", "if maintainer"),
            ("(author", "(maintainer"),
            ("{ author", "{ maintainer"),
        ):
            if old in text:
                edits.append((name, old, new))
    text = (repository / "copier.yml").read_text()
    start, end = text.index("author:\n  type"), text.index("license:\n  type")
    question = text[start:end]
    new = (
        question.replace("author:", "maintainer:")
        .replace("if author", "if maintainer")
        .replace("(author", "(maintainer")
    )
    return released(
        repository,
        repository,
        version,
        ("copier.yml", question, new),
        migration(version, "before", "rename", "author", "maintainer"),
        *edits,
    )


def test_d_a_renamed_question(repository: Path, tmp_path: Path) -> None:
    project = start(repository, tmp_path / "p", author='Ann "O\'Hara" {x}')
    before = bytes_of(project)
    rename_author(repository, "v2.0.0")
    update(project, "v2.0.0")
    assert changed(project, before) == {ANSWERS}
    assert said(project)["maintainer"] == 'Ann "O\'Hara" {x}'
    assert "author" not in said(project)
    assert (project / ANSWERS).read_text().startswith("# Written by Copier")


def test_e_a_stricter_validator_with_a_migration(repository: Path, tmp_path: Path) -> None:
    """Without the migration the update stops (test_ownership.py); with it the answers are mended."""
    project = start(repository, tmp_path / "p")
    before = bytes_of(project)
    old = "{% set wrong = v.tool_errors(tools) %}"
    refused = "{% if 'delete_note' in tools %}delete_note is refused now{% endif %}"
    kept = [tool for tool in TOOLS if tool != "delete_note"]
    released(
        repository,
        repository,
        "v2.0.0",
        ("copier.yml", old, old + refused),
        migration("v2.0.0", "before", "answer", "tools", json.dumps(kept)),
    )
    update(project, "v2.0.0")
    assert said(project)["tools"] == kept
    records = ("0003-confirmation.md", "0005-tool-interface.md")  # they list the tools
    assert changed(project, before) == {ANSWERS, *(f"docs/adr/policy/{name}" for name in records)}
    assert (project / SRC / "tools/delete_note.py").exists(), "the file is its owner's"


def test_f_a_changed_stub_reaches_new_tools_only(repository: Path, tmp_path: Path) -> None:
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
    assert changed(project, before) == {ANSWERS, "docs/adr/policy/0005-tool-interface.md", *new}
    assert "# the new stub" in (project / SRC / "tools/archive_note.py").read_text()


def move(repository: Path) -> list[Edit]:
    """policy/text.py becomes policy/hygiene.py."""
    folder = repository / TEMPLATE / "policy"
    (folder / "text.py.jinja").rename(folder / "hygiene.py.jinja")
    return [
        (path.relative_to(repository).as_posix(), "from .text import", "from .hygiene import")
        for path in folder.iterdir()
        if "from .text import" in path.read_text(encoding="utf-8")
    ]


def test_g_a_policy_file_moves(repository: Path, tmp_path: Path) -> None:
    project = start(repository, tmp_path / "p")
    released(repository, repository, "v2.0.0", *move(repository))
    update(project, "v2.0.0")
    assert not (project / SRC / "policy/text.py").exists()
    assert (project / SRC / "policy/hygiene.py").exists()
    assert server(project, "policy", "check").returncode == 0


def test_h_a_dependency_bump(repository: Path, tmp_path: Path) -> None:
    project = start(repository, tmp_path / "p")
    path = project / "pyproject.toml"
    text = path.read_text()
    mine = text.replace('    "rich>=13.9",\n', '    "rich>=13.9",\n    "mine>=1",\n')
    assert mine != text
    path.write_text(mine)
    commit(project)
    released(
        repository,
        repository,
        "v2.0.0",
        ("template/pyproject.toml.jinja", '"fastmcp>=4.1,<5"', '"fastmcp>=4.2,<5"'),
    )
    update(project, "v2.0.0")
    assert path.read_text() == mine.replace("fastmcp>=4.1", "fastmcp>=4.2")


@pytest.mark.parametrize(
    ("name", "other"),
    [("profile", "confirm-all"), ("profile", "narrow"), ("backend", "none"), ("consent", "url")],
)
def test_i_an_owner_changes_an_answer_and_changes_it_back(
    first: Path, tmp_path: Path, name: str, other: str
) -> None:
    project = start(first, tmp_path / "p")
    before = bytes_of(project)
    was = said(project)[name]
    update(project, "v1.0.0", {name: other})
    there = bytes_of(project)
    assert there != before
    done = server(project, "policy", "check")
    assert done.returncode == 0, done.stdout + done.stderr
    update(project, "v1.0.0", {name: was})
    assert changed(project, before) <= {ANSWERS}


def test_policy_that_needs_a_new_file_of_the_owner_creates_it(
    repository: Path, tmp_path: Path
) -> None:
    project = start(repository, tmp_path / "p", domain="my_notes", package_name="notes_mcp")
    seam = SRC + "seam.py"
    excluded = "  - \"{% if _copier_operation == 'update' %}/src/*/extend.py{% endif %}\"\n"
    released(
        repository,
        repository,
        "v2.0.0",
        (TEMPLATE + "seam.py.jinja", "", '"""The seam of {{ domain }}."""\n'),
        ("copier.yml", excluded, excluded + excluded.replace("extend", "seam")),
        migration("v2.0.0", "after", "create", "{{ _copier_conf.src_path }}", seam),
    )
    update(project, "v2.0.0")
    assert (project / seam).read_text() == '"""The seam of my_notes."""\n'
    (project / seam).write_text('"""Mine."""\n')
    commit(project)
    released(repository, repository, "v3.0.0", (AGENTS, "", "\nThree.\n"))
    update(project, "v3.0.0")
    assert (project / seam).read_text() == '"""Mine."""\n'


@pytest.mark.parametrize("by", ["v3.0.0", "v2.0.0 v3.0.0"])
def test_a_chain_of_releases(repository: Path, tmp_path: Path, by: str) -> None:
    """v2 asks something new and moves a file, v3 renames a question: at once or in steps, the same comes out."""
    project = start(repository, tmp_path / "p", author="Ann")
    released(repository, repository, "v2.0.0", *NEW_QUESTION, *move(repository))
    rename_author(repository, "v3.0.0")
    for tag in by.split():
        update(project, tag)
    fresh = render(
        repository, tmp_path / "fresh", {"tools": TOOLS, "maintainer": "Ann"}, vcs_ref="v3.0.0"
    )
    assert changed(project, bytes_of(fresh)) == set()


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
    assert said(project)["_commit"] == "v2.0.0"

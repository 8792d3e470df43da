"""Fixtures of the command's tests: the template in two releases."""

import shutil
from pathlib import Path

import pytest
from lifecycle import commit, released, start
from support import clone_template, python

RULES, TEXTS = (
    "engine/src/copier_fastmcp_engine/testing/rules.py",
    "src/copier_fastmcp/tables.json",
)
LONG = 24


@pytest.fixture(scope="session", autouse=True)
def _in_one_environment(one_environment: None) -> None:
    """All tests of the command share it."""


@pytest.fixture(scope="session")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """v1, and v2 with a new rule, another text in each policy ADR and a newer dependency."""
    clone = clone_template(tmp_path_factory.mktemp("template"), tag="v1.0.0")
    valid = '    "name-valid": {'
    words = '"text": "Long names are cut.", "source": "our house", "fix": "shorten it"'
    short = f'    "name-short": {{"profiles": ["policy"], {words}}},\n'
    check = '    if not re.fullmatch(r"[A-Za-z0-9_.-]{1,64}", tool.name):\n'
    longer = f'    if len(tool.name) > {LONG}:\n        yield "name-short", "the name is long"\n'
    return released(
        clone,
        clone,
        "v2.0.0",
        (TEXTS, valid, short + valid),
        (RULES, check, longer + check),
        ("template/pyproject.toml.jinja", '"fastmcp>=4.1,<5"', '"fastmcp>=4.1.2,<5"'),
        ("template/AGENTS.md.jinja", "", "\nRelease 2.\n"),
    )


@pytest.fixture(scope="session")
def started(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project under git, pinned; tests must not write in it."""
    template = clone_template(tmp_path_factory.mktemp("template"), tag="v1.0.0")
    tools = "get_note, delete_note"
    project = start(template, tmp_path_factory.mktemp("started") / "p", tools=tools)
    pinned = python(project, "tests/policy/pin.py")
    assert pinned.returncode == 0, pinned.stderr
    commit(project)
    return project


@pytest.fixture
def mine(started: Path, tmp_path: Path) -> Path:
    """A copy of it to write in."""
    return shutil.copytree(started, tmp_path / "my notes")

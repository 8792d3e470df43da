"""A behavior that the author wrote counts whatever the name: it is served, and its probe runs."""

import json
from pathlib import Path

import pytest
from support import python, render, server

WORDS = {
    "check_in_guest": "action",
    "mark_as_read": "put",
    "shopping_list_delete": "delete",
    "run_ticket": "read",
    "save_ticket_search": "create",
}


@pytest.fixture(scope="module")
def misleading(template: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project whose tools have names that say something else."""
    typed = ", ".join(f"{name}={behavior}" for name, behavior in WORDS.items())
    return render(template, tmp_path_factory.mktemp("named"), {"tools": typed})


def test_each_is_served_under_its_behavior(misleading: Path) -> None:
    done = server(misleading, "tools", "list", "--json")
    assert done.returncode == 0, done.stderr
    rows = {row["name"]: row for row in json.loads(done.stdout)}
    assert {name: row["behavior"] for name, row in rows.items()} == WORDS
    hints = {name: row["hints"] for name, row in rows.items()}
    assert hints["run_ticket"]["readOnlyHint"] is True
    assert hints["check_in_guest"]["readOnlyHint"] is False
    assert hints["mark_as_read"]["idempotentHint"] is True
    assert hints["shopping_list_delete"]["destructiveHint"] is True
    assert hints["save_ticket_search"]["idempotentHint"] is False


def test_its_probe_proves_it(misleading: Path) -> None:
    done = python(
        misleading,
        "-m",
        "pytest",
        "-p",
        "no:cacheprovider",
        "tests/policy/test_behavior.py",
    )
    assert done.returncode == 0, done.stdout[-3000:]
    assert " passed" in done.stdout
    assert "skipped" not in done.stdout, "every one of them is probed"

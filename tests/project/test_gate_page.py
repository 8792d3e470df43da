"""The page that asks, in a rendered server under attack: the rows are in tests/attacks/gate."""

from pathlib import Path

import pytest
from inside import attack
from support import Answers, python, render

PAGE: Answers = {
    "profile": "custom",
    "confirm_fallback": "page",
    "tools": "get_note, delete_note",
}
TABLES = [
    "page",
    "page_opened",
    "page_listener",
    "paths",
    "browser",
    "answers",
    "rows",
    "shown",
    "typed",
]


@pytest.fixture(scope="module")
def paged(template: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project whose tools ask on a page."""
    return render(template, tmp_path_factory.mktemp("paged"), PAGE)


@pytest.mark.parametrize("table", TABLES)
def test_the_page_holds(paged: Path, table: str) -> None:
    attack(paged, f"gate/test_{table}.py")


def test_it_asks_for_what_nobody_declared(paged: Path) -> None:
    attack(paged, "gate/test_page_undeclared.py")


def test_its_own_suite_holds(paged: Path) -> None:
    words = [
        "-p",
        "no:cacheprovider",
        "tests/policy/test_page.py",
        "tests/policy/test_confirmation.py",
    ]
    done = python(paged, "-m", "pytest", *words)
    assert done.returncode == 0, done.stdout[-3000:]

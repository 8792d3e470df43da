"""Consent of a rendered server under attack, and each of its guards: the rows are in tests/attacks/consent."""

import os
from pathlib import Path

import pytest
from inside import ATTACKS, attack, guards, insist_on
from support import Answers, Renders, answers, nightly_but, python, render

FOLDER = ATTACKS / "consent"
FILES = sorted(path.name for path in FOLDER.glob("test_*.py"))
# Where every write asks, also the tools that come along: the rows that call a tool.
ASKING: Answers = {"profile": "confirm-all"}
CALLING = ["test_ways.py", "test_tools.py", "test_grants.py"]


@pytest.mark.parametrize("file", FILES)
def test_consent_holds(example: Renders, file: str) -> None:
    attack(example("consent"), f"consent/{file}")


@pytest.fixture(scope="module")
def asking(template: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example under the profile that asks before every write."""
    return render(
        template, tmp_path_factory.mktemp("asking"), answers("consent") | ASKING
    )


@pytest.mark.parametrize("file", nightly_but(["test_tools.py"], CALLING))
def test_consent_holds_where_every_write_asks(asking: Path, file: str) -> None:
    attack(asking, f"consent/{file}")


def test_its_own_suite_holds_where_every_write_asks(asking: Path) -> None:
    words = ["-p", "no:cacheprovider", "tests/policy/test_consent.py"]
    done = python(asking, "-m", "pytest", *words)
    assert done.returncode == 0, done.stdout[-3000:]


@pytest.mark.nightly
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork to be quick")
def test_without_a_guard_its_row_fails(example: Renders, tmp_path: Path) -> None:
    insist_on(
        guards(FOLDER / "guards.yml"), {"": example("consent")}, tmp_path, whole=False
    )


@pytest.mark.nightly
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork to be quick")
def test_without_a_guard_of_what_is_served_its_row_fails(
    example: Renders, tmp_path: Path
) -> None:
    insist_on(
        guards(FOLDER / "served.yml"), {"": example("consent")}, tmp_path, whole=False
    )

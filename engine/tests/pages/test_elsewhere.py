"""Whether a user is at this machine: no page is opened, and no link named, where nobody could open it."""

from pathlib import Path

import pytest

from copier_fastmcp_engine.pages.pages import elsewhere

NAMES = ("SSH_CONNECTION", "SSH_CLIENT", "SSH_TTY", "CI", "container")
MARKS = ("/.dockerenv", "/run/.containerenv")


@pytest.fixture(autouse=True)
def _at_a_desk(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in NAMES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(Path, "exists", lambda path: False)


def test_at_a_desk_a_user_is_here() -> None:
    assert not elsewhere()


@pytest.mark.parametrize("name", NAMES)
def test_a_variable_says_that_nobody_is_here(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv(name, "1")
    assert elsewhere()


@pytest.mark.parametrize("mark", MARKS)
def test_in_a_container_nobody_is_here(
    monkeypatch: pytest.MonkeyPatch, mark: str
) -> None:
    monkeypatch.setattr(Path, "exists", lambda path: str(path) == mark)
    assert elsewhere()

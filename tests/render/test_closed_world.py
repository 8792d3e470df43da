"""What a new tool file says about its world follows from the backend and the profile."""

import pytest
from support import rendered

OPEN = {"hint": "open_world", "value": True, "why": "It sends mail."}


def read_tool(**answers: object) -> str:
    files = rendered({"tools": ["get_note"], **answers})
    return files["src/notes_mcp/tools/get_note.py"]


def test_an_embedded_store_is_a_closed_world() -> None:
    assert "open_world=False" in read_tool(backend="sqlite", profile="explicit")


@pytest.mark.parametrize(
    "answers",
    [
        {"backend": "sqlite", "profile": "end-state"},
        {"backend": "sqlite", "profile": "narrow"},
        {"backend": "none", "profile": "explicit"},
        {
            "backend": "http",
            "api": "https://api.example.com",
            "profile": "explicit",
        },
        {
            "backend": "sqlite",
            "profile": "explicit",
            "tools": [{"name": "get_note", "open_world": True}],
        },
        {
            "backend": "sqlite",
            "profile": "explicit",
            "tools": [{"name": "get_note", "exceptions": [OPEN]}],
        },
    ],
    ids=["end-state", "narrow", "none", "http", "declared", "excepted"],
)
def test_nothing_is_declared_closed_that_may_be_open(
    answers: dict[str, object],
) -> None:
    assert "open_world=False" not in read_tool(**answers)

"""The gate of a rendered server under attack, in every profile: the rows are in tests/attacks/gate."""

import functools
from collections.abc import Callable
from pathlib import Path

import pytest
from inside import attack
from support import Answers, nightly_but, render, server

CONSENT: Answers = {"consent": "url"}
PROFILES: dict[str, Answers] = {
    "explicit": {},
    "end-state": {"profile": "end-state"},
    "narrow": {"profile": "narrow", "backend": "none"},
    "confirm-all": {"profile": "confirm-all"},
    "refuse": {
        "profile": "custom",
        "confirm": "destructive",
        "confirm_fallback": "refuse",
    },
    "consent": CONSENT,
}
TABLES = ["answers", "rows", "by_hand", "shown", "typed"]
# What a server with consent does not start without.
PROVIDER = {
    "NOTES_MCP_ENABLE_OFFLINE_ACCESS": "true",
    "NOTES_MCP_CONSENT_DATABASE": ":memory:",
    "NOTES_MCP_OIDC_ISSUER": "https://example.com",
    "NOTES_MCP_OIDC_CLIENT_ID": "suite",
}


@pytest.fixture(scope="session")
def profile(
    template: Path, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str], Path]:
    """The project of a profile, with few tools of its own."""
    tools = {"tools": "get_note, delete_note"}
    return functools.cache(
        lambda name: render(
            template, tmp_path_factory.mktemp(name), tools | PROFILES[name]
        )
    )


@pytest.mark.parametrize(
    "name", nightly_but(["explicit", "refuse", "consent"], PROFILES)
)
def test_every_row_holds(profile: Callable[[str], Path], name: str) -> None:
    environ = PROVIDER if PROFILES[name] is CONSENT else {}
    attack(profile(name), *(f"gate/test_{table}.py" for table in TABLES), **environ)


@pytest.mark.parametrize(
    "name", nightly_but(["explicit", "refuse"], ["explicit", "confirm-all", "refuse"])
)
def test_every_path_of_a_client_is_as_the_table_says(
    profile: Callable[[str], Path], name: str
) -> None:
    attack(profile(name), "gate/test_paths.py")


@pytest.mark.parametrize("file", ["crowd", "watched", "unusual", "store"])
def test_it_holds_for_crowds_unusual_tools_and_lost_stores(
    project: Path, file: str
) -> None:
    attack(project, f"gate/test_{file}.py")


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("STATE_KEYS", '["short"]', "request-state keys must be at least 32 bytes"),
        ("CONFIRM_SECONDS", "1e308", "less than or equal to 86400"),
        ("STATE", "/proc/nowhere/state", "nowhere"),
    ],
)
def test_a_state_or_time_that_cannot_be_kept_stops_the_start_with_one_line(
    project: Path, name: str, value: str, reason: str
) -> None:
    done = server(project, "tools", "list", **{f"NOTES_MCP_{name}": value})
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("notes-mcp: ")
    assert done.stderr.count("\n") == 1
    assert reason in done.stderr

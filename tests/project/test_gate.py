"""The gate of rendered servers, one of each kind: its own suite holds, and misses a gate that is taken out.

The attacks on the gate run in process, in engine/tests/confirmation.
"""

import shutil
from pathlib import Path

import pytest
from support import PYTEST, Answers, nightly_but, python, render, server

KINDS: dict[str, Answers] = {
    "end-state": {"profile": "end-state"},
    "narrow": {"profile": "narrow", "backend": "none"},
    "confirm-all": {"profile": "confirm-all"},
    "refuse": {
        "profile": "custom",
        "confirm": "destructive",
        "confirm_fallback": "refuse",
    },
    "page": {"profile": "custom", "confirm_fallback": "page"},
}
SHORT_RUN = "tests/policy/test_confirmation.py"
# What a later definition in a module of the engine replaces, and the test of the project that then fails
TAKEN_OUT = {
    "every-answer-is-a-yes": (
        "confirmation/gate.py",
        "def _parse_response(response):\n    return ConfirmationResult.CONFIRMED\n",
        "test_each_call_is_as_its_person_says",
    ),
    "nobody-is-asked": (
        "confirmation/elicitation.py",
        "async def shows_forms(ctx):\n    return False\n",
        "test_each_call_is_as_its_person_says",
    ),
    "an-entry-is-never-used-up": (
        "confirmation/pending.py",
        "PendingStore.take = PendingStore.get\n",
        "test_an_answer_needs_a_question_and_counts_once",
    ),
    "an-approval-is-of-any-arguments": (
        "confirmation/elicitation.py",
        'def digest(*parts):\n    return "the same"\n',
        "test_a_client_that_cannot_ask_applies_a_preview_once",
    ),
}


@pytest.mark.parametrize("kind", nightly_but(["refuse", "page"], KINDS))
def test_its_own_suite_holds(template: Path, tmp_path: Path, kind: str) -> None:
    tools = {"tools": "get_note, delete_note"}
    project = render(template, tmp_path / kind, tools | KINDS[kind])
    files = [SHORT_RUN]
    if kind == "page":
        files.append("tests/policy/test_page.py")
    done = python(project, *PYTEST, *files)
    assert done.returncode == 0, done.stdout[-3000:]


@pytest.mark.parametrize("name", nightly_but(["every-answer-is-a-yes"], TAKEN_OUT))
def test_its_own_suite_misses_what_is_taken_out(
    project: Path, tmp_path: Path, name: str
) -> None:
    module, definition, expected = TAKEN_OUT[name]
    copy = tmp_path / "copy"
    shutil.copytree(project, copy, ignore=shutil.ignore_patterns(".*cache"))
    with (copy / "src/notes_mcp/engine" / module).open("a", encoding="utf-8") as file:
        file.write(f"\n\n{definition}")
    done = python(copy, *PYTEST, SHORT_RUN)
    assert done.returncode == 1
    assert f"FAILED {SHORT_RUN}::{expected}" in done.stdout


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

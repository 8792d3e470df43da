"""Each guard of the gate is needed: without it, its row of tests/attacks/gate fails; with it, the row holds."""

import dataclasses
import os
from pathlib import Path

import pytest
from inside import ATTACKS, guards, insist_on
from support import Answers, render

PROFILES: dict[str, Answers] = {
    "": {},
    "preview-first": {"profile": "confirm-all"},
    "refuse": {"profile": "custom", "confirm_fallback": "refuse"},
    "page": {"profile": "custom", "confirm_fallback": "page"},
}
GUARDS = [
    *guards(ATTACKS / "gate/guards.yml"),
    *guards(ATTACKS / "gate/guards_page.yml"),
]
# The short run of a generated project, each row with guards that it misses when they are gone.
SHORT = {
    "each_call_is_as_its_person_says[legacy]": [
        "only an accepted form is a yes",
        "who can be asked is asked",
        "the gate is in the function that is served",
    ],
    "each_call_is_as_its_person_says[2026-07-28]": [
        "only an accepted form is a yes",
        "who can be asked is asked",
        "the gate is in the function that is served",
    ],
    "a_client_that_cannot_ask_applies_a_preview_once[legacy]": [
        "only confirm=true applies a preview",
        "a preview is applied once",
        "an approval is of its arguments",
        "a client that cannot be asked is refused",
    ],
    "a_client_that_cannot_ask_applies_a_preview_once[2026-07-28]": [
        "only confirm=true applies a preview",
        "a preview is applied once",
        "an approval is of its arguments",
        "a client that cannot be asked is refused",
    ],
    "an_answer_needs_a_question_and_counts_once": [
        "an answer needs a question",
        "a state is answered once",
    ],
}
pytestmark = pytest.mark.skipif(
    not hasattr(os, "fork"), reason="needs fork to be quick"
)


@pytest.fixture(scope="module")
def projects(
    template: Path, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Path]:
    tools = {"tools": "get_note, delete_note"}
    folder = tmp_path_factory.mktemp("profiles")
    return {
        name: render(template, folder / f"-{name}", tools | answers)
        for name, answers in PROFILES.items()
    }


def test_without_a_guard_its_row_fails_and_with_it_holds(
    projects: dict[str, Path], tmp_path: Path
) -> None:
    insist_on(GUARDS, projects, tmp_path)


def test_the_short_run_of_a_project_misses_a_guard_too(
    projects: dict[str, Path], tmp_path: Path
) -> None:
    known = {guard.name: guard for guard in GUARDS}
    short = [
        dataclasses.replace(
            known[guard], row=f"tests/policy/test_confirmation.py::test_{row}"
        )
        for row, names in SHORT.items()
        for guard in names
    ]
    own_words = ["-p", "no:cacheprovider"]
    insist_on(
        short,
        projects,
        tmp_path,
        words=lambda *rows: [*own_words, *rows],
        vendored=True,
    )

"""Each guard of the gate is needed: without it, its row of tests/attacks/gate fails; with it, the row holds."""

import os
from pathlib import Path

import pytest
from inside import ATTACKS, guards, insist_on
from support import Answers, render

PROFILES: dict[str, Answers] = {
    "": {},
    "preview-first": {"profile": "confirm-all"},
    "refuse": {"profile": "custom", "confirm_fallback": "refuse"},
}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork to be quick")
def test_without_a_guard_its_row_fails_and_with_it_holds(template: Path, tmp_path: Path) -> None:
    tools = {"tools": "get_note, delete_note"}
    projects = {
        name: render(template, tmp_path / f"-{name}", tools | answers)
        for name, answers in PROFILES.items()
    }
    insist_on(guards(ATTACKS / "gate/guards.yml"), projects, tmp_path)

"""Texts of a rendered server, and what they must not say; without any one guard of guards.yml a row fails."""

import os
from pathlib import Path

import pytest
import yaml
from inside import Guard, attack, insist_on, rows_of

LISTED = yaml.safe_load(
    (Path(__file__).parent / "guards.yml").read_text(encoding="utf-8")
)
ROWS = "metadata/test_texts.py"


def test_every_row_holds(project: Path) -> None:
    attack(project, ROWS)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork to be quick")
def test_without_a_guard_a_row_fails(project: Path, tmp_path: Path) -> None:
    guards = [Guard(edit, ROWS, (edit,)) for edit in LISTED]
    insist_on(
        guards,
        {"": project},
        tmp_path,
        lambda *rows: ["-x", *rows_of(*rows)],
        whole=False,
    )

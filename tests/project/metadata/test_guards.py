"""A project's own suite notices when any one guard of its overrides is gone; the list is in guards.yml."""

import os
from pathlib import Path

import pytest
import yaml
from inside import Guard, insist_on

LISTED = yaml.safe_load((Path(__file__).parent / "guards.yml").read_text(encoding="utf-8"))
SUITE = "tests/policy/test_metadata.py"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork to be quick")
def test_without_a_guard_the_projects_suite_fails(project: Path, tmp_path: Path) -> None:
    insist_on(
        [Guard(edit, SUITE, (edit,)) for edit in LISTED],
        {"": project},
        tmp_path,
        words=lambda *rows: ["-p", "no:cacheprovider", "-x", *rows],
    )

"""Reading lists whose names say what happens to a field: the bodies do it, and the suite proves their hints."""

from pathlib import Path

import pytest
from reading_names import ALL, CALLED, FIELDS, list_once
from support import PYTEST, check, python, render

AUTHORS = Path(__file__).parent / "authors"


def render_names(template: Path, folder: Path, tools: str) -> Path:
    answers = {"domain": "reading", "fields": FIELDS, "tools": list_once(tools)}
    return render(template, folder / "reading", answers)


def test_the_bodies_do_what_the_names_say(template: Path, tmp_path: Path) -> None:
    reading = render_names(template, tmp_path, CALLED)
    done = python(reading, *PYTEST, str(AUTHORS / "test_reading_names.py"))
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.nightly
def test_the_suite_proves_their_hints(template: Path, tmp_path: Path) -> None:
    assert check(render_names(template, tmp_path, ALL)) == {}

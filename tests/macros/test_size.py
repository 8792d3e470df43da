"""The tool language stays small: the figures of its files, which only go down without a word."""

from itertools import chain

import pytest
from support import ROOT

JINJA = [*(ROOT / "macros").iterdir(), *(ROOT / "writing").iterdir()]


def lines(folder: str) -> int:
    """How many lines the files of a folder have."""
    return sum(len(path.read_text("utf-8").splitlines()) for path in (ROOT / folder).iterdir())


def test_the_macros_are_short() -> None:
    assert lines("macros") <= 1_190  # 300 of them are about requests, 22 about adoption
    assert (
        lines("writing") <= 962
    )  # 80 of them list the settings, 280 write requests and their probes
    assert len((ROOT / "copier.yml").read_text("utf-8").splitlines()) <= 190


@pytest.mark.parametrize("path", JINJA, ids=lambda path: path.name)
def test_each_file_can_be_read(path: object) -> None:
    text = (ROOT / str(path)).read_text("utf-8").splitlines()
    assert len(text) <= 300
    assert max(map(len, text)) <= 120


def test_no_test_of_the_macros_is_long() -> None:
    files = chain((ROOT / "tests/macros").rglob("*.*"), (ROOT / "tests/render").glob("*.py"))
    long = [
        path.name
        for path in files
        if path.suffix in (".py", ".yml") and len(path.read_text("utf-8").splitlines()) > 300
    ]
    assert long == []

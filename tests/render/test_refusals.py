"""An invalid answer stops Copier before it writes, with our message in the last line."""

import datetime as dt
import subprocess
import sys
from pathlib import Path
from typing import Any

import copier
import pytest
import yaml
from support import ROOT

BAD = {"tools": ["get_note", {"name": "shelve_note"}, {"name": "get_note"}]}
LAST = "and 1 more: copier-fastmcp new --from FILE lists all"


@pytest.mark.parametrize("exists", [False, True], ids=["new", "existing"])
def test_copier_stops_before_anything_is_written(
    exists: bool, template: Path, tmp_path: Path
) -> None:
    project = tmp_path / "p"
    if exists:
        project.mkdir()
        (project / "mine.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(
        ValueError, match="Validation error for question 'tools'"
    ) as caught:
        copier.run_copy(
            str(template), project, data=BAD, defaults=True, quiet=True, skip_tasks=True
        )
    assert str(caught.value).splitlines()[-1] == LAST
    assert "write shelve_note=put; " in str(caught.value)
    names = [path.name for path in tmp_path.rglob("*")]
    assert names == (["p", "mine.txt"] if exists else [])


def test_the_last_line_on_the_terminal_is_ours(template: Path, tmp_path: Path) -> None:
    answers = tmp_path / "answers.yml"
    answers.write_text(yaml.safe_dump(BAD), encoding="utf-8")
    words = ["copy", "--defaults", "--skip-tasks", "--data-file", str(answers)]
    done = subprocess.run(
        [sys.executable, "-m", "copier", *words, str(template), str(tmp_path / "p")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr.splitlines()[-1]) == (1, LAST)
    assert not (tmp_path / "p").exists()


@pytest.mark.parametrize(
    ("answers", "message"),
    [
        (
            {"tools": [{"name": "get_note", "titel": "x"}]},
            'unknown key "titel"; write title (tools[1])',
        ),
        (
            {"resources": [{"uri": "x"}]},
            "and 2 more: copier-fastmcp new --from FILE lists all",
        ),
        (
            {"tools": [{"name": "delete_note", "confirm": False}]},
            "or remove confirm (tools[1])",
        ),
        ({"domain": "Notes"}, "then a-z, 0-9 and _, 32 at most)"),
        ({"tools": [{dt.date(2026, 1, 31): 1}]}, 'write it in quotes, e.g. "name"'),
        (
            {"specs": [{"name": "get_x"}]},
            "this value is computed; remove it",
        ),
        (
            {"before": {"domain": "x"}},
            "this value is computed; remove it",
        ),
        (
            {"adopted": {"place": "src/../..", "serves": ""}},
            'serves: "notes.server:mcp"}',
        ),
        (
            {"adopted": {"place": "src", "serves": 'a"; b()'}},
            'serves: "notes.server:mcp"}',
        ),
    ],
)
def test_every_question_stops_it(
    answers: dict[str, Any], message: str, template: Path, tmp_path: Path
) -> None:
    with pytest.raises(ValueError, match="Validation error") as caught:
        copier.run_copy(
            str(template),
            tmp_path / "p",
            data=answers,
            defaults=True,
            quiet=True,
            skip_tasks=True,
        )
    assert str(caught.value).endswith(message)
    assert not (tmp_path / "p").exists()


def test_nothing_that_is_computed_can_be_said() -> None:
    """An unvalidated value would be rendered verbatim, including code."""
    questions = yaml.safe_load((ROOT / "copier.yml").read_text(encoding="utf-8"))
    computed = {}
    for name, question in questions.items():
        if name[0] != "_" and question["type"] == "json":
            computed[name] = question
    assert {"before", "policy", "specs", "resource_specs", "layout"} <= computed.keys()
    for question in computed.values():
        assert "computed" in question["validator"]

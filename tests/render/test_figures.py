"""The figures of docs/performance.md: a missed aim is said to be missed, and the page shows what was measured."""

import ast
import dataclasses
import json
import subprocess
import sys
from pathlib import Path

import pytest
from support import rendered

from benchmarks.doors import OPERATIONS, SCRIPT
from benchmarks.figures import Answer, Figure, Table, answers_of, in_turns, markdown
from benchmarks.mistakes import MISTAKES

ROOT = Path(__file__).parents[2]


def figure(ours: float, **aim: float) -> Figure:
    """One figure beside a floor of two seconds."""
    return Figure(what="it", unit="s", ours=ours, floor=2.0, beside="nothing", **aim)


@pytest.mark.parametrize(
    ("ours", "aim", "verdict"),
    [
        (2.2, {"ratio_at_most": 1.1}, "yes"),
        (2.22, {"ratio_at_most": 1.1}, "no"),
        (0.3, {"at_most": 0.3}, "yes"),
        (0.31, {"at_most": 0.3}, "no"),
        (9.0, {}, ""),
    ],
)
def test_an_aim_is_reached_or_not(ours: float, aim: dict[str, float], verdict: str) -> None:
    assert figure(ours, **aim).verdict == verdict


def test_each_mistake_can_be_made_in_a_fresh_project() -> None:
    files = rendered({"tools": "add_note, list_notes, get_note"})
    for mistake, ((tool, text, _), _) in MISTAKES.items():
        assert text in files.get(f"src/notes_mcp/tools/{tool}.py", ""), mistake


def test_what_a_benchmark_prints_is_what_the_page_reads() -> None:
    answers: list[Answer] = [figure(2.2, ratio_at_most=1.1), Table([["", "a"], ["b", "c"]])]
    lines = "\n".join(json.dumps(dataclasses.asdict(answer)) for answer in answers)
    assert list(answers_of(lines)) == answers


def test_the_first_turn_is_not_counted_and_each_thing_has_its_median() -> None:
    one, other = iter([100.0, 1.0, 2.0, 6.0]), iter([100.0, 4.0, 4.0, 5.0])
    assert in_turns(3, lambda: next(one), lambda: next(other)) == [2.0, 4.0]


def test_a_table_has_its_head_and_every_row() -> None:
    assert markdown([["a", "b"], ["1", "2"]]) == "| a | b |\n| --- | --- |\n| 1 | 2 |\n"


def test_the_script_that_ours_is_compared_with_is_whole() -> None:
    names = {node.id for node in ast.walk(ast.parse(SCRIPT)) if isinstance(node, ast.Name)}
    assert names >= {"document", "wanted", "client", "maps"}
    assert len(OPERATIONS) == len(set(OPERATIONS)) == 12
    assert all(f'"{one}"' in SCRIPT for one in OPERATIONS)


def test_every_benchmark_is_on_the_page() -> None:
    kept = {path.stem for path in (ROOT / "benchmarks").glob("*.py")}
    measuring = kept - {"__init__", "figures", "mistakes"}
    done = subprocess.run(
        [sys.executable, ROOT / "scripts/measure", "none"], capture_output=True, text=True
    )
    assert done.returncode == 1
    assert set(done.stderr.strip().rpartition(" are ")[2].split(", ")) == measuring

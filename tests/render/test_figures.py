"""The figures of docs/performance.md: a missed aim is said to be missed, and the page shows what was measured."""

import ast
import dataclasses
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from support import rendered

from benchmarks.doors import OPERATIONS, SCRIPT
from benchmarks.figures import (
    BEGIN,
    END,
    Answer,
    Figure,
    Table,
    answers_of,
    in_turns,
    markdown,
    with_door,
    with_peers,
)
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
def test_an_aim_is_reached_or_not(
    ours: float, aim: dict[str, float], verdict: str
) -> None:
    assert figure(ours, **aim).verdict == verdict


def test_each_mistake_can_be_made_in_a_fresh_project() -> None:
    files = rendered({"tools": "add_note, list_notes, get_note"})
    for mistake, ((tool, text, _), _) in MISTAKES.items():
        assert text in files.get(f"src/notes_mcp/tools/{tool}.py", ""), mistake


def test_what_a_benchmark_prints_is_what_the_page_reads() -> None:
    answers: list[Answer] = [
        figure(2.2, ratio_at_most=1.1),
        Table([["", "a"], ["b", "c"]]),
    ]
    lines = "\n".join(json.dumps(dataclasses.asdict(answer)) for answer in answers)
    assert list(answers_of(lines)) == answers


def test_the_first_turn_is_not_counted_and_each_thing_has_its_median() -> None:
    one, other = iter([100.0, 1.0, 2.0, 6.0]), iter([100.0, 4.0, 4.0, 5.0])
    assert in_turns(3, lambda: next(one), lambda: next(other)) == [2.0, 4.0]


def test_a_table_has_its_head_and_every_row() -> None:
    assert markdown([["a", "b"], ["1", "2"]]) == "| a | b |\n| --- | --- |\n| 1 | 2 |\n"


PAGE = """# Performance

Written by `scripts/measure` on 2026-11-22: here.

## beside

|  | ours | floor |
| --- | --- | --- |
| nothing to the first tools/list | 9.00 s | 5.00 s (create-mcp) |

|  | copier-fastmcp | create-mcp 0.2.0 |
| --- | --- | --- |
| all four hints | 3/3 | 0/3 |

| mistake | copier-fastmcp | create-mcp 0.2.0 |
| --- | --- | --- |
| a read deletes | noticed | missed |
| all | 7/9 | 3/9 |

## doors

|  | copier-fastmcp | create-mcp 0.2.0 | copier-fastmcp, API | from_openapi |
| --- | --- | --- | --- | --- |
| tools | 4 | 3 | 12 | 11 |

## load

| clients | ours | by hand |
| --- | --- | --- |
| 200 | 1 | 1 |
"""


def test_the_readme_and_the_guide_show_what_the_page_has() -> None:
    text = f"Before.\n\n{BEGIN}\n\nold\n{END}\n\nAfter.\n"
    readme, guide = with_peers(text, PAGE), with_door(text, PAGE)
    for row in (
        "| all four hints | 3/3 | 0/3 |",
        "| mistakes that the emitted suite notices | 7/9 | 3/9 |",
        "| from nothing to the first `tools/list` | 9.00 s | 5.00 s |",
        "| tools | 4 | 3 | 12 | 11 |",
    ):
        assert f"\n{row}\n" in readme, row
    assert "\n| tools | 12 | 11 |\n" in guide
    for shown in (readme, guide):
        assert shown.startswith("Before.")
        assert shown.endswith("After.\n")
        assert "Measured on 2026-11-22" in shown
        assert "old" not in shown
        assert "missed" not in shown
    assert with_door(text, PAGE.replace("from_openapi", "another")) == text
    assert with_peers("no place", PAGE) == "no place"


def counted(row: list[str]) -> str:
    """What the last cell of a row counts, as in `109 of 119`."""
    return row[-1].strip("*| ").split(" (")[0]


def test_the_command_page_quotes_what_was_counted() -> None:
    page, imported, audited = (
        " ".join((ROOT / name).read_text(encoding="utf-8").split())
        for name in (
            "docs/command.md",
            "tests/openapi/README.md",
            "tests/audit/README.md",
        )
    )
    word = "(?: were| are)?(?: at first sight)?"
    counts = [
        tuple(map(int, found))
        for found in re.findall(
            rf"(\d+){word} right{word}, (\d+){word} asked, (\d+)", imported
        )
    ]
    *firsts, second = counts
    assert len(firsts) == 3
    good, every = (
        sum(right + asked for right, asked, _ in firsts),
        sum(map(sum, firsts)),
    )
    assert (
        f"Of {every} operations of 61 documents {good} were right or asked about"
        in page
    )
    part = f"second reader's labels for {sum(second)} of them it is {sum(second[:2]) / sum(second):.0%}"
    assert part in page
    rows = [line.split(" | ") for line in audited.split(" | | ")]
    heads = re.findall(r"\| (\d+) servers, (\d+) tools \|", audited)
    (servers, tools) = heads[-1]
    assert f"On {tools} tools of {servers} servers" in page
    earlier, recall = (
        row for row in rows if row[0].startswith("**first run, recall**")
    )
    assert f"found {counted(recall)} faults" in page
    assert f"{heads[0][0]} earlier servers {counted(earlier)}" in page
    *_, precision = (
        row for row in rows if row[0].startswith("**its precision**") and len(row) == 5
    )
    right, findings = counted(precision).split(" of ")
    assert f"{right} of its {findings} findings were right" in page
    (before,) = (
        row for row in rows if row[0].startswith("**`blind/`: 14 servers, recall**")
    )
    assert f"it had found {counted(before)} " in page


def test_the_script_that_ours_is_compared_with_is_whole() -> None:
    names = {
        node.id for node in ast.walk(ast.parse(SCRIPT)) if isinstance(node, ast.Name)
    }
    assert names >= {"document", "wanted", "client", "maps"}
    assert len(OPERATIONS) == len(set(OPERATIONS)) == 12
    assert all(f'"{one}"' in SCRIPT for one in OPERATIONS)


def test_every_benchmark_is_on_the_page() -> None:
    kept = {path.stem for path in (ROOT / "benchmarks").glob("*.py")}
    measuring = kept - {"__init__", "engine_package", "figures", "mistakes"}
    done = subprocess.run(
        [sys.executable, ROOT / "scripts/measure", "none"],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    assert set(done.stderr.strip().rpartition(" are ")[2].split(", ")) == measuring

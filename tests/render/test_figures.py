"""The figures of docs/performance.md: missed aims are reported, and the page shows the measurements."""

import dataclasses
import json
import re
from pathlib import Path
from typing import Any

import pytest
from support import rendered

from benchmarks.figures import (
    BEGIN,
    END,
    Answer,
    Figure,
    Table,
    format_table,
    insert_api_table,
    insert_peers,
    measure_in_turns,
    parse_answers,
)
from benchmarks.mistakes import MISTAKES

ROOT = Path(__file__).parents[2]


def make_figure(seconds: float, **aim: Any) -> Figure:
    """Make a figure with a floor of two seconds."""
    return Figure(what="it", unit="s", ours=seconds, floor=2.0, beside="nothing", **aim)


@pytest.mark.parametrize(
    ("seconds", "aim", "verdict"),
    [
        (2.2, {"ratio_at_most": 1.1}, "yes"),
        (2.22, {"ratio_at_most": 1.1}, "no"),
        (0.3, {"at_most": 0.3}, "yes"),
        (0.31, {"at_most": 0.3}, "no"),
        (9.0, {}, ""),
    ],
)
def test_an_aim_is_reached_or_not(
    seconds: float, aim: dict[str, float], verdict: str
) -> None:
    assert make_figure(seconds, **aim).verdict == verdict


def test_each_mistake_can_be_made_in_a_fresh_project() -> None:
    files = rendered({"tools": "add_note, list_notes, get_note"})
    for mistake, ((tool, text, _), _) in MISTAKES.items():
        assert text in files.get(f"src/notes_mcp/tools/{tool}.py", ""), mistake


def test_what_a_benchmark_prints_is_what_the_page_reads() -> None:
    answers: list[Answer] = [
        make_figure(2.2, ratio_at_most=1.1),
        Figure.of_turns([3.0, 1.0, 2.0], [2.0], what="it", unit="s", beside="nothing"),
        Table([["", "a"], ["b", "c"]]),
    ]
    rows = []
    for answer in answers:
        rows.append(json.dumps(dataclasses.asdict(answer)))
    lines = "\n".join(rows)
    assert list(parse_answers(lines)) == answers


def test_the_first_turn_is_not_counted_and_each_thing_has_its_median() -> None:
    first_times, second_times = (
        iter([100.0, 1.0, 2.0, 6.0]),
        iter([100.0, 4.0, 4.0, 5.0]),
    )
    assert measure_in_turns(
        3, lambda: next(first_times), lambda: next(second_times)
    ) == [
        2.0,
        4.0,
    ]


def test_the_spread_of_several_turns_follows_their_median() -> None:
    figure = Figure.of_turns(
        [3.0, 1.0, 2.0], [4.0, 4.0], what="it", unit="s", beside="nothing"
    )
    assert figure.ratio == 0.5
    assert figure.cells()[1:3] == [
        "2.00 s, 1.00 to 3.00",
        "4.00 s, 4.00 to 4.00 (nothing)",
    ]
    assert make_figure(2.0).cells()[1] == "2.00 s"


def test_a_table_has_its_head_and_every_row() -> None:
    assert (
        format_table([["a", "b"], ["1", "2"]])
        == "| a | b |\n| --- | --- |\n| 1 | 2 |\n"
    )


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
    readme, guide = insert_peers(text, PAGE), insert_api_table(text, PAGE)
    spread = PAGE.replace("9.00 s", "9.00 s, 8.00 to 9.50")
    spread = spread.replace("5.00 s", "5.00 s, 4.00 to 6.00")
    assert insert_peers(text, spread) == readme
    for row in (
        "| all four hints | 3/3 | 0/3 |",
        "| mistakes that the emitted suite notices | 7/9 | 3/9 |",
        "| from nothing to the first `tools/list` | 9.00 s | 5.00 s |",
        "| tools | 4 | 3 | 12 | 11 |",
    ):
        assert f"\n{row}\n" in readme, row
    assert "\n| tools | 12 | 11 |\n" in guide
    for document in (readme, guide):
        assert document.startswith("Before.")
        assert document.endswith("After.\n")
        assert "Measured on 2026-11-22" in document
        assert "old" not in document
        assert "missed" not in document
    assert insert_api_table(text, PAGE.replace("from_openapi", "another")) == text
    assert insert_peers("no place", PAGE) == "no place"


def format_count(row: list[str]) -> str:
    """Format the count in the last cell of a row, as in `109 of 119`."""
    return row[-1].strip("*| ").split(" (")[0]


def load_page(name: str) -> str:
    """Load a page with its white space collapsed."""
    return " ".join((ROOT / name).read_text(encoding="utf-8").split())


def parse_rows(page: str) -> list[list[str]]:
    """Parse the rows of the tables on a page with collapsed white space."""
    return [line.split(" | ") for line in page.split(" | | ")]


def filter_rows(rows: list[list[str]], head: str) -> list[list[str]]:
    """Return the rows whose first cell starts with a head."""
    return [row for row in rows if row[0].startswith(head)]


def test_the_command_page_quotes_the_counts_of_imports() -> None:
    page = load_page("docs/command.md")
    imported = load_page("tests/openapi/README.md")
    word = "(?: were| are)?(?: at first sight)?"
    pattern = rf"(\d+){word} right{word}, (\d+){word} asked, (\d+)"
    counts = []
    for groups in re.findall(pattern, imported):
        counts.append(tuple(map(int, groups)))
    *firsts, second = counts
    assert len(firsts) == 3
    covered = sum(correct + questions for correct, questions, _ in firsts)
    total = sum(map(sum, firsts))
    share = f"{sum(second[:2]) / sum(second):.0%} for {sum(second)} of them"
    assert f"| {total} | 61 | {covered} ({share}" in page


def test_the_command_page_quotes_the_counts_of_audits() -> None:
    page = load_page("docs/command.md")
    audited = load_page("tests/audit/README.md")
    rows = parse_rows(audited)
    heads = re.findall(r"\| (\d+) servers, (\d+) tools \|", audited)
    (servers, tools) = heads[-1]
    assert f"in {tools} tools of {servers} servers" in page
    recall_rows = filter_rows(rows, "**first run, recall**")
    *earlier_rows, recall = recall_rows
    assert len(heads) == len(recall_rows)
    for row in earlier_rows:
        assert format_count(row) in page
    assert f"found {format_count(recall)} faults" in page
    precision_rows = []
    for row in filter_rows(rows, "**its precision**"):
        if len(row) == 5:
            precision_rows.append(row)
    correct, findings = format_count(precision_rows[-1]).split(" of ")
    assert f"{correct} of its {findings} findings were correct" in page
    (before,) = filter_rows(rows, "**`blind/`: 14 servers, recall**")
    assert f"found {format_count(before)} faults" in page

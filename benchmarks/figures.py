"""What a benchmark answers: figures beside their floors, tables, and how they are printed."""

import dataclasses
import json
import os
import re
import statistics
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

OURS = "copier-fastmcp"
BEGIN = "<!-- figures: scripts/measure writes them -->"
END = "<!-- end of the figures -->"
DIGITS = {"s": 2, "ms": 2, "": 0}
Spread = tuple[float, float]  # the lowest and the highest of several turns


@dataclass(frozen=True, kw_only=True)
class Figure:
    """One thing measured, beside the floor that was measured in turns with it.

    Attributes:
        what: What was measured, in a few words.
        unit: "s" or "ms".
        ours: The median of ours.
        floor: The median of the floor.
        beside: What the floor is.
        own_spread: The lowest and the highest of ours, where they are shown.
        floor_spread: The same of the floor.
        ratio_at_most: The aim for ours / floor.
        at_most: The aim for ours, in `unit`.
    """

    what: str
    unit: str
    ours: float
    floor: float
    beside: str
    own_spread: Spread | None = None
    floor_spread: Spread | None = None
    ratio_at_most: float | None = None
    at_most: float | None = None

    @classmethod
    def of_turns(
        cls, ours: Sequence[float], floor: Sequence[float], **fields: Any
    ) -> "Figure":
        """A figure of what each turn took.

        Args:
            ours: The times of ours.
            floor: The times of the floor.
            fields: Further fields.
        """
        return cls(
            ours=statistics.median(ours),
            floor=statistics.median(floor),
            own_spread=(min(ours), max(ours)),
            floor_spread=(min(floor), max(floor)),
            **fields,
        )

    @property
    def ratio(self) -> float:
        """Ours as a multiple of the floor."""
        return self.ours / self.floor

    @property
    def aim(self) -> str:
        """The aim in words; empty where there is none."""
        if self.ratio_at_most is not None:
            return f"at most {self.ratio_at_most:g} x"
        if self.at_most is not None:
            return f"at most {self.at_most:g} {self.unit}"
        return ""

    @property
    def verdict(self) -> str:
        """Whether the aim is reached, at the precision that is printed."""
        if self.ratio_at_most is not None:
            is_reached = round(self.ratio, 2) <= self.ratio_at_most
        elif self.at_most is not None:
            is_reached = round(self.ours, DIGITS[self.unit]) <= self.at_most
        else:
            return ""
        return "yes" if is_reached else "no"

    def cells(self) -> list[str]:
        """What a row of a table shows."""
        figure = self._format(self.ours, self.own_spread)
        floor = self._format(self.floor, self.floor_spread)
        return [
            self.what,
            figure,
            f"{floor} ({self.beside})",
            f"{self.ratio:.2f}",
            self.aim,
        ]

    def _format(self, median: float, spread: Spread | None) -> str:
        """A median with its unit, and its spread where it has one: `2.21 ms, 2.10 to 2.50`."""
        digits = DIGITS[self.unit]
        text = f"{median:.{digits}f} {self.unit}"
        if spread is not None:
            lowest, highest = spread
            text += f", {lowest:.{digits}f} to {highest:.{digits}f}"
        return text


@dataclass(frozen=True)
class Table:
    """Anything that is not a time next to a floor; the first row is the head."""

    rows: Sequence[Sequence[str]]

    @classmethod
    def of_columns(cls, *columns: Iterable[str]) -> "Table":
        """A table whose first column is the head of each row."""
        return cls(list(map(list, zip(*columns, strict=True))))


Answer = Figure | Table
HEAD = ["", "ours", "floor", "ratio", "aim"]


def time_in_turns(turns: int, *things: Callable[[], float]) -> list[list[float]]:
    """Measure things in turns, so that a busy moment of the machine meets all of them.

    Args:
        turns: How often each is measured; one turn before these fills caches and is not counted.
        things: Each does its work and returns how long it took.

    Returns:
        The times of each thing.
    """
    taken: list[list[float]] = [[] for _ in things]
    for turn in range(turns + 1):
        order = range(len(things)) if turn % 2 else reversed(range(len(things)))
        for which in order:
            seconds = things[which]()
            if turn:
                taken[which].append(seconds)
    return taken


def measure_in_turns(turns: int, *things: Callable[[], float]) -> list[float]:
    """Return the median of each thing, measured as by `time_in_turns`."""
    return [statistics.median(times) for times in time_in_turns(turns, *things)]


def format_table(rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table; the first row is its head."""
    head, *body = rows
    lines: list[str] = []
    for row in (head, ["---"] * len(head), *body):
        lines.append(f"| {' | '.join(row)} |\n")
    return "".join(lines)


# The text above a table in the README, by the section of the page with the table.
ABOUT = {
    "beside": "Three tools for notes, created as each README describes, and nine mistakes made in each of the two projects:",
    "doors": "Four tools for notes from their names, and twelve of GitHub's operations from its OpenAPI document; the user "
    "is asked about a deletion and declines:",
}
API = ("copier-fastmcp, API", "from_openapi")


def extract_comparisons(page: str) -> dict[str, list[list[str]]]:
    """The tables of a measured page in which ours stands beside another maker of servers, by section.

    Args:
        page: The text of docs/performance.md.

    Returns:
        What is on the wire, how many mistakes the emitted suites notice, how long it takes to the first list, what
        becomes of a deletion that is declined; not each mistake.
    """
    sections = {}
    for section in page.split("\n## ")[1:]:
        rows = _parse_rows(section)
        table = _select_compared(rows)
        if not table:
            continue
        for row in rows:
            if row[0] == "nothing to the first tools/list":
                # Without the spread, and without the name of the floor
                medians = [re.split(r", | \(", cell)[0] for cell in row[1:3]]
                table.append(["from nothing to the first `tools/list`", *medians])
        sections[section.splitlines()[0]] = table
    return sections


def _parse_rows(section: str) -> list[list[str]]:
    """The cells of all tables in a section."""
    rows = []
    for line in section.splitlines():
        if line.startswith("|"):
            cells = line.strip("|").split("|")
            rows.append([cell.strip() for cell in cells])
    return rows


def _select_compared(rows: list[list[str]]) -> list[list[str]]:
    """The rows below the first head that names ours, without single mistakes; empty where there is no such head."""
    table: list[list[str]] = []
    for row in rows:
        name, *values = row
        if not table:
            if len(row) > 2 and row[1] == OURS:
                table.append(["", *values])
            continue
        is_mistake = "noticed" in row or "missed" in row
        if len(row) != len(table[0]) or is_mistake or name in ("mistake", "---"):
            continue
        if name == "all":
            name = "mistakes that the emitted suite notices"
        table.append([name, *values])
    return table


def _day(page: str) -> str:
    day = re.search(r"scripts/measure` on ([\d-]+)", page)
    return f"Measured on {day[1] if day else '?'}"


def _between(text: str, written: str) -> str:
    """A document with a text between its two comments; as it is where it has none."""
    before, _, tail = text.partition(BEGIN)
    if not tail:
        return text
    _, _, after = tail.partition(END)
    return f"{before}{BEGIN}\n\n{written}\n{END}{after}"


def insert_peers(readme: str, page: str) -> str:
    """A README with the tables of a measured page that have other makers of servers beside ours.

    Args:
        readme: The text of a README.
        page: The text of docs/performance.md.
    """
    parts = []
    for name, rows in extract_comparisons(page).items():
        parts.append(f"{ABOUT.get(name, name)}\n\n{format_table(rows)}")
    if not parts:
        return readme
    parts.append(f"{_day(page)}: [docs/performance.md](docs/performance.md).\n")
    return _between(readme, "\n".join(parts))


def insert_api_table(guide: str, page: str) -> str:
    """The guide for who has an API, with what a measured page says of servers made from a document.

    Args:
        guide: The text of docs/api.md.
        page: The text of docs/performance.md.
    """
    head, *rows = extract_comparisons(page).get("doors", [[""]])
    if not set(API) <= set(head):
        return guide
    own, other = map(head.index, API)
    selected = [["twelve of GitHub's operations", OURS, API[1]]]
    for row in rows:
        selected.append([row[0], row[own], row[other]])
    source = f"{_day(page)} with `python -m benchmarks.doors`.\n"
    return _between(guide, f"{format_table(selected)}\n{source}")


def parse_answers(lines: str) -> Iterator[Answer]:
    """What a benchmark printed with --json."""
    for line in filter(None, lines.splitlines()):
        rows = json.loads(line)
        if "rows" in rows:
            yield Table(rows["rows"])
            continue
        for name in ("own_spread", "floor_spread"):
            rows[name] = tuple(rows[name]) if rows[name] else None
        yield Figure(**rows)


def run(benchmark: Callable[[int], Iterable[Answer]], turns: int) -> None:
    """The command line of a benchmark: [--json] [--short] [TURNS].

    `--short` takes a tenth of the turns, to see that it runs.

    Args:
        benchmark: Measures, with the number of turns, and yields each answer when it has it.
        turns: How many turns where none are given.
    """
    # Where it is set, Python compiles every module at every start, ours and the floor's: few computers do.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    sys.dont_write_bytecode = False
    if "--short" in sys.argv:
        turns = max(1, turns // 10)
    for word in sys.argv[1:]:
        if not word.startswith("--"):
            turns = int(word)
            break
    for answer in benchmark(turns):
        if "--json" in sys.argv:
            print(json.dumps(dataclasses.asdict(answer)), flush=True)
            continue
        rows = [answer.cells()] if isinstance(answer, Figure) else answer.rows
        for name, *cells in rows:
            print(f"{name:<30}", *cells, sep="   ")
        sys.stdout.flush()

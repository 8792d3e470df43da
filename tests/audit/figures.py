"""How often the audit is right, on recorded lists whose tools were labelled by reading.

python tests/audit/figures.py [seen|blind]: the figures of the lists that rules were made on, or of
those recorded afterwards. `fresh FOLDER`, `fresh_second FOLDER`, `fresh_third FOLDER`, `fresh_fourth FOLDER`: the figures of servers whose lists are not kept
here; record.py writes them to a folder. `--write` writes report.md, `--cpu` measures 1,000 tools.
"""

import json
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from copier_fastmcp.auditing.clients import effective_hint
from copier_fastmcp.auditing.findings import AuditFinding, audit_tools
from copier_fastmcp.auditing.verdicts import explain_tools
from copier_fastmcp_engine.testing.lock import HINTS
from copier_fastmcp_engine.testing.rules import Tool

HERE = Path(__file__).parent
# Lists that rules and words were made on, and lists that were recorded after the last change of these.


def find_lists(folder: str) -> dict[str, Path]:
    """Find the recorded lists of a folder by the names of their servers."""
    paths = sorted((HERE / folder).glob("*.json"))
    return {path.stem: path for path in paths}


GROUPS = {"seen": find_lists("seen"), "blind": find_lists("blind")}
ALL = {**GROUPS["seen"], **GROUPS["blind"]}
WORD = {"T": True, "F": False}
Fault = tuple[str, str, str]


def load_tools(server: str) -> list[dict[str, Any]]:
    """Load the recorded tools/list result of a server."""
    listed: list[dict[str, Any]] = json.loads(ALL[server].read_text(encoding="utf-8"))
    return listed


def load_labels(path: Path = HERE / "labels.tsv") -> dict[tuple[str, str], str]:
    """Load four letters for each server and tool, in the order of HINTS."""
    labels = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        server, tool, letters = line.split("\t")
        labels[server, tool] = letters
    return labels


@dataclass
class Figures:
    """The faults and findings on a group of servers."""

    faults: set[Fault]
    findings: dict[Fault, AuditFinding]
    right: set[Fault]
    unclear: set[Fault]
    tools: int
    questions: int

    def share(self, kind: str, hint: str | None = None) -> tuple[int, int]:
        """Count hits and total for `recall` (faults) or `precision` (findings), for one hint or all."""
        population = (
            self.faults if kind == "recall" else self.findings.keys() - self.unclear
        )
        counted = set()
        for fault in population:
            if hint in (None, fault[2]):
                counted.add(fault)
        return len(counted & self.right), len(counted)


@cache
def measure(group: str) -> Figures:
    """Compare the findings on a group of recorded lists with the labels."""
    lists = {server: load_tools(server) for server in GROUPS[group]}
    return compare(lists, load_labels())


def measure_fresh(folder: Path, name: str = "fresh") -> Figures:
    """Measure recorded lists that are not committed.

    Args:
        folder: The folder of the lists.
        name: The name of the file with their labels.
    """
    letters = load_labels(HERE / f"{name}.tsv")
    lists = {}
    for server, _ in sorted(letters):
        if server not in lists:
            path = folder / f"{server}.json"
            lists[server] = json.loads(path.read_text(encoding="utf-8"))
    return compare(lists, letters)


def compare(
    lists: Mapping[str, list[dict[str, Any]]], letters: Mapping[tuple[str, str], str]
) -> Figures:
    """Compare the findings on recorded lists with their labels."""
    figures = Figures(set(), {}, set(), set(), 0, 0)
    for server, listed in lists.items():
        figures.tools += len(listed)
        for tool in listed:
            figures.faults |= set(
                _find_faults(server, tool, letters[server, tool["name"]])
            )
        findings, questions = audit_tools(listed)
        figures.questions += len(questions)
        for finding in findings:
            if finding.hint:
                fault = (server, finding.tool, finding.hint)
                figures.findings[fault] = finding
                if letters[server, finding.tool][HINTS.index(finding.hint)] in "?-":
                    figures.unclear.add(fault)
    figures.right = figures.findings.keys() & figures.faults
    return figures


def _find_faults(server: str, tool: dict[str, Any], letters: str) -> Iterator[Fault]:
    annotations = Tool(tool).annotations
    for hint, letter in zip(HINTS, letters, strict=True):
        if letter in WORD and effective_hint(annotations, hint) is not WORD[letter]:
            yield server, tool["name"], hint


def format_figures(
    figures: Figures,
    title: str,
    explain: Callable[[Fault], str] = lambda at: _explain(*at),
) -> str:
    """Format figures as Markdown, with missed faults and false findings."""

    def cell(kind: str, hint: str | None) -> str:
        hits, total = figures.share(kind, hint)
        return f"{hits} of {total} ({hits / total:.1%})" if total else "none"

    missed = figures.faults - figures.right
    false_findings = figures.findings.keys() - figures.right - figures.unclear
    rows_of_hints = []
    for hint in HINTS:
        rows_of_hints.append(
            f"| {hint} | {cell('recall', hint)} | {cell('precision', hint)} |"
        )
    lines = [
        title,
        "",
        f"{figures.tools} tools, {figures.questions} questions, {len(figures.unclear)} findings "
        "where the labels say nothing.",
        "",
        "| hint | faults found (recall) | findings right (precision) |",
        "| --- | --- | --- |",
        *rows_of_hints,
        f"| all | {cell('recall', None)} | {cell('precision', None)} |",
        "",
        *_format_rows("Missed, with what the definition says", missed, explain),
        *_format_rows("Wrong", false_findings, lambda at: figures.findings[at].message),
        *_format_rows(
            "Found where the labels say nothing",
            figures.unclear,
            lambda at: figures.findings[at].message,
        ),
    ]
    return "\n".join(lines) + "\n"


def _format_rows(
    title: str, faults: Iterable[Fault], explain: Callable[[Fault], str]
) -> Iterator[str]:
    if listed := sorted(faults):
        yield from (
            f"{title}:",
            "",
            "| server | tool | hint | why |",
            "| --- | --- | --- | --- |",
        )
        for at in listed:
            yield f"| {at[0]} | `{at[1]}` | {at[2]} | {explain(at).replace('|', '/')} |"
        yield ""


def _explain(server: str, name: str, hint: str) -> str:
    """Describe the signals for a missed hint."""
    (row,) = explain_tools(load_tools(server), name)
    signals = []
    for line in row["signals"]:
        if line.startswith(hint):
            signals.append(line.partition(": ")[2])
    return "; ".join(signals) or "no word of its definition is known"


def measure_cpu(count: int = 1000) -> float:
    """Measure the CPU seconds to audit a number of tools."""
    batches, total = [], 0
    while total < count:
        for server in GROUPS["seen"]:
            batches.append(load_tools(server))
            total += len(batches[-1])
    started = time.process_time()
    for batch in batches:
        audit_tools(batch)
    return (time.process_time() - started) * count / total


TITLES = {
    "blind": "## Lists that no rule was made on",
    "seen": "## Lists that rules were made on",
}
FIX = "write it anew with `python tests/audit/figures.py --write`"


def format_report() -> str:
    """Format the contents of report.md."""
    parts = [format_figures(measure(which), title) for which, title in TITLES.items()]
    head = "# How often the audit is right\n\nREADME.md says how the tools were labelled, and what the figures were at first sight.\n\n"
    return head + "\n".join(parts)


if __name__ == "__main__":
    if "--cpu" in sys.argv:
        print(f"1,000 tools: {measure_cpu():.2f} s of CPU")
    elif "--write" in sys.argv:
        (HERE / "report.md").write_text(format_report(), encoding="utf-8")
    elif sys.argv[1:2] and sys.argv[1].startswith("fresh"):
        fresh = measure_fresh(Path(sys.argv[2]), sys.argv[1])
        print(
            format_figures(
                fresh, "## Servers whose lists are not kept here", lambda at: ""
            )
        )
    else:
        which = next((word for word in sys.argv[1:] if word in TITLES), "seen")
        print(format_figures(measure(which), TITLES[which]))

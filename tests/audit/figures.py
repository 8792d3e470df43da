"""How often the audit is right, on recorded lists whose tools were labelled by reading.

python tests/audit/figures.py [seen|blind]: the figures of the lists that rules were made on, or of
those recorded afterwards. `fresh FOLDER`, `fresh_second FOLDER`: the figures of servers whose lists are not kept
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
GROUPS = {
    which: {path.stem: path for path in sorted((HERE / which).glob("*.json"))}
    for which in ("seen", "blind")
}
ALL = {**GROUPS["seen"], **GROUPS["blind"]}
WORD = {"T": True, "F": False}
Fault = tuple[str, str, str]


def tools(server: str) -> list[dict[str, Any]]:
    """A server's recorded answer to tools/list."""
    listed: list[dict[str, Any]] = json.loads(ALL[server].read_text(encoding="utf-8"))
    return listed


def labels(path: Path = HERE / "labels.tsv") -> dict[tuple[str, str], str]:
    """Server and tool -> four letters, in the order of HINTS."""
    rows = [line.split("\t") for line in path.read_text(encoding="utf-8").splitlines()]
    return {(server, tool): letters for server, tool, letters in rows}


@dataclass
class Figures:
    """What was found of what is wrong, on some servers."""

    faults: set[Fault]
    found: dict[Fault, AuditFinding]
    right: set[Fault]
    unclear: set[Fault]
    tools: int
    questions: int

    def share(self, kind: str, hint: str | None = None) -> tuple[int, int]:
        """Hits of all for `recall` (faults) or `precision` (findings), of one hint or of every one."""
        of = self.faults if kind == "recall" else self.found.keys() - self.unclear
        counted = {each for each in of if hint in (None, each[2])}
        return len(counted & self.right), len(counted)


@cache
def measure(group: str) -> Figures:
    """Compare what the audit finds in a group of lists with what the labels say."""
    lists = {server: tools(server) for server in GROUPS[group]}
    return compare(lists, labels())


def measure_fresh(folder: Path, name: str = "fresh") -> Figures:
    """The figures of recorded lists that are not kept here.

    Args:
        folder: The folder of the lists.
        name: The name of the file with their labels.
    """
    known = labels(HERE / f"{name}.tsv")
    lists = {}
    for server in sorted({server for server, _ in known}):
        lists[server] = json.loads(
            (folder / f"{server}.json").read_text(encoding="utf-8")
        )
    return compare(lists, known)


def compare(
    lists: Mapping[str, list[dict[str, Any]]], known: Mapping[tuple[str, str], str]
) -> Figures:
    """Compare what the audit finds in some lists with what their labels say."""
    figures = Figures(set(), {}, set(), set(), 0, 0)
    for server, listed in lists.items():
        figures.tools += len(listed)
        for tool in listed:
            figures.faults |= set(_faults(server, tool, known[server, tool["name"]]))
        findings, questions = audit_tools(listed)
        figures.questions += len(questions)
        for one in findings:
            if one.hint:
                fault = (server, one.tool, one.hint)
                figures.found[fault] = one
                if known[server, one.tool][HINTS.index(one.hint)] in "?-":
                    figures.unclear.add(fault)
    figures.right = figures.found.keys() & figures.faults
    return figures


def _faults(server: str, tool: dict[str, Any], letters: str) -> Iterator[Fault]:
    annotations = Tool(tool).annotations
    for hint, letter in zip(HINTS, letters, strict=True):
        if letter in WORD and effective_hint(annotations, hint) is not WORD[letter]:
            yield server, tool["name"], hint


def text(
    figures: Figures, title: str, explain: Callable[[Fault], str] = lambda at: _why(*at)
) -> str:
    """Figures as Markdown, with what was missed and what was wrong."""

    def cell(kind: str, hint: str | None) -> str:
        hits, of = figures.share(kind, hint)
        return f"{hits} of {of} ({hits / of:.1%})" if of else "none"

    missed = figures.faults - figures.right
    wrong = figures.found.keys() - figures.right - figures.unclear
    lines = [
        title,
        "",
        f"{figures.tools} tools, {figures.questions} questions, {len(figures.unclear)} findings "
        "where the labels say nothing.",
        "",
        "| hint | faults found (recall) | findings right (precision) |",
        "| --- | --- | --- |",
        *(
            f"| {hint} | {cell('recall', hint)} | {cell('precision', hint)} |"
            for hint in HINTS
        ),
        f"| all | {cell('recall', None)} | {cell('precision', None)} |",
        "",
        *_rows("Missed, with what the definition says", missed, explain),
        *_rows("Wrong", wrong, lambda at: figures.found[at].message),
        *_rows(
            "Found where the labels say nothing",
            figures.unclear,
            lambda at: figures.found[at].message,
        ),
    ]
    return "\n".join(lines) + "\n"


def _rows(
    title: str, faults: Iterable[Fault], why: Callable[[Fault], str]
) -> Iterator[str]:
    if listed := sorted(faults):
        yield from (
            f"{title}:",
            "",
            "| server | tool | hint | why |",
            "| --- | --- | --- | --- |",
        )
        for at in listed:
            yield f"| {at[0]} | `{at[1]}` | {at[2]} | {why(at).replace('|', '/')} |"
        yield ""


def _why(server: str, name: str, hint: str) -> str:
    """What the signals say of a hint that was missed."""
    (row,) = explain_tools(tools(server), name)
    said = [line.partition(": ")[2] for line in row["signals"] if line.startswith(hint)]
    return "; ".join(said) or "no word of its definition is known"


def cpu(count: int = 1000) -> float:
    """CPU seconds to judge so many tools, in servers as they come."""
    batches, total = [], 0
    while total < count:
        for server in GROUPS["seen"]:
            batches.append(tools(server))
            total += len(batches[-1])
    started = time.process_time()
    for batch in batches:
        audit_tools(batch)
    return (time.process_time() - started) * count / total


TITLES = {
    "blind": "## Lists that no rule was made on",
    "seen": "## Lists that rules were made on",
}
MEND = "write it anew with `python tests/audit/figures.py --write`"


def report() -> str:
    """What report.md says; README.md says what was known when."""
    parts = [text(measure(which), title) for which, title in TITLES.items()]
    head = "# How often the audit is right\n\nREADME.md says how the tools were labelled, and what the figures were at first sight.\n\n"
    return head + "\n".join(parts)


if __name__ == "__main__":
    if "--cpu" in sys.argv:
        print(f"1,000 tools: {cpu():.2f} s of CPU")
    elif "--write" in sys.argv:
        (HERE / "report.md").write_text(report(), encoding="utf-8")
    elif sys.argv[1:2] in (["fresh"], ["fresh_second"]):
        fresh = measure_fresh(Path(sys.argv[2]), sys.argv[1])
        print(text(fresh, "## Servers whose lists are not kept here", lambda at: ""))
    else:
        which = next((word for word in sys.argv[1:] if word in TITLES), "seen")
        print(text(measure(which), TITLES[which]))

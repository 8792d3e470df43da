"""Completeness of the labels, accuracy as stated in report.md, and CPU for 1,000 tools."""

import json
import re

import pytest
from audit import figures
from audit.figures import (
    ALL,
    GROUPS,
    HERE,
    format_report,
    load_labels,
    load_tools,
    measure,
    measure_cpu,
)


def test_each_tool_has_two_labels() -> None:
    listed = set()
    for server in ALL:
        for tool in load_tools(server):
            listed.add((server, tool["name"]))
    for path in ("labels.tsv", "second.tsv"):
        letters_of_tools = load_labels(HERE / path)
        assert letters_of_tools.keys() == listed
        for letters in letters_of_tools.values():
            assert re.fullmatch(r"(T--|F[TF?][TF?]|\?\?\?)[TF?]", letters), letters


def test_each_list_says_how_its_server_was_started() -> None:
    servers = json.loads((HERE / "servers.json").read_text(encoding="utf-8"))
    assert servers.keys() == ALL.keys()
    assert not GROUPS["seen"].keys() & GROUPS["blind"].keys()


@pytest.mark.parametrize("which", figures.TITLES)
def test_recall_and_precision(which: str) -> None:
    measured = measure(which)
    for kind in ("recall", "precision"):
        hits, total = measured.share(kind)
        assert hits >= 0.95 * total, f"{which}: {kind} {hits} of {total}"


def test_the_report_is_what_the_audit_finds() -> None:
    assert (HERE / "report.md").read_text(encoding="utf-8") == format_report(), (
        figures.FIX
    )


@pytest.mark.nightly  # a figure, and not a behavior
def test_a_thousand_tools_take_less_than_two_seconds_of_cpu() -> None:
    assert measure_cpu() < 2

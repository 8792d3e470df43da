"""The labels are whole, and the audit is as often right as report.md says; CPU for 1,000 tools."""

import json
import re

import pytest
from audit import figures
from audit.figures import ALL, GROUPS, HERE, cpu, labels, measure, report, tools


def test_each_tool_has_two_labels() -> None:
    listed = {(server, tool["name"]) for server in ALL for tool in tools(server)}
    for path in ("labels.tsv", "second.tsv"):
        known = labels(HERE / path)
        assert known.keys() == listed
        for letters in known.values():
            assert re.fullmatch(r"(T--|F[TF?][TF?]|\?\?\?)[TF?]", letters), letters


def test_each_list_says_how_its_server_was_started() -> None:
    servers = json.loads((HERE / "servers.json").read_text(encoding="utf-8"))
    assert servers.keys() == ALL.keys()
    assert not GROUPS["seen"].keys() & GROUPS["blind"].keys()


@pytest.mark.parametrize("which", figures.TITLES)
def test_recall_and_precision(which: str) -> None:
    found = measure(which)
    for kind in ("recall", "precision"):
        hits, of = found.share(kind)
        assert hits >= 0.95 * of, f"{which}: {kind} {hits} of {of}"


def test_the_report_is_what_the_audit_finds() -> None:
    assert (HERE / "report.md").read_text(encoding="utf-8") == report(), figures.MEND


@pytest.mark.nightly  # a figure, and not a behavior
def test_a_thousand_tools_take_less_than_two_seconds_of_cpu() -> None:
    assert cpu() < 2

"""Servers that were labelled from their source before anything had read them; needs a registry."""

import sys
from pathlib import Path

import pytest
from adopting.blind.measure import fetch, load_labels, measure

SETS = ["labels.tsv", "second.tsv", "fifth.tsv", "thirteenth.tsv"]
if sys.version_info >= (3, 12):  # which its servers need
    SETS.append("fourteenth.tsv")
LABELS = {
    server: letters for name in SETS for server, letters in load_labels(name).items()
}
# It registers a table of functions in a loop
AT_RUN_TIME = "mcp-server-apache-airflow==0.2.10"


@pytest.mark.nightly
@pytest.mark.parametrize("server", LABELS)
def test_no_read_is_false_and_no_hint_is_relaxed(server: str, tmp_path: Path) -> None:
    try:
        source = fetch(server, tmp_path)
    except (RuntimeError, OSError) as error:
        pytest.skip(f"NO REGISTRY, so this real server is not read: {error}")
    figures = measure(server, source, LABELS[server])
    expected = list(LABELS[server]) if server == AT_RUN_TIME else []
    assert figures.missing == expected
    assert figures.false_reads == []
    assert figures.relaxed == []

"""The figures of the import are those that report.md shows, and as good as they have to be."""

from pathlib import Path

from openapi import figures

HERE = Path(__file__).parent


def test_nearly_all_are_right_or_asked_and_no_read_is_false() -> None:
    derivations = figures.derive_recorded()
    for name in ("labels.tsv", "second.tsv"):
        labelled = figures.load_labels(name)
        assert labelled.keys() == derivations.keys()
        assert len(labelled) == 200
        accepted = []
        for at in labelled:
            if derivations[at].asked or derivations[at].behavior in labelled[at]:
                accepted.append(at)
        assert len(accepted) >= 0.95 * len(labelled)
        false_reads = []
        for at in labelled:
            if derivations[at].behavior == "read" and "read" not in labelled[at]:
                false_reads.append(at)
        assert false_reads == []
        assert sum(row.asked for row in derivations.values()) <= 20, (
            "asking is no way to be right"
        )


def test_styles_that_no_rule_had_seen() -> None:
    derivations, labelled = (
        figures.derive_recorded("unseen-*.jsonl"),
        figures.load_labels("unseen.tsv"),
    )
    assert labelled.keys() == derivations.keys()
    accepted = []
    for at in labelled:
        if derivations[at].asked or derivations[at].behavior in labelled[at]:
            accepted.append(at)
    assert len(accepted) >= 0.97 * len(labelled)
    false_reads = []
    for at in labelled:
        if derivations[at].behavior == "read" and "read" not in labelled[at]:
            false_reads.append(at)
    assert false_reads == []
    assert sum(row.asked for row in derivations.values()) <= 0.15 * len(labelled)


def test_the_report_is_the_one_of_these_rules() -> None:
    written = (HERE / "report.md").read_text(encoding="utf-8")
    assert figures.format_report() == written, "python tests/openapi/figures.py --write"

"""The figures of the import are those that report.md shows, and as good as they have to be."""

from pathlib import Path

from openapi import figures

HERE = Path(__file__).parent


def test_nearly_all_are_right_or_asked_and_no_read_is_false() -> None:
    found = figures.derived()
    for name in ("labels.tsv", "second.tsv"):
        said = figures.labels(name)
        assert said.keys() == found.keys()
        assert len(said) == 200
        good = [at for at in said if found[at].asked or found[at].behavior in said[at]]
        assert len(good) >= 0.95 * len(said)
        assert [
            at for at in said if found[at].behavior == "read" and "read" not in said[at]
        ] == []
        assert sum(one.asked for one in found.values()) <= 20, (
            "asking is no way to be right"
        )


def test_styles_that_no_rule_had_seen() -> None:
    found, said = figures.derived("unseen-*.jsonl"), figures.labels("unseen.tsv")
    assert said.keys() == found.keys()
    good = [at for at in said if found[at].asked or found[at].behavior in said[at]]
    assert len(good) >= 0.97 * len(said)
    assert [
        at for at in said if found[at].behavior == "read" and "read" not in said[at]
    ] == []
    assert sum(one.asked for one in found.values()) <= 0.15 * len(said)


def test_the_report_is_the_one_of_these_rules() -> None:
    written = (HERE / "report.md").read_text(encoding="utf-8")
    assert figures.report() == written, "python tests/openapi/figures.py --write"

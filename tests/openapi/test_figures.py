"""The figures of the import are those that report.md shows, and as good as they have to be."""

from pathlib import Path

from openapi import figures

HERE = Path(__file__).parent


def test_nearly_all_are_right_or_asked_and_no_read_is_false() -> None:
    result = figures.derived()
    for name in ("labels.tsv", "second.tsv"):
        text = figures.labels(name)
        assert text.keys() == result.keys()
        assert len(text) == 200
        good = [
            at for at in text if result[at].asked or result[at].behavior in text[at]
        ]
        assert len(good) >= 0.95 * len(text)
        assert [
            at
            for at in text
            if result[at].behavior == "read" and "read" not in text[at]
        ] == []
        assert sum(row.asked for row in result.values()) <= 20, (
            "asking is no way to be right"
        )


def test_styles_that_no_rule_had_seen() -> None:
    result, text = figures.derived("unseen-*.jsonl"), figures.labels("unseen.tsv")
    assert text.keys() == result.keys()
    good = [at for at in text if result[at].asked or result[at].behavior in text[at]]
    assert len(good) >= 0.97 * len(text)
    assert [
        at for at in text if result[at].behavior == "read" and "read" not in text[at]
    ] == []
    assert sum(row.asked for row in result.values()) <= 0.15 * len(text)


def test_the_report_is_the_one_of_these_rules() -> None:
    written = (HERE / "report.md").read_text(encoding="utf-8")
    assert figures.report() == written, "python tests/openapi/figures.py --write"

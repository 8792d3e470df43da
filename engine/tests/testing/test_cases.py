"""The calls that follow from what an author arranges."""

from pathlib import Path
from typing import Any

import pytest

from copier_fastmcp_engine.testing.cases import (
    ABSENT,
    BEFORE,
    BEHIND,
    Case,
    Variants,
    list_cases,
    other_identity,
    parse_probe,
    sample_values,
)
from copier_fastmcp_engine.testing.rules import Tool


def tool(required: list[str], **properties: dict[str, Any]) -> Tool:
    schema = {"type": "object", "properties": properties, "required": required}
    return Tool({"name": "update_note", "inputSchema": schema})


@pytest.mark.parametrize(
    ("value", "before", "after"),
    [
        (1, 0, 12),
        ("note", "0note", "note2"),
        ("docs/note.txt", "docs/0note.txt", "docs/note2.txt"),
        (
            "00000000-0000-0000-0000-000000000001",
            "00000000-0000-0000-0000-000000000000",
            "00000000-0000-0000-0000-000000000002",
        ),
        (True, True, True),
        (None, None, None),
    ],
)
def test_another_identity_is_of_the_same_kind(
    value: Any, before: Any, after: Any
) -> None:
    assert other_identity(value, BEFORE) == before
    assert other_identity(value, BEHIND) == after


def test_an_absent_identity_differs_from_the_value() -> None:
    assert other_identity("a", ABSENT) == "a9999"


def test_plain_arguments_and_lists_of_them_are_cases() -> None:
    case = Case({"a": 2}, loses=["b"])
    assert list_cases({"a": 1}) == [Case({"a": 1})]
    assert list_cases([{"a": 1}, case]) == [Case({"a": 1}), case]


@pytest.mark.parametrize("arranged", [None, [], "a", [None], [["a"]]])
def test_other_results_of_arrange_are_refused(arranged: object) -> None:
    with pytest.raises(
        TypeError, match="has to return its arguments, a Case, or a list of these"
    ):
        list_cases(arranged)


def test_samples_keep_the_schema() -> None:
    assert list(sample_values({"type": "integer", "minimum": 5, "maximum": 6})) == [
        5,
        6,
    ]
    assert list(sample_values({"enum": ["a", "b"]})) == ["a", "b"]
    assert list(sample_values({"type": "string", "maxLength": 3})) == ["pro"]
    assert list(sample_values({"type": "string", "pattern": "^x$"})) == []


def test_variants_change_one_argument_each_the_surest_first() -> None:
    served = tool(
        ["note_id", "etag"],
        note_id={"type": "integer"},
        etag={"type": "string"},
        force={"type": "boolean", "default": False},
        text={"type": "string"},
    )
    case = Case({"note_id": 1, "etag": "5", "text": "a"})
    variants = list(Variants(served, "update", case, ["note_id"], ["etag"]))
    assert [variant.name for variant in variants[:7]] == [
        "a second record",
        "force=true",
        "note_id=19999",
        "a stale etag",
        "an unknown etag",
        "an empty etag",
        "no text",
    ]
    assert variants[1].arguments == {
        "note_id": 1,
        "etag": "5",
        "text": "a",
        "force": True,
    }


def test_a_probe_is_read_without_running_it(tmp_path: Path) -> None:
    path = tmp_path / "test_x.py"
    path.write_text(
        "raise SystemExit\nunprobed = 'why'\nwaivers = [{'rule': 'r'}]\n"
        "limit: int = LIMIT\nasync def arrange(backend):\n    return {}\n"
    )
    probe = parse_probe(path)
    assert probe["unprobed"] == "why"
    assert probe["waivers"] == [{"rule": "r"}]
    assert probe["limit"] == "LIMIT"
    assert probe["arrange"].startswith("async def arrange")
    assert parse_probe(tmp_path / "none.py") == {}

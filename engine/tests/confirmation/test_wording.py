"""What a question shows: arguments that are not the default, secrets masked, values cut with their size."""

from dataclasses import dataclass, field
from typing import Any

import pytest

from copier_fastmcp_engine.confirmation.wording import (
    MASK,
    MAX_DETAILS,
    MAX_VALUE,
    changed_arguments,
    filled_arguments,
    format_message,
    format_question,
)
from copier_fastmcp_engine.declarations import delete

Message = dict[str, Any]
PLAIN = {"type": "string"}
SECRET = {"type": "string", "format": "password", "writeOnly": True}


@dataclass(frozen=True)
class Row:
    """The arguments of one call, and what its question shows of them.

    Attributes:
        properties: The properties of the input schema.
        arguments: The arguments as sent.
        shown: What the question shows.
        definitions: The `$defs` of the input schema.
    """

    properties: Message
    arguments: Message
    shown: Message
    definitions: Message = field(default_factory=dict)


CHANGED = {
    "no-properties": Row(
        properties={},
        arguments={"a": "x"},
        shown={"a": "x"},
    ),
    "any-type": Row(
        properties={"a": True},
        arguments={"a": "x"},
        shown={"a": "x"},
    ),
    "default-first": Row(
        properties={"a": {"default": 1}, "b": PLAIN},
        arguments={"a": 1, "b": "x"},
        shown={"b": "x"},
    ),
    "true-for-1": Row(
        properties={"a": {"default": 1}},
        arguments={"a": True},
        shown={"a": True},
    ),
    "default-in-another-order": Row(
        properties={"a": {"default": {"x": 1, "y": 2}}},
        arguments={"a": {"y": 2, "x": 1}},
        shown={},
    ),
    "secret": Row(
        properties={"a": SECRET},
        arguments={"a": "4711"},
        shown={"a": MASK},
    ),
    "secret-by-reference": Row(
        properties={"a": {"$ref": "#/$defs/A"}},
        definitions={"A": SECRET},
        arguments={"a": "4711"},
        shown={"a": MASK},
    ),
    "plain-by-reference": Row(
        properties={"a": {"$ref": "#/$defs/A"}},
        definitions={"A": PLAIN},
        arguments={"a": "x"},
        shown={"a": "x"},
    ),
    "plain-next-to-a-secret": Row(
        properties={"a": PLAIN, "b": {"$ref": "#/$defs/B"}},
        definitions={"B": SECRET},
        arguments={"a": "x", "b": "4711"},
        shown={"a": "x", "b": MASK},
    ),
}


def show_changed(arguments: Message, schema: Message) -> dict[str, object]:
    """Return what a question shows of the arguments of a call."""
    values = filled_arguments(arguments, schema)
    return changed_arguments(arguments, schema, values)


@pytest.mark.parametrize("row", CHANGED.values(), ids=CHANGED)
def test_a_question_shows_what_differs_from_the_defaults(row: Row) -> None:
    schema = {"properties": row.properties, "$defs": row.definitions}
    assert show_changed(row.arguments, schema) == row.shown


def test_a_schema_without_properties_has_no_defaults() -> None:
    assert show_changed({"a": "x"}, {}) == {"a": "x"}


def test_a_value_that_is_no_json_is_compared_by_its_text() -> None:
    value = object()
    schema = {"properties": {"a": {"default": str(value)}}}
    assert show_changed({"a": value}, schema) == {}


def test_a_question_is_filled_in_with_the_defaults_of_what_was_not_sent() -> None:
    schema = {
        "properties": {
            "a": {"default": 1},
            "b": {"default": 2},
        }
    }
    assert filled_arguments({"b": 3}, schema) == {"a": 1, "b": 3}


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({"a": 1}, "Drop 1?"),
        ({"a": None}, "Drop none?"),
        ({}, "Drop {a}?"),
    ],
)
def test_a_question_contains_its_values(values: dict[str, Any], expected: str) -> None:
    declaration = delete(title="Drop", confirm="Drop {a}?")
    assert format_question(declaration, values) == expected


def test_a_question_is_the_title_where_the_author_wrote_none() -> None:
    assert format_question(delete(title="Drop", confirm=True), {}) == "Drop?"


def test_a_question_that_is_too_long_is_cut_with_its_size() -> None:
    message = format_message("s", "x" * (MAX_VALUE + 1), {}, None)
    assert message.endswith("x… (2,001 characters)")


def message_lines(details: object) -> list[str]:
    """Return the lines for the details of a preview."""
    return format_message("s", "q", {}, details).splitlines()[1:]


def test_a_preview_shows_as_many_lines_as_allowed() -> None:
    lines = message_lines({str(n): n for n in range(MAX_DETAILS)})
    assert lines == [f"{n}: {n}" for n in range(MAX_DETAILS)]


def test_a_preview_with_more_lines_ends_with_their_count() -> None:
    lines = message_lines({str(n): n for n in range(MAX_DETAILS + 1)})
    assert len(lines) == MAX_DETAILS + 1
    assert lines[-2] == f"{MAX_DETAILS - 1}: {MAX_DETAILS - 1}"
    assert f"{MAX_DETAILS + 1}" in lines[-1]


def test_a_preview_of_one_value_is_shown_with_as_many_characters_as_allowed() -> None:
    assert message_lines("x" * MAX_VALUE) == ["x" * MAX_VALUE]
    assert message_lines("x" * (MAX_VALUE + 1)) == [
        "x" * (MAX_VALUE - 1) + "… (2,001 characters)"
    ]
    assert message_lines(None) == []

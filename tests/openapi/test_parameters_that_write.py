"""A parameter that changes something makes a read a question: `get_watch(paused=...)` pauses a watch."""

from typing import Any

import pytest
from openapi.documents_of import make_json_body, make_operation, make_responses

from copier_fastmcp.openapi.behavior import derive

TEXT = {"type": "string"}
FLAG = {"type": "boolean"}


def query(
    name: str, description: str, schema: dict[str, Any] = TEXT
) -> list[dict[str, Any]]:
    """One parameter in the query."""
    return [{"in": "query", "name": name, "description": description, "schema": schema}]


WRITES: list[tuple[str, str, dict[str, Any]]] = [
    ("paused", "Set pause state", {"enum": ["paused", "unpaused"]}),
    ("muted", "Set mute state", {"enum": ["muted", "unmuted"]}),
    ("recheck", "Recheck this page", TEXT),
    ("recheck_all", "Set to 1 to force recheck of all watches", TEXT),
    ("again", "Queue all monitors with this tag for a recheck", TEXT),
    ("seen", "If true, mark the messages as read.", FLAG),
    ("seen", "Whether to mark the returned messages as read", FLAG),
    ("seen", "When set, returned messages are marked as read.", FLAG),
    ("missing", "If set, a user is created where there is none.", FLAG),
    ("missing", "A user is created when true.", FLAG),
    ("ack", "", FLAG),
    ("auto_ack", "Acknowledge a message once it is returned", FLAG),
    ("refresh", "Refresh the cached copy first", FLAG),
    ("refresh", "", FLAG),
    ("force", "Force a new scan of the library", FLAG),
    ("purge", "Delete the entries after they were listed", FLAG),
    ("take", "Pass true to remove the job from the queue", FLAG),
    ("extend", "Renew the lease of each message", FLAG),
    ("log", "Optional. Reset the counter to zero.", FLAG),
]
READS: list[tuple[str, str, dict[str, Any]]] = [
    ("paused", "Filter by pause state", FLAG),
    ("runs", "Include runs. Runs are created from running experiments.", FLAG),
    ("runs", "Include runs. Runs are created when experiments run.", FLAG),
    ("html", "Set to 1 to return the last HTML", TEXT),
    ("limit", "Set the number of results per page", {"type": "integer"}),
    ("limit", "Set a limit on the results", {"type": "integer"}),
    ("start", "Start of the range", TEXT),
    ("run", "Run ID", TEXT),
    ("queue", "Queue to filter by", TEXT),
    ("status", "Order status", TEXT),
    ("with_deleted", "If true, deleted notes are included", FLAG),
    ("since", "Only notes that were updated since", TEXT),
    ("archived", "Include what is archived", FLAG),
    ("sort", "Sort the results by name", TEXT),
    ("lock", "Lock name", TEXT),
    ("verbose", "Whether to return everything", FLAG),
    ("set", "Set of fields to return", TEXT),
    ("mark", "Mark of the student", {"type": "integer"}),
    ("meta", "Filter by metadata, as in `is_synced=true`", TEXT),
]


@pytest.mark.parametrize(("name", "description", "schema"), WRITES)
def test_a_parameter_with_an_imperative_is_asked_about(
    name: str, description: str, schema: dict[str, Any]
) -> None:
    raw = {"summary": "Get a note", "parameters": query(name, description, schema)}
    result = derive(make_operation("GET /notes/{id}", **raw))
    assert (result.behavior, result.asked) == ("action", True), result
    assert repr(name) in result.reason


@pytest.mark.parametrize(("name", "description", "schema"), READS)
def test_a_parameter_that_selects_or_shapes_the_result_is_a_read(
    name: str, description: str, schema: dict[str, Any]
) -> None:
    raw = {"summary": "Get a note", "parameters": query(name, description, schema)}
    result = derive(make_operation("GET /notes/{id}", **raw))
    assert (result.behavior, result.asked) == ("read", False), result


def test_a_field_of_the_body_counts_as_well() -> None:
    body = make_json_body(
        text=TEXT, keep={"type": "boolean", "description": "Save the search for later"}
    )
    raw = {
        "operationId": "searchNotes",
        "requestBody": body,
        "responses": make_responses({}),
    }
    result = derive(make_operation("POST /notes/search", **raw))
    assert result.asked
    assert "'keep'" in result.reason


@pytest.mark.parametrize(
    ("call", "raw"),
    [
        ("POST /flows/filter", {"operationId": "read_flows", "summary": "Read Flows"}),
        (
            "POST /block_types/filter",
            {"operationId": "read_block_types", "summary": "Read"},
        ),
        (
            "POST /flows/paginate",
            {"operationId": "paginate_flows", "summary": "Paginate Flows"},
        ),
        (
            "POST /saved_searches/filter",
            {"operationId": "read_saved_searches", "summary": "Read"},
        ),
    ],
)
def test_two_words_of_a_family_agree(call: str, raw: dict[str, Any]) -> None:
    result = derive(make_operation(call, **raw))
    assert (result.behavior, result.asked) == ("read", False), result


@pytest.mark.parametrize(
    ("call", "raw"),
    [
        ("POST /notes/filter", {}),
        ("POST /notes/lookup", {"summary": "Notes"}),
    ],
)
def test_one_word_of_a_family_is_asked_about_with_the_family(
    call: str, raw: dict[str, Any]
) -> None:
    result = derive(make_operation(call, **raw))
    assert result.asked
    assert result.family


def test_what_is_marked_as_read_is_asked_about_alone() -> None:
    raw = {"operationId": "readNotification", "summary": "Read a notification"}
    result = derive(make_operation("POST /notifications/{id}/read", **raw))
    assert result.asked
    assert not result.family

"""Bodies that could not be generated correctly are left to the author."""

from typing import Any

import pytest
from support import specs

Tool = dict[str, Any]
OR_NULL = {"type": "int", "default": None}
ID = {"name": "note_id", "type": "int"}


@pytest.mark.parametrize(
    ("tool", "implemented"),
    [
        # A read that would answer what nobody found out: defaults and its own arguments alone.
        (
            {
                "name": "validate_gtin",
                "returns": {"valid": {"type": "bool", "default": True}},
            },
            False,
        ),
        (
            {
                "name": "check_notes",
                "returns": {"state": {"type": "str", "default": "ok"}},
            },
            False,
        ),
        ({"name": "get_note", "returns": {"x": OR_NULL}}, False),
        (
            {
                "name": "get_note",
                "returns": {"id": "int", "tags": {"type": "list[str]", "default": []}},
            },
            True,
        ),
        (
            {
                "name": "get_note",
                "returns": {"id": "int", "late": {"type": "bool", "default": False}},
            },
            False,
        ),
        (
            {
                "name": "ensure_note",
                "returns": {"id": "int", "made": {"type": "bool", "default": True}},
            },
            False,
        ),
        (
            {"name": "ping", "returns": {"version": {"type": "str", "default": "1"}}},
            True,
        ),
        # A search for what no record has finds nothing, whatever there is.
        ({"name": "list_notes", "params": [{"name": "sort", "default": "id"}]}, False),
        ({"name": "list_notes", "params": [{"name": "sort", "required": False}]}, True),
        ({"name": "list_notes", "params": [{"name": "title", "default": "x"}]}, True),
        (
            {"name": "list_statuses", "params": [{"name": "order_id", "type": "int"}]},
            True,
        ),
        (
            {"name": "list_notes", "params": [{"name": "order_id", "type": "int"}]},
            False,
        ),
        # A deletion whose parameters choose what goes: without them it would remove every record.
        (
            {
                "name": "delete_read_notes",
                "params": [{"name": "before", "type": "date"}],
            },
            False,
        ),
        (
            {"name": "clear_notes", "params": [{"name": "dry_run", "type": "bool"}]},
            False,
        ),
        (
            {
                "name": "delete_note",
                "params": [
                    {"name": "note_id", "type": "int", "required": False},
                ],
            },
            False,
        ),
        ({"name": "delete_comments", "params": [ID]}, False),
        (
            {"name": "revoke_access", "params": [{"name": "user_id"}, ID]},
            False,
        ),
        ({"name": "revoke_access", "params": [{"name": "user_id"}]}, True),
        (
            {"name": "delete_comment", "params": [ID, {"name": "comment_id"}]},
            True,
        ),
        ({"name": "clear_notes", "params": []}, True),
        ({"name": "clear_notes"}, True),
        (
            {"name": "clear_notes", "params": [{"name": "confirm", "type": "bool"}]},
            True,
        ),
        ({"name": "delete_note", "params": [ID, {"name": "reason"}]}, True),
        # A write of nothing, and an ID that is not of the result's type.
        (
            {
                "name": "update_order",
                "params": [{"name": "order_id", "type": "int"}, {"name": "etag"}],
            },
            False,
        ),
        (
            {"name": "append_order", "params": [{"name": "order_id", "type": "int"}]},
            False,
        ),
        ({"name": "ensure_order", "params": []}, False),
        (
            {"name": "archive_order", "params": [{"name": "order_id", "type": "int"}]},
            True,
        ),
        (
            {
                "name": "ensure_note",
                "params": [{"name": "note_id", "type": "date"}, {"name": "title"}],
            },
            False,
        ),
        (
            {
                "name": "put_note",
                "params": [{"name": "note_id", "choices": ["a"]}, {"name": "title"}],
            },
            False,
        ),
    ],
)
def test_a_body_that_cannot_be_right_is_not_implemented(
    tool: Tool, implemented: bool
) -> None:
    siblings = [
        {"name": "get_note", "params": [ID]},
        {"name": "create_note", "params": [{"name": "title"}]},
    ]
    other_tools = []
    for sibling in siblings:
        if sibling["name"] != tool["name"]:
            other_tools.append(sibling)
    specification = specs([*other_tools, tool])[-1]
    assert specification["implemented"] is implemented, specification["beyond"]

"""Tools with a prefix before the verb or an optional ID, and the record of a resource."""

import json
from typing import Any

import pytest
from support import macro, specs

NOTE_ID = {"name": "note_id", "type": "int"}


def specify(**tool: Any) -> dict[str, Any]:
    return specs([tool])[0]


@pytest.mark.parametrize(
    ("name", "behavior", "verb", "record"),
    [
        ("nc_notes_get_note", "read", "get", "note"),
        ("nc_webdav_list_directories", "read", "list", "directory"),
        ("deck_create_card", "create", "create", "card"),
        ("nc_semantic_search", "read", "search", "nc_semantic"),
        (
            "check_logged_in",
            "action",
            "check",
            "logged_in",
        ),  # the first word is a verb: it stands
        ("shelve_note", "put", "shelve", "note"),  # nothing is hidden
        ("nc_update_note", "put", "nc", "update_note"),  # `update` is not a verb of put
    ],
)
def test_a_prefix_does_not_hide_the_verb_of_the_behavior(
    name: str, behavior: str, verb: str, record: str
) -> None:
    spec = specify(name=name, behavior=behavior)
    assert (spec["verb"], spec["record"]) == (verb, record)


def test_a_prefixed_list_gets_the_parameters_of_a_list() -> None:
    spec = specify(name="nc_notes_list_notes", behavior="read")
    assert [param["name"] for param in spec["params"]] == ["limit", "cursor"]
    assert (spec["shape"], spec["description"]) == ("list", "List notes.")


@pytest.mark.parametrize(
    ("tool", "shape"),
    [
        ({"name": "get_note", "params": [NOTE_ID]}, "one"),
        ({"name": "get_note", "params": [NOTE_ID | {"required": False}]}, "list"),
        ({"name": "get_note", "params": [NOTE_ID | {"default": None}]}, "list"),
        ({"name": "get_note", "params": [NOTE_ID | {"default": 1}]}, "one"),
        (
            {"name": "get_notes", "params": [{"name": "folder_id", "type": "int"}]},
            "list",
        ),
        ({"name": "get_notes", "params": [NOTE_ID]}, "one"),
    ],
    ids=[
        "by-id",
        "id-left-out",
        "id-null",
        "id-default",
        "by-another-id",
        "plural-by-its-id",
    ],
)
def test_a_read_answers_one_or_a_list(tool: dict[str, Any], shape: str) -> None:
    assert specs([tool])[0]["shape"] == shape


@pytest.mark.parametrize(
    ("field", "source"),
    [
        ({"type": "str", "default": None}, "page"),
        ({"type": "str", "default": "x"}, "default"),
        ("str", "nowhere"),
    ],
    ids=["nullable", "never-null", "required"],
)
def test_a_list_fills_a_next_cursor_that_may_be_null(
    field: object, source: str
) -> None:
    spec = specify(name="list_notes", returns={"next_cursor": field})
    assert spec["returns"][0]["from"] == source


@pytest.mark.parametrize(
    ("uri", "kind"),
    [
        ("notes://all", "note"),
        ("notes://{note_id}", "note"),
        ("api://notes/recent", "note"),
        ("resource://available_notes", "note"),
        ("resource://all_green_notes", "green_note"),
        ("resource://help", "help"),
    ],
)
def test_a_resource_holds_a_kind_that_the_tools_know(uri: str, kind: str) -> None:
    tools = specs(["get_note", "get_green_note"])
    (resource,) = json.loads(macro("specs", "resource_specs", [{"uri": uri}], tools))
    assert resource["record"] == kind


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("check_logged_in", "Check Logged In"),
        ("move_to_bin", "Move to Bin"),
        ("in", "In"),
    ],
)
def test_the_last_word_of_a_title_is_capital(name: str, title: str) -> None:
    assert macro("names", "title", name) == title

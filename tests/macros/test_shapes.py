"""The parameters and results that a tool gets, and where a result comes from."""

import json
from typing import Any

import pytest
from support import macro, specs
from tables import VERSIONS

Tool = dict[str, Any]
OR_ZERO = {"type": "int", "default": 0}
OR_NULL = {"type": "int", "default": None}


def specify(tool: Tool | str) -> Tool:
    """Return the specification of one tool."""
    (specification,) = specs([tool])
    return specification


def list_names(tool: Tool, what: str = "params") -> list[str]:
    """List the names of a tool's parameters or results."""
    return [item["name"] for item in tool[what]]


def list_id_types(fields: list[Tool]) -> list[str]:
    """List the types of the fields called `id`."""
    types = []
    for field in fields:
        if field["name"] == "id":
            types.append(field["type"])
    return types


@pytest.mark.parametrize(
    ("name", "params", "returns"),
    [
        ("get_note", ["note_id"], ["id", "etag", "title", "content"]),
        (
            "search_notes",
            ["query", "limit", "cursor"],
            ["items", "total", "next_cursor"],
        ),
        ("list_notes", ["limit", "cursor"], ["items", "total", "next_cursor"]),
        ("count_notes", ["query"], ["count"]),
        ("ping", [], ["ok"]),
        ("create_note", ["title", "content"], ["id", "etag"]),
        ("ensure_note", ["title", "content"], ["id", "etag"]),
        ("append_note", ["note_id", "content"], ["id", "etag"]),
        ("update_note", ["note_id", "etag", "title", "content"], ["id", "etag"]),
        ("put_note", ["note_id", "title", "content"], ["id", "etag"]),
        ("archive_note", ["note_id"], ["id", "etag"]),
        ("assign_note", ["note_id", "target"], ["id", "etag"]),
        ("delete_note", ["note_id"], ["deleted"]),
        ("delete_notes", ["note_ids"], ["count"]),
        ("send_note", ["note_id"], ["action_id"]),
    ],
)
def test_what_a_name_alone_takes_and_answers(
    name: str, params: list[str], returns: list[str]
) -> None:
    tool = specify(name)
    assert (list_names(tool), list_names(tool, "returns")) == (params, returns)
    assert tool["implemented"]
    for item in tool["params"] + tool["returns"]:
        assert item["description"].endswith(".")
    assert tool["description"].endswith(".")


@pytest.mark.parametrize("name", ["get_2fa_code", "delete_2fa_codes", "get__note"])
def test_a_parameter_of_ours_is_always_a_python_name(name: str) -> None:
    (param,) = specify(name)["params"]
    assert param["py"].isidentifier()
    assert param["py"] == param["name"]


def test_tools_of_one_record_share_its_fields() -> None:
    amount = {"name": "amount", "type": "float", "ge": 0, "default": 1}
    create = {
        "name": "create_order",
        "params": [amount, {"name": "state", "choices": ["a", "b"]}],
    }
    _, get, update, append = specs(
        [create, "get_order", "update_order", "append_order"]
    )
    assert list_names(get, "returns") == ["id", "etag", "amount", "state"]
    assert list_names(update) == ["order_id", "etag", "amount", "state"]
    changed = update["params"][2]
    assert (changed["type"], changed["limits"], changed["optional"]) == (
        "float",
        ["ge"],
        True,
    )
    assert not changed["has_default"], (
        "a default would overwrite what the caller left out"
    )
    assert list_names(append) == ["order_id", "state"]
    assert update["description"].endswith("get_order returns the current one.")


def test_two_spellings_of_one_parameter_are_one_field() -> None:
    create_tool = {
        "name": "create_order",
        "params": [{"name": "order-id"}, {"name": "due-date"}],
    }
    put_tool = {"name": "put_order", "params": [{"name": "id"}, {"name": "due_date"}]}
    *_, update = specs([create_tool, put_tool, "update_order"])
    assert (
        len(list_names(update)) == len({param["py"] for param in update["params"]}) == 3
    )


@pytest.mark.parametrize(
    ("params", "key"),
    [
        (["path", "id", "order_id", "note_id"], "note_id"),
        (["path", "order_id", "id"], "id"),
        (["path", "order_id", "box_id"], "order_id"),
        (["path", "order_ids"], "order_ids"),
        (["number", "uid", "slug", "name", "key", "path"], "path"),
        (["number", "uid", "slug", "name", "key"], "key"),
        (["number", "uid", "slug", "name"], "name"),
        (["number", "uid", "slug"], "slug"),
        (["number", "uid"], "uid"),
        (["number"], "number"),
        (["title"], ""),
        ([], ""),
    ],
)
def test_the_identity_parameter(params: list[str], key: str) -> None:
    assert (
        specify({"name": "get_note", "params": [{"name": n} for n in params]})["key"]
        == key
    )


@pytest.mark.parametrize("version", sorted(VERSIONS))
def test_the_version_parameter_names_its_source(version: str) -> None:
    tool = {"name": "update_note", "params": [{"name": "note_id"}, {"name": version}]}
    _, update = specs(["get_note", tool])
    assert update["params"][1]["role"] == "version"
    assert "get_note" in update["params"][1]["description"]
    assert "get_note" in update["description"]
    assert "stale" in update["description"]


@pytest.mark.parametrize(
    ("constraints", "implemented"),
    [
        ({}, True),
        ({"required": False}, True),
        ({"max_length": 16}, True),
        ({"type": "int"}, False),
        ({"choices": ["a"]}, False),
        ({"pattern": "^a$"}, False),
        ({"max_length": 15}, False),
    ],
)
def test_a_version_that_is_no_etag_of_ours_needs_a_body_of_its_own(
    constraints: Tool, implemented: bool
) -> None:
    params = [{"name": "note_id"}, {"name": "title"}, {"name": "version"} | constraints]
    assert (
        specify({"name": "update_note", "params": params})["implemented"] is implemented
    )


@pytest.mark.parametrize(
    ("constraints", "optional", "has_default"),
    [
        ({}, False, False),
        ({"required": True}, False, False),
        ({"required": False}, True, False),
        ({"default": None}, True, False),
        ({"default": "x"}, False, True),
        ({"default": "x", "required": False}, False, True),
        ({"default": ""}, False, True),
    ],
)
def test_optional_and_default(
    constraints: Tool, optional: bool, has_default: bool
) -> None:
    (param,) = specify({"name": "get_note", "params": [{"name": "a"} | constraints]})[
        "params"
    ]
    assert (param["optional"], param["has_default"]) == (optional, has_default)


@pytest.mark.parametrize(
    ("wire", "python"),
    [
        *(
            ("from", "from_"),
            ("order-id", "order_id"),
            ("a.b", "a_b"),
            ("title", "title"),
        ),
        *(
            ("self", "self_"),
            ("ctx", "ctx_"),
            ("model_name", "param_model_name"),
            ("None", "None_"),
        ),
        *(("str", "str_"), ("len", "len_"), ("Field", "Field_"), ("fooBar", "fooBar")),
    ],
)
def test_wire_names_that_python_does_not_allow(wire: str, python: str) -> None:
    (param,) = specify({"name": "get_note", "params": [{"name": wire}]})["params"]
    assert (param["name"], param["py"]) == (wire, python)


@pytest.mark.parametrize(
    ("name", "params", "returns", "sources"),
    [
        ("get_note", "note_id", {"id": "str", "etag": "str"}, ["record", "record"]),
        ("get_note", "note_id", {"id": "int"}, ["nowhere"]),  # of a text
        (
            "get_note",
            "note_id",
            {"title": "str", "note_id": "str"},
            ["record", "param"],
        ),
        ("get_note", "note_id", {"title": "int"}, ["nowhere"]),
        ("get_note", "note_id", {"id": "str", "x": OR_ZERO}, ["record", "nowhere"]),
        ("get_note", "note_id", {"id": "str", "x": OR_NULL}, ["record", "default"]),
        ("put_note", "note_id", {"x": OR_ZERO}, ["default"]),
        ("ping", "note_id", {"x": OR_ZERO}, ["default"]),
        ("delete_note", "note_id", {"deleted": "bool"}, ["value"]),
        ("delete_note", "note_id", {"deleted": "int"}, ["nowhere"]),
        (
            "search_notes",
            "query",
            {"notes": "list[dict]", "total": "int"},
            ["dicts", "page"],
        ),
        ("count_notes", "query", {"n": "int"}, ["total"]),
        (
            "send_note",
            "note_id",
            {"action_id": "int", "note_id": "str"},
            ["value", "param"],
        ),
        ("create_note", "title", {"id": "int", "title": "str"}, ["record", "record"]),
    ],
)
def test_where_a_result_comes_from(
    name: str, params: str, returns: Tool, sources: list[str]
) -> None:
    tool = specify({"name": name, "params": [{"name": params}], "returns": returns})
    assert [field["from"] for field in tool["returns"]] == sources
    assert list_names(tool, "returns") == list(returns)
    assert tool["implemented"] is ("nowhere" not in sources)


def test_a_result_with_a_null_default_is_optional() -> None:
    returns = {"x": {"type": "int", "default": None, "description": "X."}}
    (field,) = specify({"name": "get_note", "returns": returns})["returns"]
    assert (field["optional"], field["has_default"], field["description"]) == (
        True,
        False,
        "X.",
    )


@pytest.mark.parametrize(
    ("uri", "file", "variables", "record"),
    [
        ("notes://all", "all", [], "note"),
        ("notes://{note_id}", "notes_note_id", ["note_id"], "note"),
        ("statuspro://statuses", "statuses", [], "status"),
        ("a+b.c://x/{y}/z{w}", None, ["y", "w"], None),
    ],
)
def test_resources(
    uri: str, file: str | None, variables: list[str], record: str | None
) -> None:
    answer = {"uri": uri, "name": "N", "description": "D."}
    (resource,) = json.loads(
        macro("specs", "resource_specs", [answer], specs("get_note"))
    )
    assert resource["variables"] == variables
    assert resource["mime_type"] == "application/json"
    assert file is None or resource["file"] == file
    assert record is None or resource["record"] == record
    assert resource["file"].isidentifier()


@pytest.mark.parametrize("behavior", ["put", "update", "append"])
def test_a_write_of_one_word_names_its_record(behavior: str) -> None:
    tool = specify(f"enumerate={behavior}")
    assert list_names(tool)[0] == "enumerate_id"


def test_what_has_no_identity_is_the_one_called_current() -> None:
    """Its id is a text, in every result of its kind of record; a tool that says int is left to its author."""
    tools = [
        {"name": "set_theme", "params": [{"name": "value"}]},
        "search_themes",
        {"name": "put_theme", "params": [{"name": "value"}], "returns": {"id": "int"}},
        {"name": "delete_note", "params": [{"name": "note_id", "type": "int"}]},
        "create_note",
    ]
    theme, listed, put_theme, _, note = specs(tools)
    assert list_id_types(theme["returns"]) == ["str"]
    assert list_id_types(listed["item_fields"]) == ["str"]
    assert not put_theme["implemented"]
    assert list_id_types(note["returns"]) == ["int"]


def test_an_id_that_is_a_number_is_arranged_as_it_is_sent() -> None:
    """The store keeps IDs as text, where 1 and 1.0 are two."""
    (tool,) = specs(
        [{"name": "get_note", "params": [{"name": "note_id", "type": "float"}]}]
    )
    assert macro("values", "sample", tool["params"][0]) == "1.0"
    many = dict(tool["params"][0], type="list[float]")
    assert macro("values", "sample", many) == "[1.0]"


def test_an_id_that_is_called_ids_and_is_one_has_its_type() -> None:
    params = [{"name": "note_ids", "type": "email"}, {"name": "text"}]
    (tool,) = specs([{"name": "append_note", "params": params}])
    assert list_id_types(tool["returns"]) == ["str"]


def test_ensure_cannot_make_up_a_uuid() -> None:
    keyed = {"name": "get_job", "params": [{"name": "job_id", "type": "uuid"}]}
    assert not specs([keyed, "ensure_job"])[1]["implemented"]
    params = [{"name": "job_id", "type": "uuid"}, {"name": "title"}]
    assert specs([keyed, {"name": "ensure_job", "params": params}])[1]["implemented"]


def test_a_result_field_that_a_record_holds_otherwise_is_left_to_its_author() -> None:
    returns = {"id": "int", "etag": {"type": "int", "default": 0}}
    params = [{"name": "note_id", "type": "int"}, {"name": "title"}]
    assert not specify({"name": "set_note", "params": params, "returns": returns})[
        "implemented"
    ]
    returns["etag"] = {"type": "str", "default": ""}
    assert specify({"name": "set_note", "params": params, "returns": returns})[
        "implemented"
    ]


def test_only_what_appends_is_described_as_going_to_something() -> None:
    added, watered = specs(["append_note", "water_plant=append"])
    assert added["description"] == "Append to a note; existing content is kept."
    assert watered["description"] == "Water a plant; existing content is kept."

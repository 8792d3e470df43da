"""What the tool language makes of what an author said, held against tables written by hand."""

import json
from typing import Any

import design
import pytest
from support import environment, macro, specs

Tool = dict[str, Any]
CUSTOM = ["none", "deletes", "destructive", "writes"]
ONE_OF_EACH = {
    "read": "get_note",
    "create": "create_note",
    "ensure": "ensure_note",
    "append": "append_note",
    "update": "update_note",
    "put": "put_note",
    "delete": "delete_note",
    "action": "send_note",
}


def spec(tool: Tool | str, profile: str = "explicit") -> Tool:
    """The specification of one tool."""
    (found,) = specs([tool], profile)
    return found


def under(tool: Tool, hints: str, destructive: str, confirm: str) -> Tool:
    """The specification of one tool under a custom profile."""
    policy = json.loads(
        macro("specs", "policy_of", "custom", hints, destructive, confirm, "refuse")
    )
    (found,) = json.loads(macro("specs", "specs", [tool], policy))
    return dict(found)


# Names and behaviors --------------------------------------------------------------------------------------


def test_the_verbs_are_these_and_no_others() -> None:
    module: Any = environment().get_template("macros/tables.jinja").module
    assert module.VERBS == design.BEHAVIOR_OF
    assert list(module.BEHAVIORS) == list(ONE_OF_EACH)


@pytest.mark.parametrize("verb", design.BEHAVIOR_OF)
def test_the_first_word_says_what_a_tool_does(verb: str) -> None:
    assert spec(f"{verb}_note")["behavior"] == design.BEHAVIOR_OF[verb]
    assert spec(verb)["behavior"] == design.BEHAVIOR_OF[verb]
    assert spec(f"{verb}_note=action")["behavior"] == "action"
    assert spec({"name": f"{verb}_note", "behavior": "ensure"})["behavior"] == "ensure"


@pytest.mark.parametrize("verb", design.VERBS["update"].split())
@pytest.mark.parametrize(
    ("params", "behavior"),
    [
        (None, "update"),
        ([], "put"),
        (["note_id", "title"], "put"),
        *((["note_id", version], "update") for version in sorted(design.VERSIONS)),
    ],
)
def test_a_change_without_a_version_is_a_put(
    verb: str, params: list[str] | None, behavior: str
) -> None:
    said = {} if params is None else {"params": [{"name": name} for name in params]}
    found = spec({"name": f"{verb}_note"} | said)
    assert found["behavior"] == behavior
    if params is None:
        assert [param["name"] for param in found["params"]] == [
            "note_id",
            "etag",
            "title",
            "content",
        ]


@pytest.mark.parametrize(
    "said",
    [
        "get_note, shelve_note=put",
        " get_note ,, shelve_note = put ,",
        ["get_note", "shelve_note=put"],
        ["get_note", {"name": "shelve_note", "behavior": "put"}],
        [{"name": "get_note"}, "shelve_note=put"],
    ],
)
def test_names_mappings_and_both_mean_the_same(said: object) -> None:
    assert specs(said) == specs([{"name": "get_note"}, {"name": "shelve_note", "behavior": "put"}])


def test_one_mapping_is_a_list_of_one() -> None:
    assert specs({"name": "get_note"}) == specs("get_note")


@pytest.mark.parametrize(
    ("name", "title", "camel"),
    [
        ("get_note", "Get Note", "GetNote"),
        ("list_of_the_notes", "List of the Notes", "ListOfTheNotes"),
        ("get_v2_note", "Get V2 Note", "GetV2Note"),
        ("a_note", "A Note", "ANote"),
        ("get__note_", "Get Note", "GetNote"),
        ("ping", "Ping", "Ping"),
    ],
)
def test_titles_and_classes(name: str, title: str, camel: str) -> None:
    assert macro("names", "title", name) == title
    assert macro("names", "camel", name) == camel


@pytest.mark.parametrize(
    ("many", "one"),
    [
        *(
            ("notes", "note"),
            ("categories", "category"),
            ("boxes", "box"),
            ("addresses", "address"),
        ),
        *(("branches", "branch"), ("dishes", "dish"), ("news", "news"), ("status", "status")),
        *(("ties", "tie"), ("note", "note"), ("is", "is"), ("order_lines", "order_line")),
        *(("classes", "class"), ("glass", "glass"), ("analysis", "analysis"), ("buses", "bus")),
    ],
)
def test_plural_and_singular(many: str, one: str) -> None:
    assert macro("names", "singular", many) == one


@pytest.mark.parametrize(
    ("tool", "record"),
    [
        ("get_note", "note"),
        ("search_notes", "note"),
        ("list_order_lines", "order_line"),
        ("ping", "ping"),
        ({"name": "get_note", "record": "memo"}, "memo"),
    ],
)
def test_the_kind_of_record(tool: Tool | str, record: str) -> None:
    assert spec(tool)["record"] == record


def test_modules_and_long_names() -> None:
    found = spec({"name": "get_note", "module": "notes"})
    assert (found["module"], found["file"]) == ("notes", "notes/get_note")
    assert spec("get_note")["file"] == "get_note"
    assert spec("get_" + "x" * 60)["class"] == "Tool"


# Hints and gates ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("profile", design.PROFILES)
@pytest.mark.parametrize("name", ONE_OF_EACH.values(), ids=list(ONE_OF_EACH))
@pytest.mark.parametrize("open_world", [None, True, False])
def test_hints_by_profile(profile: str, name: str, open_world: bool | None) -> None:
    tool = {"name": name} | ({} if open_world is None else {"open_world": open_world})
    table, destructive, confirm = design.PROFILES[profile]
    found = spec(tool, profile)
    assert found["hints"] == design.hints(tool, table, destructive)
    assert found["behaves"] == list(design.truth(tool, destructive).values())
    assert found["gated"] is design.gated(tool, destructive, confirm)


@pytest.mark.parametrize("profile", design.PROFILES)
@pytest.mark.parametrize("destructive", [None, True, False])
@pytest.mark.parametrize("idempotent", [None, True, False])
def test_an_action_says_itself_what_it_is(
    profile: str, destructive: bool | None, idempotent: bool | None
) -> None:
    said = {"destructive": destructive, "idempotent": idempotent}
    tool = {"name": "send_note"} | {k: v for k, v in said.items() if v is not None}
    table, of, confirm = design.PROFILES[profile]
    found = spec(tool, profile)
    assert found["hints"] == design.hints(tool, table, of)
    assert found["gated"] is design.gated(tool, of, confirm)


def test_an_unsaid_action_is_what_the_protocol_assumes() -> None:
    assert spec("send_note")["hints"] == {
        "readOnlyHint": False,
        "destructiveHint": True,
        "idempotentHint": False,
        "openWorldHint": True,
    }


@pytest.mark.parametrize("profile", design.PROFILES)
@pytest.mark.parametrize("hint", design.WIRE)
@pytest.mark.parametrize("value", [True, False])
def test_an_exception_is_on_the_wire_in_every_profile(profile: str, hint: str, value: bool) -> None:
    exceptions = [{"hint": hint, "value": value, "why": "Because."}]
    tool = {"name": "put_note", "exceptions": exceptions}
    table, destructive, _ = design.PROFILES[profile]
    found = spec(tool, profile)["hints"]
    assert found == design.hints(tool, table, destructive)
    assert found[design.WIRE[hint]] is value


def test_the_sparse_tables_to_the_letter() -> None:
    """DESIGN's two tables for the default tools, spelled out: nothing derived."""
    read, loss, same, world = design.WIRE.values()
    rows: dict[str, tuple[dict[str, bool], dict[str, bool]]] = {
        "get_note": ({read: True, world: True}, {read: True, same: True}),
        "create_note": ({same: False, world: True}, {read: False, same: False}),
        "append_note": ({same: False, world: True}, {read: False, same: False}),
        "ensure_note": ({same: True, world: True}, {read: False, same: True}),
        "update_note": ({same: False, world: True}, {read: False, loss: True, same: False}),
        "put_note": ({same: True, world: True}, {read: False, loss: True, same: True}),
        "delete_note": (
            {loss: True, same: True, world: True},
            {read: False, loss: True, same: True},
        ),
        "send_note": (
            {read: False, loss: True, same: False, world: True},
            {read: False, loss: True, same: False},
        ),
    }
    for name, (end_state, narrow) in rows.items():
        assert spec(name, "end-state")["hints"] == end_state, name
        assert spec(name, "narrow")["hints"] == narrow, name
    local = {"name": "get_note", "open_world": False}
    assert spec(local, "narrow")["hints"] == {read: True, same: True, world: False}
    assert spec(local, "end-state")["hints"] == {read: True, world: False}


@pytest.mark.parametrize("destructive", ["deletes", "deletes_and_overwrites"])
@pytest.mark.parametrize("confirm", CUSTOM)
def test_gates_by_setting(confirm: str, destructive: str) -> None:
    harmless = {"name": "start_note", "destructive": False}
    tools: list[dict[str, Any]] = [*({"name": name} for name in ONE_OF_EACH.values()), harmless]
    overwrites = {"update_note", "put_note"} if destructive == "deletes_and_overwrites" else set()
    expected = {
        "none": set(),
        "deletes": {"delete_note", "send_note"},
        "destructive": {"delete_note", "send_note"} | overwrites,
        "writes": {*ONE_OF_EACH.values(), "start_note"} - {"get_note"},
    }[confirm]
    gated = {t["name"] for t in tools if under(t, "explicit", destructive, confirm)["gated"]}
    assert gated == expected


@pytest.mark.parametrize("confirm", CUSTOM)
@pytest.mark.parametrize("name", ["get_note", "delete_note"])
def test_a_tool_may_add_a_gate_and_take_one_away_with_a_reason(name: str, confirm: str) -> None:
    for said in (True, "Really?"):
        assert under({"name": name, "confirm": said}, "narrow", "deletes", confirm)["gated"]
    why = [{"hint": "confirm", "value": False, "why": "It can be undone."}]
    tool = {"name": name, "confirm": False}
    assert not under(tool | {"exceptions": why}, "narrow", "deletes", confirm)["gated"]
    wanted = name == "delete_note" and confirm != "none"
    assert under(tool, "narrow", "deletes", confirm)["gated"] is wanted


# Parameters and results -----------------------------------------------------------------------------------


def names(found: Tool, what: str = "params") -> list[str]:
    """The names of a tool's parameters or results."""
    return [item["name"] for item in found[what]]


@pytest.mark.parametrize(
    ("name", "params", "returns"),
    [
        ("get_note", ["note_id"], ["id", "etag", "title", "content"]),
        ("search_notes", ["query", "limit", "cursor"], ["items", "total", "next_cursor"]),
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
    found = spec(name)
    assert (names(found), names(found, "returns")) == (params, returns)
    assert found["implemented"]
    assert all(item["description"].endswith(".") for item in found["params"] + found["returns"])
    assert found["description"].endswith(".")


@pytest.mark.parametrize("name", ["get_2fa_code", "delete_2fa_codes", "get__note"])
def test_a_parameter_of_ours_is_always_a_python_name(name: str) -> None:
    (param,) = spec(name)["params"]
    assert param["py"].isidentifier()
    assert param["py"] == param["name"]


def test_tools_of_one_record_share_its_fields() -> None:
    amount = {"name": "amount", "type": "float", "ge": 0, "default": 1}
    create = {"name": "create_order", "params": [amount, {"name": "state", "choices": ["a", "b"]}]}
    _, get, update, append = specs([create, "get_order", "update_order", "append_order"])
    assert names(get, "returns") == ["id", "etag", "amount", "state"]
    assert names(update) == ["order_id", "etag", "amount", "state"]
    changed = update["params"][2]
    assert (changed["type"], changed["limits"], changed["optional"]) == ("float", ["ge"], True)
    assert not changed["has_default"], "a default would overwrite what the caller left out"
    assert names(append) == ["order_id", "state"]
    assert update["description"].endswith("get_order returns the present one.")


def test_two_spellings_of_one_parameter_are_one_field() -> None:
    first = {"name": "create_order", "params": [{"name": "order-id"}, {"name": "due-date"}]}
    other = {"name": "put_order", "params": [{"name": "id"}, {"name": "due_date"}]}
    *_, update = specs([first, other, "update_order"])
    assert len(names(update)) == len({param["py"] for param in update["params"]}) == 3


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
    assert spec({"name": "get_note", "params": [{"name": n} for n in params]})["key"] == key


@pytest.mark.parametrize("version", sorted(design.VERSIONS))
def test_the_version_parameter_names_its_source(version: str) -> None:
    tool = {"name": "update_note", "params": [{"name": "note_id"}, {"name": version}]}
    _, found = specs(["get_note", tool])
    assert found["params"][1]["role"] == "version"
    assert "get_note" in found["params"][1]["description"]
    assert "get_note" in found["description"]
    assert "stale" in found["description"]


@pytest.mark.parametrize(
    ("said", "implemented"),
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
    said: Tool, implemented: bool
) -> None:
    params = [{"name": "note_id"}, {"name": "version"} | said]
    assert spec({"name": "update_note", "params": params})["implemented"] is implemented


@pytest.mark.parametrize(
    ("said", "optional", "has_default"),
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
def test_optional_and_default(said: Tool, optional: bool, has_default: bool) -> None:
    (param,) = spec({"name": "get_note", "params": [{"name": "a"} | said]})["params"]
    assert (param["optional"], param["has_default"]) == (optional, has_default)


@pytest.mark.parametrize(
    ("wire", "python"),
    [
        *(("from", "from_"), ("order-id", "order_id"), ("a.b", "a_b"), ("title", "title")),
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
    (param,) = spec({"name": "get_note", "params": [{"name": wire}]})["params"]
    assert (param["name"], param["py"]) == (wire, python)


@pytest.mark.parametrize(
    ("name", "params", "returns", "sources"),
    [
        ("get_note", "note_id", {"id": "int", "etag": "str"}, ["record", "record"]),
        ("get_note", "note_id", {"title": "str", "note_id": "str"}, ["record", "param"]),
        ("get_note", "note_id", {"title": "int"}, ["nowhere"]),
        ("get_note", "note_id", {"x": {"type": "int", "default": 0}}, ["default"]),
        ("get_note", "note_id", {"x": {"type": "int", "default": None}}, ["default"]),
        ("delete_note", "note_id", {"deleted": "bool"}, ["value"]),
        ("delete_note", "note_id", {"deleted": "int"}, ["nowhere"]),
        ("search_notes", "query", {"notes": "list[dict]", "total": "int"}, ["dicts", "page"]),
        ("count_notes", "query", {"n": "int"}, ["total"]),
        ("send_note", "note_id", {"action_id": "int", "note_id": "str"}, ["value", "param"]),
        ("create_note", "title", {"id": "int", "title": "str"}, ["record", "record"]),
    ],
)
def test_where_a_result_comes_from(
    name: str, params: str, returns: Tool, sources: list[str]
) -> None:
    found = spec({"name": name, "params": [{"name": params}], "returns": returns})
    assert [field["from"] for field in found["returns"]] == sources
    assert names(found, "returns") == list(returns)
    assert found["implemented"] is ("nowhere" not in sources)


def test_a_result_with_a_null_default_is_optional() -> None:
    returns = {"x": {"type": "int", "default": None, "description": "X."}}
    (field,) = spec({"name": "get_note", "returns": returns})["returns"]
    assert (field["optional"], field["has_default"], field["description"]) == (True, False, "X.")


@pytest.mark.parametrize(
    ("uri", "file", "variables", "record"),
    [
        ("notes://all", "all", [], "note"),
        ("notes://{note_id}", "notes_note_id", ["note_id"], "note"),
        ("statuspro://statuses", "statuses", [], "status"),
        ("a+b.c://x/{y}/z{w}", None, ["y", "w"], None),
    ],
)
def test_resources(uri: str, file: str | None, variables: list[str], record: str | None) -> None:
    said = {"uri": uri, "name": "N", "description": "D."}
    (found,) = json.loads(macro("specs", "resource_specs", [said], specs("get_note")))
    assert found["variables"] == variables
    assert found["mime_type"] == "application/json"
    assert file is None or found["file"] == file
    assert record is None or found["record"] == record
    assert found["file"].isidentifier()


def test_what_has_no_identity_is_the_one_called_current() -> None:
    """Its id is a text, in every result of its kind of record; a tool that says int is left to its author."""
    tools = [
        {"name": "set_theme", "params": [{"name": "value"}]},
        "search_themes",
        {"name": "put_theme", "params": [{"name": "value"}], "returns": {"id": "int"}},
        {"name": "delete_note", "params": [{"name": "note_id", "type": "int"}]},
        "create_note",
    ]
    theme, listed, said, _, note = specs(tools)
    assert [field["type"] for field in theme["returns"] if field["name"] == "id"] == ["str"]
    assert [field["type"] for field in listed["item_fields"] if field["name"] == "id"] == ["str"]
    assert not said["implemented"]
    assert [field["type"] for field in note["returns"] if field["name"] == "id"] == ["int"]


def test_an_id_that_is_a_number_is_arranged_as_it_is_sent() -> None:
    """The store keeps IDs as text, where 1 and 1.0 are two."""
    (tool,) = specs([{"name": "get_note", "params": [{"name": "note_id", "type": "float"}]}])
    assert macro("body", "sample", tool["params"][0]) == "1.0"
    many = dict(tool["params"][0], type="list[float]")
    assert macro("body", "sample", many) == "[1.0]"


def test_an_id_that_is_called_ids_and_is_one_has_its_type() -> None:
    params = [{"name": "note_ids", "type": "email"}, {"name": "text"}]
    (tool,) = specs([{"name": "append_note", "params": params}])
    assert [f["type"] for f in tool["returns"] if f["name"] == "id"] == ["str"]


def test_ensure_cannot_make_up_a_uuid() -> None:
    keyed = {"name": "get_job", "params": [{"name": "job_id", "type": "uuid"}]}
    assert not specs([keyed, "ensure_job"])[1]["implemented"]
    params = [{"name": "job_id", "type": "uuid"}, {"name": "title"}]
    assert specs([keyed, {"name": "ensure_job", "params": params}])[1]["implemented"]


def test_a_result_field_that_a_record_holds_otherwise_is_left_to_its_author() -> None:
    returns = {"id": "int", "etag": {"type": "int", "default": 0}}
    params = [{"name": "note_id", "type": "int"}, {"name": "title"}]
    assert not spec({"name": "set_note", "params": params, "returns": returns})["implemented"]
    returns["etag"] = {"type": "str", "default": ""}
    assert spec({"name": "set_note", "params": params, "returns": returns})["implemented"]

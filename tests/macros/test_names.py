"""Behavior, title, class and record derived from a tool name."""

from itertools import pairwise
from typing import Any

import pytest
from support import ROOT, environment, macro, specs
from tables import BEHAVIOR_OF, BEHAVIORS, TABLES, VERSIONS

Tool = dict[str, Any]


def specify(tool: Tool | str) -> Tool:
    """Return the specification of one tool."""
    (specification,) = specs([tool])
    return specification


RELEASED = """get list search find lookup fetch read show count check describe validate resolve ping: read
create add new insert: create
ensure: ensure
append: append
update edit modify patch rename: update
set put write replace assign unassign link unlink attach detach enable disable archive unarchive: put
delete remove purge clear drop revoke cancel: delete
send run start stop execute trigger: action"""


def test_a_released_verb_never_moves() -> None:
    """Verbs may be added, but no released verb may be removed or change its behavior."""
    for line in RELEASED.splitlines():
        verbs, _, kind = line.partition(": ")
        assert {BEHAVIOR_OF[verb] for verb in verbs.split()} == {kind}


def test_the_macros_read_the_tables() -> None:
    module: Any = environment().get_template("macros/tables.jinja").module
    assert module.VERBS == BEHAVIOR_OF
    assert module.BEHAVIORS == BEHAVIORS


@pytest.mark.parametrize("verb", BEHAVIOR_OF)
def test_the_first_word_says_what_a_tool_does(verb: str) -> None:
    assert specify(f"{verb}_note")["behavior"] == BEHAVIOR_OF[verb]
    assert specify(verb)["behavior"] == BEHAVIOR_OF[verb]
    assert specify(f"{verb}_note=action")["behavior"] == "action"
    assert (
        specify({"name": f"{verb}_note", "behavior": "ensure"})["behavior"] == "ensure"
    )


@pytest.mark.parametrize("verb", TABLES["verbs"]["update"])
@pytest.mark.parametrize(
    ("params", "behavior"),
    [
        (None, "update"),
        ([], "put"),
        (["note_id", "title"], "put"),
        *((["note_id", version], "update") for version in sorted(VERSIONS)),
    ],
)
def test_a_change_without_a_version_is_a_put(
    verb: str, params: list[str] | None, behavior: str
) -> None:
    tool_params = (
        {} if params is None else {"params": [{"name": name} for name in params]}
    )
    specification = specify({"name": f"{verb}_note"} | tool_params)
    assert specification["behavior"] == behavior
    if params is None:
        assert [param["name"] for param in specification["params"]] == [
            "note_id",
            "etag",
            "title",
            "content",
        ]


@pytest.mark.parametrize(
    "tools",
    [
        "get_note, shelve_note=put",
        " get_note ,, shelve_note = put ,",
        ["get_note", "shelve_note=put"],
        ["get_note", {"name": "shelve_note", "behavior": "put"}],
        [{"name": "get_note"}, "shelve_note=put"],
    ],
)
def test_names_mappings_and_both_mean_the_same(tools: object) -> None:
    assert specs(tools) == specs(
        [{"name": "get_note"}, {"name": "shelve_note", "behavior": "put"}]
    )


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
    ("plural", "singular"),
    [
        *(
            ("notes", "note"),
            ("categories", "category"),
            ("boxes", "box"),
            ("addresses", "address"),
        ),
        *(
            ("branches", "branch"),
            ("dishes", "dish"),
            ("news", "news"),
            ("status", "status"),
        ),
        *(
            ("ties", "tie"),
            ("note", "note"),
            ("is", "is"),
            ("order_lines", "order_line"),
        ),
        *(
            ("classes", "class"),
            ("glass", "glass"),
            ("analysis", "analysis"),
            ("buses", "bus"),
        ),
    ],
)
def test_plural_and_singular(plural: str, singular: str) -> None:
    assert macro("names", "singular", plural) == singular


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
    assert specify(tool)["record"] == record


def test_modules_and_long_names() -> None:
    specification = specify({"name": "get_note", "module": "notes"})
    assert (specification["module"], specification["file"]) == (
        "notes",
        "notes/get_note",
    )
    assert specify("get_note")["file"] == "get_note"
    assert specify("get_" + "x" * 60)["class"] == "Tool"


# The author's word ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tool", "behavior", "record", "description"),
    [
        ("check_in_guest", "action", "guest", "Check in guest."),
        (
            "mark_as_read",
            "put",
            "record",
            "Mark as read. Repeating the call changes nothing further.",
        ),
        (
            "shopping_list_delete",
            "delete",
            "shopping_list",
            "Delete a shopping list permanently.",
        ),
        ("run_report", "read", "report", "Run a report."),
        ("save_ticket_search", "create", "ticket_search", "Save a ticket search."),
    ],
)
def test_a_behavior_that_is_written_counts_whatever_the_name(
    tool: str, behavior: str, record: str, description: str
) -> None:
    typed = f"{tool}={behavior}"
    for confirm in TABLES["confirm"]:
        assert macro("validate", "tool_errors", typed, confirm) == ""
    specification = specify(typed)
    assert (specification["behavior"], specification["record"]) == (behavior, record)
    assert specification["description"] == description


@pytest.mark.parametrize("verb", BEHAVIOR_OF)
@pytest.mark.parametrize("behavior", BEHAVIORS)
def test_no_name_speaks_against_a_behavior(verb: str, behavior: str) -> None:
    for tool in (f"{verb}_note={behavior}", f"note_{verb}={behavior}"):
        assert macro("validate", "tool_errors", tool, "writes") == ""
        assert specify(tool)["behavior"] == behavior


@pytest.mark.parametrize("confirm", TABLES["confirm"])
@pytest.mark.parametrize("behavior", BEHAVIORS)
def test_a_gate_is_taken_away_with_a_reason_only(behavior: str, confirm: str) -> None:
    tool: Tool = {
        "name": "do_note",
        "behavior": behavior,
        "confirm": False,
        "why": "It is so.",
    }
    message = macro("validate", "tool_errors", [tool], confirm)
    assert ("add exceptions: [{hint: confirm" in message) == (
        behavior in TABLES["confirm"][confirm]
    )
    exceptions = [{"hint": "confirm", "value": False, "why": "It can be undone."}]
    assert (
        macro("validate", "tool_errors", [tool | {"exceptions": exceptions}], confirm)
        == ""
    )


@pytest.mark.parametrize("confirm", TABLES["confirm"])
def test_an_action_that_destroys_nothing_is_asked_for_under_writes_only(
    confirm: str,
) -> None:
    tool = {"name": "start_note", "destructive": False, "confirm": False}
    message = macro("validate", "tool_errors", [tool], confirm)
    assert bool(message) is (confirm == "writes")


def test_an_update_that_is_written_needs_a_version_or_a_why() -> None:
    tool = {"name": "edit_note", "behavior": "update", "params": [{"name": "title"}]}
    assert "or why: The API" in macro("validate", "tool_errors", [tool], "none")
    assert (
        macro(
            "validate", "tool_errors", [tool | {"why": "It has no versions."}], "none"
        )
        == ""
    )
    assert macro("validate", "tool_errors", "edit_note=update", "none") == ""


def test_every_macro_is_documented() -> None:
    undocumented = []
    for path in [*(ROOT / "macros").glob("*.jinja"), *(ROOT / "writing").glob("*")]:
        if path.suffix != ".jinja":
            continue
        lines = path.read_text(encoding="utf-8").splitlines()
        for above, line in pairwise(lines):
            if line.startswith("{%- macro ") and not above.endswith("-#}"):
                undocumented.append(f"{path.name}: {line}")
    assert undocumented == []


@pytest.mark.parametrize(
    ("domain", "text"),
    [
        ("notes", "Search and change notes."),
        ("blog_posts", "Search and change blog posts."),
        ("my_reading", "Tools for reading."),
        ("our_team_notes", "Search and change team notes."),
        ("reading", "Tools for reading."),
        ("notes_server", "Search and change notes."),
        ("inventory_mcp_server", "Tools for inventory."),
        ("weather_api", "Tools for weather."),
        ("my", "Tools for my."),
        ("tools", "Search and change tools."),
    ],
)
def test_the_usual_description_fits_the_subject(domain: str, text: str) -> None:
    assert macro("names", "description", domain) == text

"""The answer `fields`: types that are written or guessed, and what the tools make of them."""

import json
import re
from typing import Any

import pytest
from support import macro

ARTICLE = {"article": "title, url, tags (list), read (yes/no)"}
READING = [
    "search_articles",
    "get_article",
    "add_article",
    "update_article",
    "mark_article_read=put",
    "mark_article_unread=put",
    "tag_article=append",
    "delete_article",
    "delete_articles",
    "import_articles=create",
    "get_statistics",
    "send_reminder",
]


def parse_records(fields: object) -> dict[str, list[dict[str, Any]]]:
    fields_of_records: dict[str, list[dict[str, Any]]] = json.loads(
        macro("records", "records", fields)
    )
    return fields_of_records


def specify_by_name(
    tools: object, fields: object = None, domain: str = "reading"
) -> dict[str, dict[str, Any]]:
    text = macro("specs", "specs", tools, "sqlite", fields or {}, domain)
    return {spec["name"]: spec for spec in json.loads(text)}


def list_names(fields: list[dict[str, Any]]) -> list[str]:
    return [field["name"] for field in fields]


def list_params(spec: dict[str, Any]) -> list[str]:
    return list_names(spec["params"])


def list_outlines(specs: dict[str, dict[str, Any]]) -> list[str]:
    names = []
    for name, spec in specs.items():
        if spec["outline"]:
            names.append(name)
    return names


def test_types_are_written_or_guessed() -> None:
    written = "title, due date, price, done, state (new|old), note?, pages (number), seen (date, optional)"
    assert parse_records({"orders": written}) == {
        "order": [
            {"name": "title", "type": "str"},
            {"name": "due_date", "type": "date"},
            {"name": "price", "type": "float"},
            {
                "name": "done",
                "type": "bool",
                "description": "Whether it is done.",
                "default": False,
            },
            {"name": "state", "choices": ["new", "old"]},
            {"name": "note", "type": "str", "required": False},
            {"name": "pages", "type": "int"},
            {"name": "seen", "type": "date", "required": False},
        ]
    }


def test_both_forms_are_the_same() -> None:
    listed = {"article": ["title", "url", "tags (list)", "read"]}
    assert parse_records(listed) == parse_records(ARTICLE)
    mapped = {"article": ["title", {"name": "tags", "type": "list[str]"}]}
    assert parse_records(mapped)["article"][1] == {"name": "tags", "type": "list[str]"}


def test_the_types_are_shown() -> None:
    assert macro("records", "described", ARTICLE) == (
        "article: title (str), url (url), tags (list[str]), read (bool)"
    )


MISTAKES: list[tuple[object, str]] = [
    (["title"], "is not a mapping; e.g. note: title"),
    ({"Article": "title"}, "invalid name of a record; e.g. article"),
    ({"article": ""}, "has no fields"),
    ({"article": 5}, "has no fields"),
    ({"article": "title, title"}, "used twice"),
    (
        {"article": "title (colour)"},
        'type "colour" is unknown; write text (one of text',
    ),
    ({"article": "id, title"}, "every record has an id and an etag"),
    ({"article": "article_id"}, "every record has an id and an etag"),
    ({"article": "title ((a))"}, "is not a field"),
    ({"article": [{"name": "a", "type": "file"}]}, "requires backend: http"),
    ({"article": [{"name": "a", "typ": "str"}]}, "; write type"),
    ({"article": [["a"]]}, "is not a field; e.g. tags (list)"),
]
SHORT_ENOUGH = 70  # characters of a message that a prompt of 80 columns shows


@pytest.mark.parametrize(
    ("fields", "problem"),
    MISTAKES,
)
def test_a_mistake_is_a_line(fields: object, problem: str) -> None:
    text = macro("records", "errors", fields)
    assert problem in text
    assert text.startswith(("fields", "field "))


@pytest.mark.parametrize(("fields", "problem"), MISTAKES)
def test_location_error_and_remedy_begin_a_message(
    fields: object, problem: str
) -> None:
    text = macro("records", "errors", fields)
    remedy = re.search(r"(?:; (?:e\.g\. )?)\w+", text)
    assert remedy, text
    assert remedy.end() <= SHORT_ENOUGH, text


@pytest.mark.parametrize(
    "fields", [None, {}, "", ARTICLE, {"a": "x y, z?"}, {"a": ["b", {"name": "c"}]}]
)
def test_good_fields_are_accepted(fields: object) -> None:
    assert macro("records", "errors", fields) == ""


def test_tools_use_the_fields_of_their_record() -> None:
    specs = specify_by_name(READING, ARTICLE)
    fields = ["title", "url", "tags", "read"]
    assert list_params(specs["add_article"]) == fields
    assert list_params(specs["update_article"]) == ["article_id", "etag", *fields]
    assert list_params(specs["tag_article"]) == ["article_id", "tags"]
    returned = list_names(specs["get_article"]["returns"])
    assert returned == ["id", "etag", *fields]
    items = list_names(specs["search_articles"]["item_fields"])
    assert items == ["id", "etag", *fields]


@pytest.mark.parametrize(
    ("name", "value"), [("mark_article_read", True), ("mark_article_unread", False)]
)
def test_a_name_that_ends_in_a_yes_or_no_sets_it(name: str, value: bool) -> None:
    spec = specify_by_name(READING, ARTICLE)[name]
    assert spec["assigns"] == ["read", value]
    assert spec["record"] == "article"
    assert list_params(spec) == ["article_id"]


def test_a_name_that_ends_in_a_field_sets_it() -> None:
    spec = specify_by_name(["set_article_title"], ARTICLE)["set_article_title"]
    assert list_params(spec) == ["article_id", "title"]
    assert spec["partial"]


def test_names_that_are_no_records_are_outlines() -> None:
    specs = specify_by_name(READING, ARTICLE)
    outlines = list_outlines(specs)
    assert outlines == ["import_articles", "send_reminder"]
    written = [name for name, spec in specs.items() if spec["implemented"]]
    assert len(written) == len(READING) - 2


def test_collective_words_are_outlines_without_any_fields() -> None:
    specs = specify_by_name(
        ["get_note", "get_statistics", "import_notes=action"], {}, "notes"
    )
    assert list_outlines(specs) == [
        "get_statistics",
        "import_notes",
    ]


def test_other_records_that_are_created_are_no_outlines() -> None:
    tools = ["add_article", "list_tags", "create_tag", "list_readers"]
    specs = specify_by_name(tools, ARTICLE)
    assert list_outlines(specs) == ["list_readers"]


def test_what_an_author_describes_is_no_outline() -> None:
    tool = {"name": "get_statistics", "record": "statistic"}
    assert not specify_by_name([tool], ARTICLE)["get_statistics"]["outline"]

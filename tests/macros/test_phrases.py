"""Names that say something about declared fields: `mark_article_read`, `untag_article`, `list_unread_articles`."""

import json
from typing import Any

import pytest
from reading_names import FIELDS, LISTS, YOURS
from support import macro

from copier_fastmcp.tools_answer import propose_behavior

Spec = dict[str, Any]


def specify(
    tools: object, fields: object = None, domain: str = "reading"
) -> list[Spec]:
    text = macro("specs", "specs", tools, "sqlite", fields or FIELDS, domain)
    specs: list[Spec] = json.loads(text)
    return specs


def specify_last(tools: str, fields: object = None, domain: str = "reading") -> Spec:
    return specify(tools, fields, domain)[-1]


def list_params(spec: Spec) -> list[str]:
    return [param["name"] for param in spec["params"]]


@pytest.mark.parametrize("name", LISTS)
def test_few_bodies_of_a_reading_list_are_left_to_its_author(name: str) -> None:
    specs = specify(LISTS[name])
    assert [spec["name"] for spec in specs if not spec["implemented"]] == YOURS[name]


@pytest.mark.parametrize(
    ("tool", "field", "value"),
    [
        ("mark_article_read=put", "read", True),
        ("mark_article_as_unread=put", "read", False),
        ("mark_as_read=put", "read", True),
        ("mark_unread=put", "read", False),
        ("set_article_read_status=put", "read", True),
        ("archive_article", "archived", True),
        ("complete_article=put", "completed", True),
        ("unstar_article=put", "starred", False),
    ],
)
def test_a_verb_or_a_word_sets_a_yes_or_no(tool: str, field: str, value: bool) -> None:
    spec = specify_last(tool)
    assert spec["record"] == "article"
    assert list_params(spec) == ["article_id"]
    if not tool.startswith("archive"):  # its state is set by the verb itself
        assert spec["assigns"] == [field, value]


@pytest.mark.parametrize(
    ("tool", "fields", "field"),
    [
        ("complete_task=put", "title, done", "done"),
        ("finish_task=put", "title, finished", "finished"),
        ("archive_task", "title, is_archived", "is_archived"),
        ("pin_task=put", "title, pinned", "pinned"),
    ],
)
def test_a_verb_sets_the_declared_field(tool: str, fields: str, field: str) -> None:
    spec = specify_last(tool, {"task": fields}, "tasks")
    assert spec["assigns"] == [field, True]


@pytest.mark.parametrize("tool", ["mark_articles_read=put", "archive_articles"])
def test_a_plural_takes_ids(tool: str) -> None:
    spec = specify_last(tool)
    assert list_params(spec) == ["article_ids"]
    assert spec["shape"] == "bulk"


@pytest.mark.parametrize(
    ("tool", "behavior", "kind"),
    [
        ("tag_article=put", "put", "gain"),
        ("untag_article=put", "put", "lose"),
        ("untag_article=delete", "delete", "lose"),
        ("remove_tag", "delete", "lose"),
        ("remove_article_tags", "delete", "lose"),
        ("remove_tag_from_article", "delete", "lose"),
        ("tag_article=append", "append", ""),
        ("add_tag", "append", ""),
        ("add_article_tags", "append", ""),
        ("add_tag_to_article", "append", ""),
    ],
)
def test_elements_of_a_list_are_added_and_removed(
    tool: str, behavior: str, kind: str
) -> None:
    spec = specify_last(tool)
    assert spec["behavior"] == behavior
    assert spec["recipe"].get("kind", "") == kind
    assert spec["record"] == "article"
    assert list_params(spec) == ["article_id", "tags"]


@pytest.mark.parametrize(
    ("tool", "where", "params"),
    [
        ("list_articles", {}, ["tag", "read", "limit", "cursor"]),
        ("get_all_articles", {}, ["tag", "read", "limit", "cursor"]),
        ("search_articles", {}, ["query", "tag", "read", "limit", "cursor"]),
        ("search_reading", {}, ["query", "tag", "read", "limit", "cursor"]),
        ("list_unread_articles", {"read": False}, ["tag", "limit", "cursor"]),
        ("count_read_articles", {"read": True}, ["query", "tag"]),
        ("list_articles_by_tag", {}, ["tag", "limit", "cursor"]),
        ("find_articles_by_title", {}, ["title", "limit", "cursor"]),
    ],
)
def test_reads_select_by_fields(
    tool: str, where: dict[str, bool], params: list[str]
) -> None:
    spec = specify_last(tool)
    assert spec["implemented"]
    assert spec["record"] == "article"
    assert spec["where"] == where
    assert list_params(spec) == params


@pytest.mark.parametrize(
    ("tool", "kind"),
    [
        ("get_article_by_url", "lookup"),
        ("toggle_article_read=update", "flip"),
        ("toggle_read=action", "flip"),
        ("toggle_article=update", "flip"),
        ("list_tags", "values"),
        ("count_articles_by_tag", "counts"),
        ("get_reading_stats", "statistics"),
        ("delete_read_articles", "purge"),
    ],
)
def test_a_name_says_what_happens_to_a_field(tool: str, kind: str) -> None:
    spec = specify_last(tool)
    assert spec["recipe"]["kind"] == kind
    assert spec["implemented"]


def test_a_read_by_a_name_leaves_the_ids_of_other_tools_alone() -> None:
    specs = specify(
        "add_shop, get_shop, get_shop_by_name", {"shop": "name, city"}, "shops"
    )
    assert list_params(specs[1]) == ["shop_id"]
    assert specs[1]["key_type"] in ("", "int")
    assert list_params(specs[2]) == ["name"]


@pytest.mark.parametrize(
    "tool",
    [
        "get_random_article",
        "list_recent_articles",
        "list_article_tags",  # of one, or of all?
        "shelve_article=put",
        "toggle_article_title=update",
        "toggle_article_read=put",  # a repeated call would not end in the same state
        "add_note_to_article",
        "clear_article_tags",
        "get_weekly_statistics",
        "delete_old_articles",
        "remove_tags_from_articles",
    ],
)
def test_a_doubtful_name_is_an_outline(tool: str) -> None:
    spec = specify_last(f"add_article, {tool}")
    assert spec["outline"]
    assert not spec["implemented"]


def test_two_yes_or_nos_leave_a_toggle_to_its_author() -> None:
    fields = {"article": "title, read, starred"}
    assert specify_last("toggle_article=update", fields)["outline"]


def test_two_records_leave_an_unnamed_one_to_the_author() -> None:
    fields = {"article": "title, read", "book": "title, read"}
    assert specify_last("mark_as_read=put", fields)["outline"]


def test_a_tag_that_is_created_is_a_record() -> None:
    for tool in ("remove_tag", "list_tags", "add_tag"):
        spec = specify_last(f"add_article, create_tag, {tool}")
        assert spec["record"] == "tag"


def test_what_an_author_wrote_is_kept() -> None:
    tool = {
        "name": "untag_article",
        "behavior": "put",
        "description": "Forget tags.",
        "why": "Tags are cheap.",
    }
    (spec,) = specify([tool])
    assert spec["description"] == "Forget tags."
    assert spec["why"] == "Tags are cheap."
    (spec,) = specify([{"name": "list_articles", "params": [{"name": "query"}]}])
    assert list_params(spec) == ["query"]


def test_nothing_is_read_into_names_without_fields() -> None:
    for tool in ("toggle_note=update", "add_tag_to_note", "list_unread_notes"):
        specs = json.loads(macro("specs", "specs", tool, "sqlite", {}, "notes"))
        assert specs[0]["recipe"] == {}
        assert specs[0]["where"] == {}


@pytest.mark.parametrize(
    ("name", "behavior"),
    [
        ("toggle_read", "update"),
        ("untag_article", "put"),
        ("tag_article", "put"),
        ("mark_article_read", "put"),
    ],
)
def test_the_proposals_fit(name: str, behavior: str) -> None:
    assert propose_behavior(name) == behavior
    assert macro("proposals", "behavior", name) == behavior


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ("articles_by_tag", "articles by tag"),
        ("article_by_url", "an article by url"),
        ("notes", "notes"),
        ("as_read", "as read"),
        ("move_to_bin", "a move to bin"),
    ],
)
def test_an_article_stands_before_a_singular_only(words: str, text: str) -> None:
    assert macro("names", "one", words) == text

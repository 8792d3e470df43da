"""Four reading lists as ordinary people name their tools, and the tools whose bodies their authors write."""

FIELDS = {"article": "title, url, tags (list), read (yes/no)"}
# A name without a verb of the tool language has the behavior that `new` proposes.
LISTS = {
    "first": "search_articles, add_article, get_article, list_articles, update_article, mark_article_read=put,"
    " tag_article=put, untag_article=put, delete_article, delete_articles, import_articles=create,"
    " get_reading_statistics",
    "second": "add_article, list_unread_articles, list_articles_by_tag, find_articles, show_article, edit_article,"
    " mark_as_read=put, mark_as_unread=put, add_tag, remove_tag, list_tags, archive_article, remove_article,"
    " export_articles=put",
    "third": "save_article=put, get_articles, search_reading_list, get_article_by_url, toggle_article_read=update,"
    " complete_article=put, set_article_tags, add_tag_to_article, remove_tag_from_article, count_unread_articles,"
    " bulk_delete_articles=delete, get_stats",
    "fourth": "create_article, read_article, list_articles, list_read_articles, count_articles, update_article_title,"
    " toggle_read=update, add_tags_to_article, remove_tags_from_article, get_all_tags, delete_read_articles,"
    " get_random_article, archive_articles, summarize_article=read",
}
YOURS = {
    "first": ["import_articles"],
    "second": ["export_articles"],
    "third": [],
    "fourth": ["get_random_article", "summarize_article"],
}
# More names, of which each says something about a field.
MORE = (
    "get_statistics, count_articles_by_tag, count_articles_by_read, mark_articles_read=put,"
    " mark_article_as_unread=put, unarchive_article, list_archived_articles, rename_article, add_article_tags,"
    " remove_article_tag, find_articles_with_tag"
)
# Those whose results tests/project/authors/test_reading_names.py checks.
CALLED = (
    "add_article, search_articles, list_articles, mark_article_read=put, mark_as_unread=put, mark_articles_read=put,"
    " complete_article=put, toggle_article_read=update, toggle_read=update, archive_article, archive_articles,"
    " tag_article=put, untag_article=put, add_tag_to_article, remove_tag, list_tags, count_articles_by_tag,"
    " get_statistics, list_unread_articles, list_articles_by_tag, count_unread_articles, count_articles,"
    " list_archived_articles, get_article_by_url, delete_articles, delete_read_articles"
)
ALL = ", ".join([*LISTS.values(), MORE])


def list_once(tools: str) -> list[str]:
    """Return the names between commas, each once."""
    return list(dict.fromkeys(tool.strip() for tool in tools.split(",")))

"""The vocabularies of verbs agree on the verbs of the tool language."""

import pytest

from copier_fastmcp.auditing.verbs import find_verb
from copier_fastmcp.openapi import verbs
from copier_fastmcp.tables import load_tables

BEHAVIORS = load_tables()["verbs"]
WORDS = [(word, behavior) for behavior, words in BEHAVIORS.items() for word in words]
# Reads of the tool language that an API has as changes: an issue is resolved, a host is pinged.
AMBIGUOUS = {"resolve", "ping"}
WRITES = verbs.CREATE | verbs.ENSURE | verbs.PUT | verbs.UPDATE | verbs.DELETE
WRITES |= verbs.ACTION


@pytest.mark.parametrize(("word", "behavior"), WORDS)
def test_the_audit_reads_a_verb_as_the_tool_language_does(
    word: str, behavior: str
) -> None:
    """A verb of a read is no write, and the reverse."""
    verb = find_verb(word)
    assert verb is not None
    assert (verb.kind == "read") is (behavior == "read")


@pytest.mark.parametrize(("word", "behavior"), WORDS)
def test_the_import_reads_a_verb_as_the_tool_language_does(
    word: str, behavior: str
) -> None:
    """A verb of a read is in no class of writes, and the reverse; `append` is in neither."""
    if word in AMBIGUOUS:
        assert word not in verbs.READ
    elif behavior == "read":
        assert word in verbs.READ - WRITES
    else:
        assert word not in verbs.READ


def test_deleting_verbs_are_removals() -> None:
    """What the tool language deletes is removed in both other vocabularies."""
    for word in BEHAVIORS["delete"]:
        verb = find_verb(word)
        assert verb is not None
        assert verb.kind == "remove"
        assert word in verbs.DELETE


@pytest.mark.parametrize(
    ("form", "base"),
    [
        ("deletes", "delete"),
        ("searches", "search"),
        ("copies", "copy"),
        ("dismiss", "dismiss"),
    ],
)
def test_the_third_person_is_read_in_one_way(form: str, base: str) -> None:
    """The import and the audit find the same verb behind its ending."""
    verb = find_verb(form)
    assert verb is not None
    assert verbs.base(form) == verb.word == base

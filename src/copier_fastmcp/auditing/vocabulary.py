"""The audit's own words and rules, in addition to the tables of the tool language."""

import re
from functools import cache
from typing import Any

from ..tables import load_tables

LOOK_BEHIND = 60  # characters, in which a negation is looked for


@cache
def load_vocabulary() -> dict[str, Any]:
    """The contents of audit.json."""
    return load_tables("auditing/audit")


@cache
def get_word_list(name: str) -> frozenset[str]:
    """A list of words of the vocabulary."""
    return frozenset(load_vocabulary()[name].split())


def get_phrase_pattern(name: str) -> str:
    """The regular expression of a phrase."""
    pattern: str = load_vocabulary()["phrases"][name]
    return pattern


def is_turned(text: str, position: int) -> bool:
    """Whether the words before a position negate what follows: `does not`, `without`."""
    start = max(0, position - LOOK_BEHIND)
    before = text[start:position]
    return bool(re.search(get_phrase_pattern("turns"), before, re.IGNORECASE))


@cache
def load_rules() -> dict[str, dict[str, Any]]:
    """Every rule by its id: the rules of the tables, and the audit's own."""
    return {**load_tables()["rules"], **load_vocabulary()["rules"]}


def find_source(rule: str, *, is_own: bool) -> str:
    """The source of a rule; the decisions of a project are no source for another server."""
    source: str = load_rules()[rule]["source"]
    if is_own:
        return source
    foreign_source: str = load_vocabulary()["sources"].get(rule, source)
    return foreign_source

"""The audit's own words and rules, besides the tables of the tool language."""

import json
from functools import cache
from importlib.resources import files
from typing import Any

from ..tables import load_tables


@cache
def load_vocabulary() -> dict[str, Any]:
    """The contents of audit.json."""
    text = files(__package__).joinpath("audit.json").read_text(encoding="utf-8")
    vocabulary: dict[str, Any] = json.loads(text)
    return vocabulary


@cache
def word_list(name: str) -> frozenset[str]:
    """A list of words of the vocabulary."""
    return frozenset(load_vocabulary()[name].split())


def phrase_pattern(name: str) -> str:
    """The regular expression of a phrase."""
    pattern: str = load_vocabulary()["phrases"][name]
    return pattern


@cache
def load_rules() -> dict[str, dict[str, Any]]:
    """Every rule by its id: the rules of the tables, and the audit's own."""
    return {**load_tables()["rules"], **load_vocabulary()["rules"]}


def find_source(rule: str, *, is_own: bool) -> str:
    """Who requires a rule; the decisions of a project are not a source for another server."""
    source: str = load_rules()[rule]["source"]
    if is_own:
        return source
    foreign_source: str = load_vocabulary()["sources"].get(rule, source)
    return foreign_source

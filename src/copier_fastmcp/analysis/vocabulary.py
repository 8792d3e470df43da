"""Words for what a call does: the methods of client libraries."""

from functools import cache
from typing import Any

from ..tables import load_tables


@cache
def load_vocabulary() -> dict[str, Any]:
    """The vocabulary of client methods."""
    return load_tables("analysis/effects")


@cache
def load_calls(group: str) -> dict[str, str]:
    """What each name of a group does."""
    kinds: dict[str, str] = {}
    for kind, names in load_vocabulary()[group].items():
        for name in names.split():
            kinds[name] = kind
    return kinds


@cache
def load_words(group: str) -> frozenset[str]:
    """The names of a group."""
    return frozenset(load_vocabulary()[group].split())

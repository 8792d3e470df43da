"""Words for what a call does: the methods of client libraries."""

import json
from functools import cache
from importlib.resources import files
from typing import Any


@cache
def load_vocabulary() -> dict[str, Any]:
    """The vocabulary of client methods."""
    text = files(__package__).joinpath("effects.json").read_text(encoding="utf-8")
    loaded: dict[str, Any] = json.loads(text)
    return loaded


@cache
def load_calls(group: str) -> dict[str, str]:
    """What each name of a group does."""
    kinds = {}
    for kind, names in load_vocabulary()[group].items():
        for name in names.split():
            kinds[name] = kind
    return kinds


@cache
def load_words(group: str) -> frozenset[str]:
    """The names of a group."""
    return frozenset(load_vocabulary()[group].split())

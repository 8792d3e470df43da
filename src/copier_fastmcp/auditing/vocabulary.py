"""What an audit knows besides the tables of the tool language: its own rules, mends and words."""

import json
from functools import cache
from importlib.resources import files
from typing import Any

from ..tables import tables


@cache
def vocabulary() -> dict[str, Any]:
    """What stands in audit.json."""
    text = files(__package__).joinpath("audit.json").read_text(encoding="utf-8")
    loaded: dict[str, Any] = json.loads(text)
    return loaded


@cache
def rules() -> dict[str, dict[str, Any]]:
    """Every rule by its id: those of the tables, and those that only an audit has."""
    return {**tables()["rules"], **vocabulary()["rules"]}


def source(rule: str, *, ours: bool) -> str:
    """Who asks for a rule; the decisions of a project are not a source for another server."""
    known: str = rules()[rule]["source"]
    return known if ours else vocabulary()["sources"].get(rule, known)

"""The tables of the tool language, as the template and its servers have them."""

import json
from functools import cache
from importlib.resources import files
from typing import Any


@cache
def load_tables(name: str = "tables") -> dict[str, Any]:
    """What stands in tables.json, or in language.json: what answers may hold."""
    text = files(__package__).joinpath(f"{name}.json").read_text(encoding="utf-8")
    loaded: dict[str, Any] = json.loads(text)
    return loaded

"""The tables of the tool language, as the template and its servers have them."""

import json
from functools import cache
from importlib.resources import files
from typing import Any


@cache
def load_tables(name: str = "tables") -> dict[str, Any]:
    """Load tables.json, or another file of the package: `language` has the keys of the answers."""
    path = files(__package__).joinpath(f"{name}.json")
    tables: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return tables

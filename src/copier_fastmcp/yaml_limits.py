"""What a file in YAML comes to when every alias is written out: a few lines can stand for more than any memory holds."""

import json
from pathlib import Path
from typing import Any

from .errors import RefusedError

MOST_VALUES = 4_000_000
DEEPEST = 200


def check_yaml_size(path: Path, value: Any, *, plain: bool) -> None:
    """Make keys texts, and count what the document comes to when every alias is written out."""
    sizes: dict[int, int] = {}
    open_: set[int] = set()

    def size(one: Any, depth: int) -> int:
        if not isinstance(one, (dict, list)):
            return 1
        known = sizes.get(id(one))
        if known is not None:
            return known
        if id(one) in open_:
            raise RefusedError(
                f"{path} holds a YAML alias to what it is in; use $ref for a circle"
            )
        if depth > DEEPEST:
            raise RecursionError
        open_.add(id(one))
        if isinstance(one, dict):
            for key in [key for key in one if not isinstance(key, str)]:
                one[_key(key)] = one.pop(key)
        if not plain and isinstance(one, dict) and "<<" in one:
            _merge(one)
        inner = one.values() if isinstance(one, dict) else one
        total = 1 + sum(size(each, depth + 1) for each in inner)
        if total > MOST_VALUES:
            raise RefusedError(
                f"{path} unfolds to over {MOST_VALUES:,} values; use $ref, not aliases"
            )
        open_.discard(id(one))
        sizes[id(one)] = total
        return total

    size(value, 0)


def _merge(one: dict[str, Any]) -> None:
    """Bring in what `<<` names, as YAML 1.1 has it; PyYAML's own way can be made to take for ever."""
    given = one["<<"]
    parts = given if isinstance(given, list) else [given]
    if not all(isinstance(part, dict) for part in parts):
        return
    del one["<<"]
    own, merged = dict(one), {}
    for part in reversed(parts):
        if "<<" in part and part is not one:
            _merge(part)
        merged.update(part)
    one.clear()
    one.update({**merged, **own})


def _key(key: object) -> str:
    """A key as JSON would write it: a status code 200, true, null."""
    if key is None or isinstance(key, bool):
        return str(json.dumps(key))
    return str(key)

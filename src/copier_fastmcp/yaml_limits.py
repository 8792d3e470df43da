"""Limits of YAML documents: a few lines of aliases can stand for more values than fit into memory."""

import json
from pathlib import Path
from typing import Any

from .errors import RefusedError

MOST_VALUES = 4_000_000
DEEPEST = 200


class _Counter:
    """Counts the values of a document with every alias written out.

    Attributes:
        path: The file, for messages.
        keeps_merge_keys: Whether `<<` is an ordinary key, as in JSON.
    """

    def __init__(self, path: Path, keeps_merge_keys: bool) -> None:
        self.path = path
        self.keeps_merge_keys = keeps_merge_keys
        self._sizes: dict[int, int] = {}
        self._ancestors: set[int] = set()

    def count(self, value: Any, depth: int) -> int:
        """Return the number of values in a value; convert its keys and resolve merge keys.

        Raises:
            RefusedError: An alias is inside its own anchor, or there are too many values.
            RecursionError: The value is nested too deeply.
        """
        if not isinstance(value, (dict, list)):
            return 1
        size = self._sizes.get(id(value))
        if size is not None:
            return size
        if id(value) in self._ancestors:
            raise RefusedError(
                f"{self.path} holds a YAML alias to what it is in; use $ref for a circle"
            )
        if depth > DEEPEST:
            raise RecursionError
        self._ancestors.add(id(value))
        if isinstance(value, dict):
            _convert_keys(value)
            if "<<" in value and not self.keeps_merge_keys:
                _merge(value)
        size = 1
        for child in value.values() if isinstance(value, dict) else value:
            size += self.count(child, depth + 1)
        if size > MOST_VALUES:
            raise RefusedError(
                f"{self.path} unfolds to over {MOST_VALUES:,} values; use $ref, not aliases"
            )
        self._ancestors.discard(id(value))
        self._sizes[id(value)] = size
        return size


def check_yaml_size(path: Path, value: Any, *, plain: bool) -> None:
    """Convert keys to texts, and count the values of a document with every alias written out.

    Args:
        path: The file, for messages.
        value: The parsed document, which is changed in place.
        plain: Whether `<<` is an ordinary key, as in JSON.

    Raises:
        RefusedError: The document stands for too many values, or an alias is inside its own anchor.
        RecursionError: The document is nested too deeply.
    """
    _Counter(path, plain).count(value, 0)


def _convert_keys(mapping: dict[Any, Any]) -> None:
    """Convert keys to texts as in JSON: a status code 200, true, null."""
    for key in list(mapping):
        if isinstance(key, str):
            continue
        is_literal = key is None or isinstance(key, bool)
        name = json.dumps(key) if is_literal else str(key)
        mapping[name] = mapping.pop(key)


def _merge(mapping: dict[str, Any]) -> None:
    """Insert the mappings that `<<` names, as in YAML 1.1; PyYAML's own merge can take exponential time."""
    merged_value = mapping["<<"]
    parts = merged_value if isinstance(merged_value, list) else [merged_value]
    for part in parts:
        if not isinstance(part, dict):
            return
    del mapping["<<"]
    own_values = dict(mapping)
    merged: dict[str, Any] = {}
    for part in reversed(parts):
        if "<<" in part and part is not mapping:
            _merge(part)
        merged.update(part)
    merged.update(own_values)
    mapping.clear()
    mapping.update(merged)

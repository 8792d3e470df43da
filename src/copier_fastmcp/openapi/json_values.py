"""Parts of values from a document, which may have any form."""

from collections.abc import Container, Iterable, Mapping
from typing import Any


def list_strings(value: object) -> list[str]:
    """Return the strings in a list; none of any other value."""
    if not isinstance(value, list):
        return []
    return [item for item in value if isinstance(item, str)]


def list_objects(value: object) -> list[dict[str, Any]]:
    """Return the objects in a list; none of any other value."""
    if not isinstance(value, list):
        return []
    return [item for item in value if isinstance(item, dict)]


def pick_keys(mapping: Mapping[str, Any], keys: Iterable[str]) -> dict[str, Any]:
    """Return the entries under some keys, in the order of the keys."""
    picked = {}
    for key in keys:
        if key in mapping:
            picked[key] = mapping[key]
    return picked


def omit_keys(mapping: Mapping[str, Any], keys: Container[str]) -> dict[str, Any]:
    """Return the entries under all other keys."""
    remaining = {}
    for key, value in mapping.items():
        if key not in keys:
            remaining[key] = value
    return remaining

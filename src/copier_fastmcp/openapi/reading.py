"""A file in JSON or YAML as plain data, however large, deep or odd it is.

A document comes from a stranger. Nothing in it is executed or fetched, and what would take all
memory or time ends in one line.
"""

import json
import re
from pathlib import Path
from typing import Any

import yaml

from ..errors import RefusedError

MOST_BYTES = 32 * 1024 * 1024
MOST_VALUES = 4_000_000
DEEPEST = 200


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """YAML as JSON would have it: no dates, and `no`, `on` and 12:30 are texts, as in YAML 1.2."""


_Loader.yaml_implicit_resolvers = {}
for _tag, _form, _first in (
    ("bool", "true|True|TRUE|false|False|FALSE", "tTfF"),
    ("int", "[-+]?(0|[1-9][0-9]{0,30})", "-+0123456789"),
    ("float", r"[-+]?(0|[1-9][0-9]*)?\.?[0-9]+([eE][-+]?[0-9]{1,3})?", "-+0123456789."),
    ("null", "~|null|Null|NULL|", ["~", "n", "N", ""]),
):
    _Loader.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(f"(?:{_form})$"), _first)


def _plain_float(loader: Any, node: Any) -> float:
    return float(loader.construct_scalar(node))


_Loader.add_constructor("tag:yaml.org,2002:float", _plain_float)


def load(path: Path) -> dict[str, Any]:
    """The mapping that a file holds, every key a text.

    Args:
        path: The file; its text decides whether it is JSON or YAML.

    Raises:
        RefusedError: It is too large, unreadable, unfolds without end, or holds no mapping.
    """
    try:
        size = path.stat().st_size
        if size > MOST_BYTES:
            raise RefusedError(
                f"{path} has {size / 1024**2:.0f} MiB; {MOST_BYTES // 1024**2} are the most, so take "
                "the form with references, or split it"
            )
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise RefusedError(
            f"{path} is not UTF-8 at byte {error.start}; save it as UTF-8"
        ) from error
    except OSError as error:
        raise RefusedError(f"{path} cannot be read: {error.strerror or error}") from error
    try:
        plain = _is_json(text)
        found = json.loads(text, parse_constant=str) if plain else _yaml(path, text)
        measured(path, found, plain=plain)
        if re.search(r"(?i)\\ud[89a-f]", text):  # half of a character cannot be written anywhere
            whole = json.dumps(found, ensure_ascii=False, default=str).encode("utf-8", "replace")
            found = json.loads(whole)
    except RecursionError as error:
        raise RefusedError(f"{path} is nested too deeply; {DEEPEST} levels are the most") from error
    except (ValueError, OverflowError) as error:
        raise RefusedError(f"{path} is neither JSON nor YAML: {error}") from error
    if not isinstance(found, dict):
        raise RefusedError(
            f"{path} holds no mapping; an OpenAPI document begins with openapi: 3.1.0"
        )
    return found


def _is_json(text: str) -> bool:
    return text.lstrip()[:1] in ("{", "[")


def _yaml(path: Path, text: str) -> Any:
    # Old versions of libyaml go down without a bound, so brackets and indents are looked at first.
    if re.search(r"(?:[\[{]\s*){200}", text) or re.search(r"(?m)^[ -]{2000}", text):
        raise RecursionError
    try:
        return yaml.load(text, Loader=_Loader)
    except yaml.MarkedYAMLError as error:
        line = f" (line {error.problem_mark.line + 1})" if error.problem_mark else ""
        raise RefusedError(f"{path} is neither JSON nor YAML: {error.problem}{line}") from error
    except yaml.YAMLError as error:
        raise RefusedError(f"{path} is neither JSON nor YAML: {error}") from error


def measured(path: Path, value: Any, *, plain: bool) -> None:
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
            raise RefusedError(f"{path} holds a YAML alias to what it is in; use $ref for a circle")
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

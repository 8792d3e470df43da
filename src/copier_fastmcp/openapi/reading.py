"""A file in JSON or YAML as plain data, however large, deep or odd it is.

A document comes from a stranger. Nothing in it is executed or fetched, and what would take all
memory or time ends in one line.
"""

import json
import re
from pathlib import Path
from typing import Any

import yaml

from ..errors import RefusedError, one_line
from ..yaml_limits import DEEPEST, check_yaml_size

MOST_BYTES = 32 * 1024 * 1024
# Keys that hold an operation, or several: of two in one mapping the first would be lost.
HOLDS_OPERATIONS = re.compile("get|put|post|patch|delete|head|options|/.*")


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """YAML as JSON would have it: no dates, and `no`, `on` and 12:30 are texts, as in YAML 1.2."""


_Loader.yaml_implicit_resolvers = {}
for _tag, _form, _first in (
    ("bool", "true|True|TRUE|false|False|FALSE", "tTfF"),
    ("int", "[-+]?(0|[1-9][0-9]{0,30})", "-+0123456789"),
    ("float", r"[-+]?(0|[1-9][0-9]*)?\.?[0-9]+([eE][-+]?[0-9]{1,3})?", "-+0123456789."),
    ("null", "~|null|Null|NULL|", ["~", "n", "N", ""]),
):
    _Loader.add_implicit_resolver(
        f"tag:yaml.org,2002:{_tag}", re.compile(f"(?:{_form})$"), _first
    )


def _plain_float(loader: Any, node: Any) -> float:
    return float(loader.construct_scalar(node))


class _RepeatedKeyError(ValueError):
    """A mapping holds an operation twice."""


def _construct_mapping(loader: Any, node: Any) -> Any:
    if not isinstance(node, yaml.MappingNode):
        return loader.construct_yaml_map(node)
    names = [key.value for key, _ in node.value if isinstance(key.value, str)]
    repeated = _find_repeated(names)
    if repeated:
        lines = [k.start_mark.line + 1 for k, _ in node.value if k.value == repeated]
        raise _RepeatedKeyError(f"{repeated!r} is there twice (line {lines[-1]})")
    return loader.construct_yaml_map(node)


def _build_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    built = dict(pairs)
    if len(built) < len(pairs):
        repeated = _find_repeated([name for name, _ in pairs])
        if repeated:
            raise _RepeatedKeyError(f"{repeated!r} is there twice")
    return built


def _find_repeated(names: list[str]) -> str:
    """The first key that holds operations and is there twice; empty: none is."""
    seen: set[str] = set()
    for name in names:
        if name in seen and HOLDS_OPERATIONS.fullmatch(name):
            return name
        seen.add(name)
    return ""


_Loader.add_constructor("tag:yaml.org,2002:float", _plain_float)
_Loader.add_constructor("tag:yaml.org,2002:map", _construct_mapping)


def load(path: Path) -> dict[str, Any]:
    """The mapping that a file holds, every key a text.

    Args:
        path: The file; its text decides whether it is JSON or YAML.

    Raises:
        RefusedError: It is too large, unreadable, unfolds without end, holds an operation twice, or holds no mapping.
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
        raise RefusedError(
            f"{path} cannot be read: {error.strerror or error}; name an OpenAPI document, JSON or YAML"
        ) from error
    try:
        plain = _is_json(text)
        if plain:
            root = json.loads(text, parse_constant=str, object_pairs_hook=_build_object)
        else:
            root = _yaml(path, text)
        check_yaml_size(path, root, plain=plain)
        # Half of a character cannot be written anywhere
        if re.search(r"(?i)\\ud[89a-f]", text):
            whole = json.dumps(root, ensure_ascii=False, default=str).encode(
                "utf-8", "replace"
            )
            root = json.loads(whole)
    except RecursionError as error:
        raise RefusedError(
            f"{path} is nested too deeply; {DEEPEST} levels are the most"
        ) from error
    except _RepeatedKeyError as error:
        raise RefusedError(
            f"{path}: {error}, so one operation would be lost; write both as one"
        ) from error
    except (ValueError, OverflowError) as error:
        raise _not_data_error(path, str(error)) from error
    if not isinstance(root, dict):
        raise RefusedError(
            f"{path} holds no mapping; an OpenAPI document begins with openapi: 3.1.0"
        )
    return root


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
        raise _not_data_error(path, f"{error.problem}{line}") from error
    except yaml.YAMLError as error:
        raise _not_data_error(path, str(error)) from error


def _not_data_error(path: Path, problem: str) -> RefusedError:
    """The error for a document that cannot be parsed."""
    return RefusedError(
        f"{path} is neither JSON nor YAML: {one_line(problem)}; correct it there, or export the document again"
    )

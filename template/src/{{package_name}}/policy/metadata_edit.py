"""Changes a metadata file: one value at a time, whole or not at all. Managed by the template."""

import json
import os
import re
import tempfile
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

from .errors import StartError
from .metadata import Texts, check
from .metadata_file import MOST_BYTES, parse
from .settings import SERVER_NAME


def save(path: Path, text: str, texts: Texts) -> None:
    """Write a file whole and say so; StartError if the server would refuse it or the disk does."""
    check(path, parse(path, text), texts)
    if len(text.encode()) > MOST_BYTES:
        raise StartError(f"{path} would be longer than {MOST_BYTES} bytes; nothing was changed")
    target = path.resolve()
    try:
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle, draft = tempfile.mkstemp(prefix=".metadata-", dir=target.parent)
        try:
            with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
                file.write(text)
                file.flush()
                os.fsync(handle)
            Path(draft).replace(target)
        finally:
            Path(draft).unlink(missing_ok=True)
    except OSError as error:
        raise StartError(f"{path}: {error.strerror}; nothing was changed") from error
    print(f"{path} is saved. Restart the server for the change to take effect.")


def changed(path: Path, text: str, keys: Sequence[str], value: object) -> str:
    """The text of a file with one value set, or removed (None), or StartError; comments stay."""
    wanted = spot = parse(path, text).model_dump(exclude_unset=True)
    for key in keys[:-1]:
        spot = spot.setdefault(key, {})
    if value is not None:
        spot[keys[-1]] = value
    elif spot.pop(keys[-1], None) is None:
        raise StartError(f"{path} does not override {'.'.join(keys[1:])}")
    text = _spliced(text, keys, wanted, remove=value is None)
    if pruned(parse(path, text).model_dump(exclude_unset=True)) != pruned(wanted):
        raise StartError(f"{path}: only `{SERVER_NAME} metadata edit` can change such a layout")
    return text


def pruned(data: Any) -> Any:
    """Data without what is empty: mappings, and texts that the code does not have."""
    if not isinstance(data, dict):
        return data
    return {k: kept for k, value in data.items() if (kept := pruned(value)) not in ({}, None)}


def as_yaml(data: Any) -> str:
    """Data as a metadata file, without what is empty."""
    return yaml.safe_dump(pruned(data), sort_keys=False, allow_unicode=True, width=100)


def _end(node: Any) -> int:
    """Where the last thing in a node ends (a block's own end mark lies behind the comments)."""
    if isinstance(node, yaml.ScalarNode) or node.flow_style:
        return int(node.end_mark.index)
    last = node.value[-1]
    return _end(last[1] if isinstance(last, tuple) else last)


def _line_end(text: str, index: int) -> int:
    return index if text[:index].endswith("\n") else (text.find("\n", index) + 1 or len(text))


def _spliced(text: str, keys: Sequence[str], wanted: Any, *, remove: bool) -> str:
    """The text with what is wanted at a path of keys; every other line stays as it is."""
    node: Any = yaml.compose(text, yaml.SafeLoader)
    way: list[Any] = []  # the block mappings, each with the key and value that lead on
    while len(way) < len(keys) and isinstance(node, yaml.MappingNode) and not node.flow_style:
        pair = next((pair for pair in node.value if pair[0].value == keys[len(way)]), None)
        if pair is None:
            break
        way.append((node, *pair))
        node, wanted = pair[1], wanted.get(keys[len(way) - 1])
    if remove and len(way) == len(keys):  # with the lines of keys that this leaves empty
        for n, (mapping, key, value) in enumerate(reversed(way)):
            end = key.end_mark.index if n else _end(value)
            start = text.rfind("\n", 0, key.start_mark.index) + 1
            text = text[:start] + text[_line_end(text, end) :]
            if len(mapping.value) > 1:
                break
        return text
    if len(way) == len(keys) or getattr(node, "flow_style", False):
        start, end = node.start_mark.index, _end(node)
        if isinstance(node, yaml.MappingNode) and re.search("#.*\n", text[start:end]):
            return text  # there may be a comment in it
        written = json.dumps(wanted, ensure_ascii=False)
        return text[:start] + written + "\n" * text[:end].endswith("\n") + text[end:]
    at, indent = (_line_end(text, _end(node)), node.start_mark.column) if way else (len(text), 0)
    before = text[:at] if text[:at].endswith("\n") or not at else f"{text[:at]}\n"
    key = keys[len(way)]
    return before + textwrap.indent(as_yaml({key: wanted[key]}), " " * indent) + text[at:]

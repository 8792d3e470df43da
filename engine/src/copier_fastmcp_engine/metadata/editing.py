"""Edits of a metadata file that leave every other line as its author wrote it.

The edit replaces, inserts or removes the lines of one value, at the positions that the parser reports. A library that
writes the whole file again (ruamel.yaml) indents all of it anew, and moves or drops comments next to the edit.
"""

import json
import re
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import yaml

COMMENT = re.compile("#.*\n")


@dataclass(frozen=True)
class Step:
    """A key of a block mapping on the way to a value.

    Attributes:
        key: The node of the key.
        value: The node of its value.
        count: How many keys the mapping has.
    """

    key: Any
    value: Any
    count: int


def prune(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return data without what is empty: mappings, and texts that the code does not have."""
    pruned = {}
    for key, value in data.items():
        pruned_value = prune(value) if isinstance(value, dict) else value
        if pruned_value not in ({}, None):
            pruned[key] = pruned_value
    return pruned


def format_yaml(data: Mapping[str, Any]) -> str:
    """Return data without what is empty as YAML."""
    return yaml.safe_dump(prune(data), sort_keys=False, allow_unicode=True, width=100)


def write_value(text: str, keys: Sequence[str], data: Mapping[str, Any]) -> str:
    """Return a file's text with another value at a path of keys, or without one.

    Args:
        text: The text, which ends with a newline.
        keys: The path.
        data: All that the file shall hold; where it has nothing at the path, the value is removed.
    """
    root: Any = yaml.compose(text, yaml.SafeLoader)
    steps = _find_steps(root, keys)
    node = steps[-1].value if steps else root
    value: Any = data
    for name in keys[: len(steps)]:
        value = value.get(name)
    if value is None:
        return _remove(text, steps)
    is_flow = getattr(node, "flow_style", False)
    if is_flow or len(steps) == len(keys):
        return _replace(text, node, value)
    name = keys[len(steps)]
    block = format_yaml({name: value[name]})
    if not steps:
        return text + block
    start = _line_after(text, _end_of(text, node))
    indent = " " * node.start_mark.column
    lines = textwrap.indent(block, indent)
    return text[:start] + lines + text[start:]


def _find_steps(root: Any, keys: Sequence[str]) -> list[Step]:
    """Return the steps through block mappings, as far as the keys are there."""
    steps = []
    node = root
    for name in keys:
        if not isinstance(node, yaml.MappingNode) or node.flow_style:
            break
        step = _find_step(node, name)
        if step is None:
            break
        steps.append(step)
        node = step.value
    return steps


def _find_step(mapping: yaml.MappingNode, name: str) -> Step | None:
    """Return the step to a key of a mapping; None where there is no such key."""
    for key, value in mapping.value:
        if key.value == name:
            return Step(key, value, count=len(mapping.value))
    return None


def _remove(text: str, steps: Sequence[Step]) -> str:
    """Return a text without the last of some steps, and without the keys that this leaves empty."""
    end = _line_after(text, _end_of(text, steps[-1].value))
    for step in reversed(steps):
        if step is not steps[-1]:  # whose only value is gone: its own line
            end = _line_after(text, step.key.end_mark.index)
        start = text.rfind("\n", 0, step.key.start_mark.index) + 1
        text = text[:start] + text[end:]
        if step.count > 1:
            break
    return text


def _replace(text: str, node: Any, value: Any) -> str:
    """Return a text with another value in place of a node; unchanged where that could remove a comment."""
    start = node.start_mark.index
    end = _end_of(text, node)
    is_scalar = isinstance(node, yaml.ScalarNode)
    if not is_scalar and COMMENT.search(text[start:end]):
        return text
    replacement = json.dumps(value, ensure_ascii=False)
    is_block_list = isinstance(node, yaml.SequenceNode) and not node.flow_style
    if is_block_list:
        replacement = f" {replacement}"
    return text[:start] + replacement + text[end:]


def _end_of(text: str, node: Any) -> int:
    """Return where the last thing in a node ends; a block's own end mark is behind the comments below it."""
    while not (isinstance(node, yaml.ScalarNode) or node.flow_style):
        last = node.value[-1]
        if isinstance(node, yaml.MappingNode):
            _, last = last
        node = last
    content = text[: node.end_mark.index]
    return len(content.rstrip())


def _line_after(text: str, index: int) -> int:
    """Return where the next line begins; the end of the text where there is none."""
    newline = text.find("\n", index)
    return len(text) if newline < 0 else newline + 1

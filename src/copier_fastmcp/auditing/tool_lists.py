"""Recorded lists of tools, and their limits."""

import json
import sys
from pathlib import Path
from typing import Any

LARGEST = 32 * 2**20
MOST = 10_000
Tools = list[dict[str, Any]]


def check_count(tools: Tools) -> Tools:
    """Check that a list does not have too many tools.

    Raises:
        ValueError: It has.
    """
    if len(tools) > MOST:
        raise ValueError(f"more than {MOST:,} tools")
    return tools


def read_tool_list(path: Path) -> Tools:
    """Read the tools in a file: a list, or a response to tools/list, with or without its envelope.

    Args:
        path: The file; `-` is stdin.

    Raises:
        OSError: It cannot be read.
        ValueError: It contains no tools, or too many.
    """
    if str(path) == "-":
        text = sys.stdin.read(LARGEST + 1)
    else:
        with path.open(encoding="utf-8") as file:
            text = file.read(LARGEST + 1)
    if len(text) > LARGEST:
        raise ValueError(f"it is larger than {LARGEST >> 20} MiB")
    try:
        content = json.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deep") from None
    for key in ("result", "tools"):
        if isinstance(content, dict) and key in content:
            content = content[key]
    if not _is_list_of_objects(content):
        raise ValueError("it is neither a list of tools nor an answer to tools/list")
    return check_count(content)


def _is_list_of_objects(content: object) -> bool:
    if not isinstance(content, list):
        return False
    return all(isinstance(tool, dict) for tool in content)
